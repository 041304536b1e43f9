package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"governor/client"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cache reads from copies that informers keep true. It implements
// client.Reader and client.FieldIndexer; its methods are safe for concurrent
// use. Upstream: cache.Cache, cache.Informers.
type Cache struct {
	client  *client.Direct
	options Options
	byKind  map[schema.GroupVersionKind]declared

	started chan struct{} // closed by Start
	wake    chan struct{} // has room for one; tells Start of waiting

	mu      sync.RWMutex // guards what follows
	kinds   map[schema.GroupVersionKind]*KindInformer
	waiting []*KindInformer                             // to be run by Start
	indexes map[schema.GroupVersionKind][]declaredIndex // of kinds that were removed
	running bool                                        // Start was called
	ended   bool                                        // Start's context has ended, and all kinds are stopped
}

var (
	_ client.Reader        = &Cache{}
	_ client.FieldIndexer  = &Cache{}
	_ client.WriteObserver = &Cache{}
)

// New returns a Cache that reads the server of c. It makes no request, so kinds
// in o.ByObject need not be installed yet.
func New(c *client.Direct, o *Options) (*Cache, error) {
	if c == nil {
		return nil, errors.New("cache: New needs a client")
	}
	options := o.orZero()
	options.DefaultNamespaces = maps.Clone(options.DefaultNamespaces)
	if err := options.valid(); err != nil {
		return nil, err
	}
	byKind, err := options.declare(c)
	if err != nil {
		return nil, err
	}
	return &Cache{
		client:  c,
		options: options,
		byKind:  byKind,
		started: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		kinds:   map[schema.GroupVersionKind]*KindInformer{},
		indexes: map[schema.GroupVersionKind][]declaredIndex{},
	}, nil
}

// Start runs the informers, also those asked for later, until ctx ends. It
// returns when all of them have ended. A Cache is started once.
func (c *Cache) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.running {
		c.mu.Unlock()
		return errors.New("cache: Start was called before")
	}
	c.running = true
	close(c.started)
	c.mu.Unlock()

	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.end()
	for {
		c.mu.Lock()
		for _, k := range c.waiting {
			wg.Go(func() { k.run(ctx) })
		}
		c.waiting = nil
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// end stops all kinds, so that nobody waits for them any more.
func (c *Cache) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, k := range c.kinds {
		close(k.stop)
	}
}

// WaitForCacheSync returns nil when the Cache has started and every informer
// asked for so far has synced; otherwise, when ctx or the Cache ends, an error
// that names those that have not, and why.
func (c *Cache) WaitForCacheSync(ctx context.Context) error {
	select {
	case <-c.started:
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", ErrCacheNotStarted, context.Cause(ctx))
	}
	c.mu.RLock()
	kinds := slices.SortedFunc(maps.Values(c.kinds), func(a, b *KindInformer) int {
		return strings.Compare(kindText(a.gvk), kindText(b.gvk))
	})
	c.mu.RUnlock()
	var errs []error
	for _, k := range kinds {
		if err := k.WaitForSync(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// GetInformer returns the informer of obj's kind, and starts it when the Cache
// runs. It does not wait for it: see [KindInformer.WaitForSync].
func (c *Cache) GetInformer(ctx context.Context, obj client.Object) (*KindInformer, error) {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("cache: GetInformer: %w", err)
	}
	return c.kind(gvk, client.FormOf(obj))
}

// RemoveInformer stops the informer of obj's kind, whatever form it was asked
// for in, and forgets what it stored but not the kind's indexes. Readers that wait for it get ErrStopped,
// its handlers hear no more. The next read, or GetInformer, starts a new one.
// It does not wait, so that it may be called from a handler.
func (c *Cache) RemoveInformer(ctx context.Context, obj client.Object) error {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: RemoveInformer: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[gvk]
	if k == nil {
		return nil
	}
	delete(c.kinds, gvk)
	c.waiting = slices.DeleteFunc(c.waiting, func(w *KindInformer) bool { return w == k })
	c.indexes[gvk] = k.declaredIndexes()
	if !c.ended {
		close(k.stop)
	}
	return nil
}

// IndexField declares an index of obj's kind, before or after the Cache has
// started; a list with client.MatchingFields on that field then uses it. It
// makes no request. fn gets the form of obj, and must not change what it gets;
// it is quickest in the form in which the kind is stored, see
// [KindInformer.AddHandler].
//
// It is an error, and changes nothing, when the field has an index already, or
// when fn panics on an object that is there. If fn panics on a later object,
// that object is stored all the same, and lists by the field are errors that
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
	k, err := c.kind(gvk, client.FormOf(obj))
	if err != nil {
		return err
	}
	if err := k.addIndex(field, k.inForm(fn, client.FormOf(obj))); err != nil {
		return fmt.Errorf("cache: IndexField of %s: %w", kindText(gvk), err)
	}
	return nil
}

// kind returns the informer of a kind, which can be read in a form.
func (c *Cache) kind(gvk schema.GroupVersionKind, form client.Form) (*KindInformer, error) {
	d, listed := c.byKind[gvk]
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k == nil {
		k = c.addKind(gvk, form)
	}
	return k, k.want(form, listed && d.form == client.MetadataOnly)
}

func (c *Cache) addKind(gvk schema.GroupVersionKind, form client.Form) *KindInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kinds[gvk]; k != nil {
		return k // another goroutine was faster
	}
	var listed *declared
	if d, ok := c.byKind[gvk]; ok {
		listed = &d
	}
	k := newKind(c.client, &c.options, listed, gvk, form)
	k.indexes = c.indexes[gvk]
	delete(c.indexes, gvk)
	c.kinds[gvk] = k
	if c.ended {
		close(k.stop)
		return k
	}
	c.waiting = append(c.waiting, k)
	select {
	case c.wake <- struct{}{}:
	default: // Start is told already
	}
	return k
}

// itemKind returns the kind of a list's items. FooList and Foo both mean Foo.
func (c *Cache) itemKind(list client.ObjectList) (schema.GroupVersionKind, error) {
	gvk, err := c.client.GroupVersionKindFor(list)
	if err != nil {
		return gvk, err
	}
	if _, err := meta.GetItemsPtr(list); err != nil {
		return gvk, fmt.Errorf("%T is not a list: List needs the list type of a kind", list)
	}
	if item := strings.TrimSuffix(gvk.Kind, "List"); item != "" {
		gvk.Kind = item
	}
	return gvk, nil
}
