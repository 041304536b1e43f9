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
	"governor/informer"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cache reads from copies that informers keep true. It implements
// client.Reader and client.FieldIndexer; its methods are safe for concurrent
// use. Upstream: cache.Cache, cache.Informers.
type Cache struct {
	client  *client.Direct
	options Options // but for the namespaces, which change

	started chan struct{} // closed by Start
	wake    chan struct{} // has room for one; tells Start of waiting

	setting sync.Mutex // held while settings change; taken before all others

	mu       sync.RWMutex // guards what follows; taken after a kind's
	kinds    map[schema.GroupVersionKind]*KindInformer
	byKind   map[schema.GroupVersionKind]declared
	defaults map[string]Config // in place of options.DefaultNamespaces
	waiting  []begun           // to be run by Start
	running  bool              // Start was called
	ended    bool              // Start's context has ended, and all kinds are stopped
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
	options.detector = newDetector(options.DetectMutations)
	if err := options.valid(); err != nil {
		return nil, err
	}
	byKind, err := options.declare(c)
	if err != nil {
		return nil, err
	}
	return &Cache{
		client:   c,
		options:  options,
		byKind:   byKind,
		started:  make(chan struct{}),
		wake:     make(chan struct{}, 1),
		kinds:    map[schema.GroupVersionKind]*KindInformer{},
		defaults: options.DefaultNamespaces,
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
	defer c.options.detector.lookAtAll()
	defer wg.Wait()
	defer c.end()
	for {
		c.mu.Lock()
		for _, b := range c.waiting {
			wg.Go(func() { b.kind.run(ctx, b.life) })
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
	c.ended = true
	kinds := slices.Collect(maps.Values(c.kinds))
	c.mu.Unlock()
	for _, k := range kinds {
		k.end()
	}
}

func (c *Cache) hasEnded() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.ended
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
	var errs []error
	for _, k := range c.sortedKinds() {
		if !k.lives() && !c.hasEnded() {
			continue // nobody wants it any more
		}
		if err := k.WaitForSync(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sortedKinds returns all kinds that were ever asked for.
func (c *Cache) sortedKinds() []*KindInformer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Values(c.kinds), func(a, b *KindInformer) int {
		return strings.Compare(kindText(a.gvk), kindText(b.gvk))
	})
}

// GetInformer returns the informer of obj's kind, and starts it when the Cache
// runs. It does not wait for it: see [KindInformer.WaitForSync]. The kind is cached
// from now on, whether it is read or not, until RemoveInformer.
func (c *Cache) GetInformer(ctx context.Context, obj client.Object) (*KindInformer, error) {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("cache: GetInformer: %w", err)
	}
	return c.kind(ctx, gvk, client.FormOf(obj), true)
}

// AddHandler adds h to obj's kind, see [KindInformer.AddHandler], which is cached as long as
// h is there: when it was removed, and nobody has read the kind for Options.IdleTimeout,
// the kind's informer stops.
func (c *Cache) AddHandler(ctx context.Context, obj client.Object, h informer.Handler, o *informer.HandlerOptions) (*Registration, error) {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("cache: AddHandler: %w", err)
	}
	k, err := c.kind(ctx, gvk, client.FormOf(obj), false)
	if err != nil {
		return nil, err
	}
	return k.AddHandler(h, o)
}

// RemoveInformer stops the informers of obj's kind, whatever form it was asked
// for in, and forgets what they stored. Readers that wait for it get ErrStopped;
// its handlers, those of a controller's source too, hear of each object as a delete whose final state is
// unknown. Handlers and indexes stay, and go on when the kind is asked for again:
// by the next read, GetInformer or AddHandler. It does not wait, so that it may be called from
// a handler.
func (c *Cache) RemoveInformer(ctx context.Context, obj client.Object) error {
	gvk, err := c.client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("cache: RemoveInformer: %w", err)
	}
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k != nil {
		k.remove()
	}
	return nil
}

// kind returns the informer of a kind, which lives and can be read in a form; kept
// says that it is to live on though nobody reads it.
func (c *Cache) kind(ctx context.Context, gvk schema.GroupVersionKind, form client.Form, kept bool) (*KindInformer, error) {
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k == nil {
		k = c.addKind(gvk)
	}
	_, err := k.want(ctx, form, kept)
	return k, err
}

func (c *Cache) addKind(gvk schema.GroupVersionKind) *KindInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kinds[gvk]; k != nil {
		return k // another goroutine was faster
	}
	o := c.options
	o.DefaultNamespaces = c.defaults
	var listed *declared
	if d, ok := c.byKind[gvk]; ok {
		listed = &d
	}
	k := newKind(c, &o, listed, gvk)
	c.kinds[gvk] = k
	return k
}

// begun is a life that is to be run.
type begun struct {
	kind *KindInformer
	life *life
}

// enqueue has Start run a life of a kind, or ends it, when the Cache has ended.
func (c *Cache) enqueue(k *KindInformer, l *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		close(l.stop)
		return
	}
	c.waiting = append(c.waiting, begun{k, l})
	select {
	case c.wake <- struct{}{}:
	default: // Start is told already
	}
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
