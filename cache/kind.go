package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"governor/client"
	"governor/informer"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindInformer is one kind in the Cache: one store for all forms in which the
// kind is read, and one informer for each namespace that the Cache was given,
// or one for all.
//
//	new ── run ──► opening ── the server knows the kind ──► open ── lists ──► synced
//	                 └── it does not: try again, with back-off
//
// Handlers and indexes may come in any of these; while the kind is not open
// they wait. Upstream: cache.Informer.
type KindInformer struct {
	client  *client.Direct
	options *Options // never written to
	kind    declared
	gvk     schema.GroupVersionKind

	stop   chan struct{} // closed when the kind is removed or the Cache ends
	opened chan struct{} // closed when scopes is set

	mu            sync.Mutex // guards what follows; scopes and resource are constant once opened is closed
	form          client.Form
	scopes        []*scope // in order of namespace
	resource      schema.GroupResource
	namespaced    bool
	indexes       []declaredIndex
	registrations []*Registration // those that wait for the kind to open
	lastError     error           // of the last try to open
}

// declaredIndex is an index of the kind.
type declaredIndex struct {
	field string
	fn    client.IndexerFunc // takes the stored form
}

// whole returns the form in which a kind is stored with all its fields.
func whole(c *client.Direct, gvk schema.GroupVersionKind) client.Form {
	if c.Scheme().Recognizes(gvk) {
		return client.Typed
	}
	return client.Unstructured
}

// newKind returns the informer of a kind, of which a form was asked for. d is
// what Options.ByObject says, if it has the kind.
func newKind(c *client.Direct, o *Options, d *declared, gvk schema.GroupVersionKind, form client.Form) *KindInformer {
	k := &KindInformer{
		client:  c,
		options: o,
		kind:    declared{form: form},
		gvk:     gvk,
		stop:    make(chan struct{}),
		opened:  make(chan struct{}),
	}
	if d != nil {
		k.kind = *d
	}
	k.form = client.MetadataOnly
	if k.kind.form != client.MetadataOnly {
		k.form = whole(c, gvk)
	}
	return k
}

// want makes sure that the kind can be read in a form. The stored form can
// only be changed while there is nothing stored.
func (k *KindInformer) want(form client.Form, listed bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if form == client.MetadataOnly || k.form != client.MetadataOnly {
		return nil
	}
	if !listed && k.scopes == nil {
		k.form = whole(k.client, k.gvk)
		return nil
	}
	why := "that was the first form asked for: have Options.ByObject list the kind with"
	if listed {
		why = "Options.ByObject lists it with a PartialObjectMetadata: list it with"
	}
	return fmt.Errorf("cache: %s is stored metadata-only and cannot be read %s, since %s an object of that form",
		kindText(k.gvk), form, why)
}

// run keeps the kind true until ctx ends or the kind is removed, and returns
// when all that it started has ended.
func (k *KindInformer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case <-k.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	var informers sync.WaitGroup
	for _, s := range k.open(ctx) {
		// The only error is that it runs already, and only this starts it.
		informers.Go(func() { _ = s.informer.Run(ctx) })
	}
	informers.Wait()
}

// Opening a kind that the server does not know is tried again after a while,
// since it may be installed later: soon at first, then each 10 s.
const (
	firstOpenDelay = 500 * time.Millisecond
	maxOpenDelay   = 10 * time.Second
)

// open finds the kind on the server, and makes its scopes. It returns nil when
// ctx ends before.
func (k *KindInformer) open(ctx context.Context) []*scope {
	for delay := firstOpenDelay; ; delay = min(2*delay, maxOpenDelay) {
		err := k.tryOpen(ctx)
		if err == nil {
			return k.scopes
		}
		if ctx.Err() != nil {
			return nil
		}
		k.failed(ctx, err)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// AddHandler adds h to each of the kind's informers. A late handler hears of
// every stored object as an add in the initial list. However many informers
// there are, h is called by one at a time. It always gets the form in which the
// kind is stored: typed when the scheme knows the kind, otherwise unstructured,
// or metadata-only when nobody asked for more. Objects are shared: read them
// only. Nil options mean that it hears of resyncs, if the kind has a SyncPeriod.
func (k *KindInformer) AddHandler(h informer.Handler, o *informer.HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, errors.New("cache: AddHandler needs a handler, not nil")
	}
	r := &Registration{kind: k, handler: h, options: informer.HandlerOptions{Resync: true}, attached: make(chan struct{})}
	if o != nil {
		r.options = *o
	}
	r.options.Name = cmp.Or(r.options.Name, fmt.Sprintf("%T", h))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.scopes == nil {
		k.registrations = append(k.registrations, r)
		return r, nil
	}
	if err := r.attachLocked(k.scopes); err != nil {
		return nil, err
	}
	return r, nil
}

// addIndex declares an index, in all scopes or in none.
func (k *KindInformer) addIndex(field string, fn client.IndexerFunc) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.ContainsFunc(k.indexes, func(x declaredIndex) bool { return x.field == field }) {
		return fmt.Errorf("field %q has an index already", field)
	}
	for i, s := range k.scopes {
		if err := s.indexer.AddIndex(field, fn); err != nil {
			for _, done := range k.scopes[:i] {
				done.indexer.removeIndex(field)
			}
			return err
		}
	}
	k.indexes = append(k.indexes, declaredIndex{field, fn})
	return nil
}

func (k *KindInformer) declaredIndexes() []declaredIndex {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.indexes)
}

// HasSynced says whether the kind has synced: each informer's store holds a
// complete list.
func (k *KindInformer) HasSynced() bool {
	select {
	case <-k.opened:
		return !slices.ContainsFunc(k.scopes, func(s *scope) bool { return !s.informer.HasSynced() })
	default:
		return false
	}
}

// WaitForSync returns nil when the kind has synced; otherwise, when ctx ends
// or the kind's informer stops, a NotSyncedError.
func (k *KindInformer) WaitForSync(ctx context.Context) error {
	if err := k.wait(ctx, k.opened); err != nil {
		return k.notSynced(nil, err)
	}
	return k.waitFor(ctx, k.scopes)
}

// waitFor waits for some of the scopes of an open kind.
func (k *KindInformer) waitFor(ctx context.Context, scopes []*scope) error {
	for _, s := range scopes {
		if s.informer.HasSynced() {
			continue // also when ctx has ended, or the informer
		}
		if err := k.wait(ctx, s.informer.Synced()); err != nil {
			return k.notSynced(scopes, err)
		}
	}
	return nil
}

// wait waits for done, and returns an error when ctx ends or the kind stops.
func (k *KindInformer) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-k.stop:
		return ErrStopped
	case <-ctx.Done():
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return fmt.Errorf("timed out: %w", context.Cause(ctx))
	}
}

// notSynced says which of the scopes, nil if the kind is not open, are missing.
func (k *KindInformer) notSynced(scopes []*scope, err error) error {
	k.mu.Lock()
	e := &NotSyncedError{Kind: k.gvk, LastError: k.lastError, Err: err}
	k.mu.Unlock()
	for _, s := range scopes {
		if s.informer.HasSynced() {
			continue
		}
		if s.namespace != "" {
			e.Namespaces = append(e.Namespaces, s.namespace)
		}
		if last := s.informer.Status().LastError; last != nil {
			e.LastError = last
		}
	}
	return e
}
