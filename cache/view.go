package cache

import (
	"fmt"
	"reflect"

	"governor/client"
	"governor/client/decode"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// view returns a stored object in a form, with its kind set: a copy that
// shares nothing with it, or, if copy is false, one that may share all and is
// to be read only. The stored object itself is never changed.
//
//	stored         typed       unstructured   metadata-only
//	typed          itself      converted      its metadata
//	unstructured   decoded     itself         its metadata
//	metadata-only  error       error          itself
func (k *KindInformer) view(stored client.Object, form client.Form, copy bool) (client.Object, error) {
	if c, is := stored.(*decode.Compact); is {
		return k.viewOf(c, form, copy)
	}
	k.detector.handOut(k.gvk, stored, !copy, "")
	return k.converted(stored, form, copy)
}

// converted is view for an object that is not compact.
func (k *KindInformer) converted(stored client.Object, form client.Form, copy bool) (client.Object, error) {
	has := client.FormOf(stored)
	if has == form {
		if copy {
			return stored.DeepCopyObject().(client.Object), nil
		}
		return stored, nil
	}
	switch {
	case has == client.MetadataOnly:
		return nil, fmt.Errorf("%s is stored metadata-only and cannot be read %s", kindText(k.gvk), form)
	case form == client.MetadataOnly:
		return metadataOf(stored, k.gvk, copy), nil
	case form == client.Unstructured:
		// The converter makes all maps and slices anew.
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
		if err != nil {
			return nil, fmt.Errorf("convert to unstructured: %w", err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetGroupVersionKind(k.gvk)
		return u, nil
	default:
		return k.typed(stored, copy)
	}
}

// viewOf is view for the compact tier, in which an object that is decoded anew is the
// caller's own.
func (k *KindInformer) viewOf(c *decode.Compact, form client.Form, copy bool) (client.Object, error) {
	if !copy {
		obj, err := c.Read()
		if err != nil {
			return nil, err
		}
		return k.view(obj, form, false)
	}
	obj, err := c.New()
	if err != nil {
		return nil, err
	}
	return k.converted(obj, form, false)
}

// typed decodes what was stored unstructured, because the scheme learnt the
// kind only after its informer had started.
func (k *KindInformer) typed(stored client.Object, copy bool) (client.Object, error) {
	u, ok := stored.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("cannot convert a %T", stored)
	}
	obj, err := k.client.Scheme().New(k.gvk)
	if err != nil {
		return nil, err
	}
	typed, ok := obj.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", obj)
	}
	fields := u.Object
	if copy {
		fields = runtime.DeepCopyJSON(fields) // a field of type any would share its value
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err != nil {
		return nil, fmt.Errorf("convert to %T: %w", typed, err)
	}
	typed.GetObjectKind().SetGroupVersionKind(k.gvk)
	return typed, nil
}

func metadataOf(stored client.Object, gvk schema.GroupVersionKind, copy bool) client.Object {
	m := meta.AsPartialObjectMetadata(stored) // shares maps and slices
	m.SetGroupVersionKind(gvk)
	if copy {
		return m.DeepCopy()
	}
	return m
}

// inForm returns fn for objects in the stored form, though it takes another.
func (k *KindInformer) inForm(fn client.IndexerFunc, form client.Form) client.IndexerFunc {
	return func(stored client.Object) []string {
		obj, err := k.view(stored, form, false)
		if err != nil {
			panic(err) // the Indexer tells it from an object without values
		}
		return fn(obj)
	}
}

// assign makes *obj what *v is.
func assign(obj, v client.Object) error {
	to, from := reflect.ValueOf(obj), reflect.ValueOf(v)
	if to.Type() != from.Type() {
		return fmt.Errorf("the cache has a %T, which is not read into a %T", v, obj)
	}
	to.Elem().Set(from.Elem())
	return nil
}

// assignList makes objects the items of list, and sets its kind. Items may be
// structs or pointers.
func assignList(list client.ObjectList, gvk schema.GroupVersionKind, objects []client.Object) error {
	to := reflect.ValueOf(list).Elem()
	fresh := reflect.New(to.Type())
	itemsPtr, err := meta.GetItemsPtr(fresh.Interface().(runtime.Object))
	if err != nil {
		return err
	}
	items := reflect.ValueOf(itemsPtr).Elem()
	items.Set(reflect.MakeSlice(items.Type(), len(objects), len(objects)))
	for i, obj := range objects {
		at, v := items.Index(i), reflect.ValueOf(obj)
		if at.Kind() != reflect.Pointer {
			v = v.Elem()
		}
		if !v.Type().AssignableTo(at.Type()) {
			return fmt.Errorf("the cache has a %T, which is no item of a %T", obj, list)
		}
		at.Set(v)
	}
	gvk.Kind += "List"
	fresh.Interface().(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
	to.Set(fresh.Elem())
	return nil
}
