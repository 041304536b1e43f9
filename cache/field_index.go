package cache

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"governor/client"
)

// declaredIndex is an index of a kind, as it was declared.
type declaredIndex struct {
	field string
	given client.IndexerFunc
	form  client.Form        // that given takes
	fn    client.IndexerFunc // given, for the stored form
}

// same says whether two functions are one: the same code, and the same variables
// around it. Two values of one closure, each with variables of its own, are two.
func same(a, b client.IndexerFunc) bool {
	// A func value is a pointer to what makes it up. There is no other way to
	// compare it: reflect tells the code only, which a closure shares with its twins.
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
}

// IndexField declares an index of obj's kind, before or after the Cache has
// started; a list with client.MatchingFields on that field then uses it. It
// makes no request. fn gets the form of obj, and must not change what it gets;
// it is quickest in the form in which the kind is stored, see
// [KindInformer.AddHandler].
//
// An index answers for its field alone, also where the server knows the field: fn
// should then say what the server would. To declare the same index again, by the same
// function, does nothing.
//
// It is an error, and changes nothing, when the field has an index by another
// function, or when fn panics on an object that is there. If fn panics on a later
// object, that object is stored all the same, and lists by the field are errors that
// name it until it has changed or gone.
func (c *Cache) IndexField(ctx context.Context, obj client.Object, field string, fn client.IndexerFunc) error {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: IndexField: %w", err)
	}
	switch {
	case field == "" || fn == nil:
		return fmt.Errorf("cache: IndexField of %s needs a field name and a function", kindText(gvk))
	case field == fieldName || field == fieldNamespace:
		return fmt.Errorf("cache: IndexField of %s: %s can be selected without an index", kindText(gvk), field)
	}
	form := client.FormOf(obj)
	k, err := c.kind(ctx, gvk, form, true)
	if err != nil {
		return err
	}
	if err := k.addIndex(declaredIndex{field, fn, form, k.inForm(fn, form)}); err != nil {
		return fmt.Errorf("cache: IndexField of %s: %w", kindText(gvk), err)
	}
	return nil
}

// RemoveIndex takes an index back, and frees what it took. Lists by the field are
// then errors, unless the server knows the field; the field may be declared anew, by
// another function. It does nothing when there is no such index.
func (c *Cache) RemoveIndex(ctx context.Context, obj client.Object, field string) error {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: RemoveIndex: %w", err)
	}
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k != nil {
		k.removeIndex(field)
	}
	return nil
}

// addIndex declares an index, in all scopes or in none.
func (k *KindInformer) addIndex(x declaredIndex) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, have := range k.indexes {
		switch {
		case have.field != x.field:
		case have.form == x.form && same(have.given, x.given):
			return nil
		default:
			return fmt.Errorf("field %q has an index already, by another function, or by a closure with other variables:"+
				" give this one another field name, or call RemoveIndex before", x.field)
		}
	}
	scopes := k.scopes()
	for i, s := range scopes {
		if err := s.indexer.AddIndex(x.field, x.fn); err != nil {
			for _, done := range scopes[:i] {
				done.indexer.removeIndex(x.field)
			}
			return err
		}
	}
	k.indexes = append(k.indexes, x)
	return nil
}

func (k *KindInformer) removeIndex(field string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.indexes)
	k.indexes = slices.DeleteFunc(slices.Clone(k.indexes), func(x declaredIndex) bool { return x.field == field })
	if len(k.indexes) == n {
		return
	}
	for _, s := range k.scopes() {
		s.indexer.removeIndex(field)
	}
}

// scopes returns the scopes that the kind has just now.
func (k *KindInformer) scopes() []*scope {
	if lay := k.life.Load().layout.Load(); lay != nil {
		return lay.scopes
	}
	return nil
}
