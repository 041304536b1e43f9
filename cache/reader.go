package cache

import (
	"context"
	"fmt"
	"slices"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Get reads one object into obj, which is as it was when there is an error. The
// kind is set on it. It is the caller's own copy, unless UnsafeDisableDeepCopy
// is given here or in Options. A kind in another form than the stored one is
// converted: cheap to metadata-only, costly to unstructured, which then has the
// fields that the Go type has and no newer ones, so that it is to be patched, not
// updated.
//
// A kind that has no informer gets one, and the read waits for its first list,
// until ctx or Options.SyncTimeout ends: then the error is a NotSyncedError.
// NotFound means that a complete list did not have the object.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	o, err := understood(opts)
	if err != nil {
		return fmt.Errorf("cache: Get: %w", err)
	}
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: Get: %w", err)
	}
	if key.Name == "" {
		return fmt.Errorf("cache: Get %s: the name is empty", kindText(gvk))
	}
	if o.Live {
		return fmt.Errorf("cache: Get %s: %w", kindText(gvk), errLive)
	}
	k, err := c.readable(ctx, gvk, client.FormOf(obj))
	if err != nil {
		return err
	}
	return k.get(ctx, c.options.syncTimeout(), key, obj, o)
}

// What most reads ask for, made once so that a Get without a copy allocates nothing.
// Nobody writes to it.
var (
	plainGet  = &client.GetOptions{}
	sharedGet = &client.GetOptions{UnsafeDisableDeepCopy: new(true)}
)

// understood returns what opts come to, to be read only.
func understood(opts []client.GetOption) (*client.GetOptions, error) {
	switch {
	case len(opts) == 0:
		return plainGet, nil
	case len(opts) == 1 && opts[0] == client.GetOption(client.UnsafeDisableDeepCopy):
		return sharedGet, nil
	}
	o := &client.GetOptions{}
	return o, o.ApplyOptions(opts)
}

// List reads many objects into list, sorted by namespace and name: one state of
// each informer that it asks (one, unless the kind is cached by namespace),
// whose resourceVersion it has. list is as it was when there is an error. See
// Get for kind, copies, forms and waiting.
//
// It selects what the server would. Fields can be selected with =, == and !=: those
// by which the server selects the kind, client.FieldOwnerUID, and those with an
// index; any other is an error. [Cache.Explain] says what a list costs, and by which
// index it is answered; where selectors repeat that have none, the cache makes some.
// With a Limit, a list that has more
// returns a Continue for the next page. Each page is the state of its moment: an
// object that is there all the while is on one page, once.
func (c *Cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := c.itemKind(list)
	if err != nil {
		return fmt.Errorf("cache: List: %w", err)
	}
	k, q, o, err := c.listed(ctx, "List", gvk, client.FormOf(list), opts)
	if err != nil {
		return err
	}
	return k.list(ctx, c.options.syncTimeout(), q, list, o)
}

// listed understands the options of a list of a kind in a form, and returns the
// informer to ask. verb is for errors.
func (c *Cache) listed(ctx context.Context, verb string, gvk schema.GroupVersionKind, form client.Form, opts []client.ListOption) (*KindInformer, *query, *client.ListOptions, error) {
	o := &client.ListOptions{}
	if err := o.ApplyOptions(opts); err != nil {
		return nil, nil, nil, fmt.Errorf("cache: %s %s: %w", verb, kindText(gvk), err)
	}
	q, err := newQuery(gvk, o)
	if err == nil && o.Live {
		err = errLive
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cache: %s %s: %w", verb, kindText(gvk), err)
	}
	k, err := c.readable(ctx, gvk, form)
	return k, q, o, err
}

// readable returns the informer of a kind that is to be read.
func (c *Cache) readable(ctx context.Context, gvk schema.GroupVersionKind, form client.Form) (*KindInformer, error) {
	c.mu.RLock()
	k, running, known := c.kinds[gvk], c.running, true
	if c.options.ReaderFailOnMissingInformer {
		_, listed := c.byKind[gvk]
		known = listed || c.ended || k != nil && k.lives()
	}
	c.mu.RUnlock()
	switch {
	case !running:
		return nil, ErrCacheNotStarted
	case !known:
		return nil, fmt.Errorf("%w (%s)", ErrResourceNotCached, kindText(gvk))
	}
	if k == nil {
		k = c.addKind(gvk)
	}
	begun, err := k.want(ctx, form, false)
	if begun && !k.listed {
		k.warn(ctx)
	}
	return k, err
}

func (k *KindInformer) get(ctx context.Context, timeout time.Duration, key client.ObjectKey, obj client.Object, o *client.GetOptions) error {
	scopes, err := k.synced(ctx, timeout, key.Namespace)
	if err != nil {
		return err
	}
	switch {
	case !scopes[0].namespaced:
		key.Namespace = ""
	case key.Namespace == "":
		return fmt.Errorf("cache: Get %s %s: the namespace is empty, and %s lives in namespaces", kindText(k.gvk), key.Name, k.gvk.Kind)
	}
	s := scopes[0] // a namespace, or no namespace, is in one scope
	stored, err := k.find(ctx, s, key, o)
	if err != nil {
		return err
	}
	if stored == nil {
		if u, unread := s.informer.Unread(key); unread {
			// Not %w: what the Transform function says may be a NotFound.
			return fmt.Errorf("cache: Get %s %s: it exists, but could not be read: %v", kindText(k.gvk), key, u.Err)
		}
		// It may have become readable between the two looks.
		if stored, err = k.find(ctx, s, key, o); err != nil {
			return err
		}
		if stored == nil {
			return apierrors.NewNotFound(scopes[0].resource, key.Name)
		}
	}
	v, err := k.view(stored, client.FormOf(obj), s.copies(o.UnsafeDisableDeepCopy))
	if err == nil {
		err = assign(obj, v)
	}
	if err != nil {
		return fmt.Errorf("cache: Get %s %s: %w", kindText(k.gvk), key, err)
	}
	return nil
}

// copies says whether a read copies what it hands out.
func (s *scope) copies(disable *bool) bool {
	if disable != nil {
		return !*disable
	}
	return !s.shared
}

// found is an object that a list has selected.
type found struct {
	object client.Object
	copy   bool
}

// asked returns the scopes that a query is to be asked, when they have synced.
func (k *KindInformer) asked(ctx context.Context, timeout time.Duration, q *query) ([]*scope, error) {
	scopes, err := k.synced(ctx, timeout, q.namespace)
	if err == nil && !scopes[0].namespaced && q.within != "" {
		err = fmt.Errorf("cache: List %s: InNamespace(%q) is given, but %s does not live in namespaces", kindText(k.gvk), q.within, k.gvk.Kind)
	}
	if err == nil {
		q.stored = scopes[0].form
	}
	return scopes, err
}

func (k *KindInformer) list(ctx context.Context, timeout time.Duration, q *query, list client.ObjectList, o *client.ListOptions) error {
	scopes, err := k.asked(ctx, timeout, q)
	if err != nil {
		return err
	}
	items, resourceVersion, err := k.searchAll(ctx, scopes, q, o)
	if err != nil {
		return err
	}
	next := ""
	if q.limit > 0 && int64(len(items)) > q.limit {
		items = items[:q.limit]
		next = q.token(client.ObjectKeyFromObject(items[len(items)-1].object))
	}
	objects := make([]client.Object, len(items))
	for i, f := range items {
		if objects[i], err = k.view(f.object, client.FormOf(list), f.copy); err != nil {
			return fmt.Errorf("cache: List %s: %s: %w", kindText(k.gvk), client.ObjectKeyFromObject(f.object), err)
		}
	}
	if err := assignList(list, k.gvk, objects); err != nil {
		return fmt.Errorf("cache: List %s: %w", kindText(k.gvk), err)
	}
	list.SetResourceVersion(resourceVersion)
	list.SetContinue(next)
	return nil
}

// searchAll runs the query on each scope, and merges what they have, up to one
// more than the limit. The resourceVersion is that of the scope furthest behind.
func (k *KindInformer) searchAll(ctx context.Context, scopes []*scope, q *query, o *client.ListOptions) (items []found, resourceVersion string, err error) {
	for i, s := range scopes {
		if q.everything() { // twice as quick as to grow it again and again
			items = slices.Grow(items, s.indexer.Len())
		}
		copy, before := s.copies(o.UnsafeDisableDeepCopy), len(items)
		version, err := k.search(ctx, s, q, o, func(o client.Object) bool {
			items = append(items, found{o, copy})
			return q.limit == 0 || int64(len(items)-before) <= q.limit
		})
		if err != nil {
			return nil, "", err
		}
		if i == 0 || older(version, resourceVersion) {
			resourceVersion = version
		}
	}
	if len(scopes) > 1 {
		slices.SortFunc(items, func(a, b found) int {
			return compareKeys(client.ObjectKeyFromObject(a.object), client.ObjectKeyFromObject(b.object))
		})
	}
	return items, resourceVersion, nil
}

// older says whether a is before b. What cannot be compared is not older.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
