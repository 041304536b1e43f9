package cache

import (
	"context"

	"governor/client"
	"governor/informer"
)

// Cache reads from copies that informers keep true. It implements client.Reader and client.FieldIndexer.
type Cache struct{}

// Options tunes a Cache. The zero value, and nil, are ready to use.
type Options struct{}

// New returns a Cache that reads the server of c. It makes no request.
func New(c *client.Direct, o *Options) (*Cache, error) { panic("skeleton") }

// Start runs the informers until ctx ends, and returns when all of them have ended.
func (c *Cache) Start(ctx context.Context) error { panic("skeleton") }

// WaitForCacheSync returns nil when every informer asked for so far has synced;
// otherwise, when ctx ends, an error that names those that have not, and why.
func (c *Cache) WaitForCacheSync(ctx context.Context) error { panic("skeleton") }

// GetInformer returns the informer of obj's kind, and starts it when the cache runs. It does not wait for it.
func (c *Cache) GetInformer(ctx context.Context, obj client.Object) (*KindInformer, error) {
	panic("skeleton")
}

// IndexField declares an index that a list with a field selector can use.
func (c *Cache) IndexField(ctx context.Context, obj client.Object, field string, fn client.IndexerFunc) error {
	panic("skeleton")
}

// Get reads one object.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	panic("skeleton")
}

// List reads many.
func (c *Cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	panic("skeleton")
}

// KindInformer is one kind in the Cache: an informer for each namespace that the cache was given, or one for all.
type KindInformer struct{}

// AddHandler adds h to each of the kind's informers.
func (k *KindInformer) AddHandler(h informer.Handler) (*Registration, error) { panic("skeleton") }

// WaitForSync returns nil when the kind has synced; otherwise, when ctx ends, an error that names the kind and the last server answer.
func (k *KindInformer) WaitForSync(ctx context.Context) error { panic("skeleton") }

// HasSynced says whether the kind has synced.
func (k *KindInformer) HasSynced() bool { panic("skeleton") }

// Registration is a handler's place at a KindInformer.
type Registration struct{}

// WaitForSync returns nil when the handler has handled the initial list.
func (r *Registration) WaitForSync(ctx context.Context) error { panic("skeleton") }

// Remove ends the calls, and returns when the last one has returned.
func (r *Registration) Remove() { panic("skeleton") }
