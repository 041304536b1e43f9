package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"governor/client"
	"governor/informer"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// KindInformer is one kind in the Cache: one store for all forms in which the
// kind is read, and one informer for each namespace that the Cache was given,
// or one for all. It has them from the first who asks for the kind until
// [Cache.RemoveInformer], or until nobody has read it for Options.IdleTimeout. It
// keeps its handlers and indexes, and begins anew when it is asked for again.
//
// Handlers and indexes may come at any time; while the kind is not open they
// wait. Upstream: cache.Informer, which is dead once it was removed.
type KindInformer struct {
	cache       *Cache
	client      *client.Direct
	gvk         schema.GroupVersionKind
	idleTimeout time.Duration
	detector    *detector

	life atomic.Pointer[life] // written under mu; never nil

	mu            sync.Mutex // guards what follows, and what its life says; taken before the Cache's
	options       *Options   // what it points to is never written to
	kind          declared
	listed        bool // Options.ByObject has the kind
	form          client.Form
	indexes       []declaredIndex
	registrations []*Registration // all that were not removed
}

// whole returns the form in which a kind is stored with all its fields.
func whole(c *client.Direct, gvk schema.GroupVersionKind) client.Form {
	if c.Scheme().Recognizes(gvk) {
		return client.Typed
	}
	return client.Unstructured
}

// newKind returns a kind that nobody has asked for yet. o is its own; d is what
// Options.ByObject says, if it has the kind.
func newKind(c *Cache, o *Options, d *declared, gvk schema.GroupVersionKind) *KindInformer {
	k := &KindInformer{cache: c, client: c.client, gvk: gvk, idleTimeout: o.idleTimeout(), detector: o.detector, options: o}
	if d != nil {
		k.kind, k.listed = *d, true
	}
	k.life.Store(over())
	return k
}

// over returns a life that has ended.
func over() *life {
	l := newLife()
	close(l.stop)
	return l
}

// want begins the kind's life, unless it lives, and makes sure that it can be read in
// a form. kept says that it is to live on though nobody reads it. begun says that
// it did not live.
func (k *KindInformer) want(ctx context.Context, form client.Form, kept bool) (begun bool, err error) {
	l := k.life.Load()
	if lay := l.layout.Load(); lay != nil && !l.over() && (form == client.MetadataOnly || lay.form != client.MetadataOnly) &&
		(!kept || l.kept.Load()) {
		l.use()
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cache.hasEnded() {
		return false, nil
	}
	l = k.life.Load()
	begun = l.over()
	if err := k.widenLocked(ctx, l, form); err != nil {
		return false, err
	}
	if l = k.life.Load(); l.over() {
		l = newLife()
		l.kept.Store(k.listed)
		k.beginLocked(l)
	}
	l.use()
	if kept {
		l.kept.Store(true)
	}
	return begun, nil
}

func (l *life) use() {
	if !l.used.Load() { // a flag that is set already is not fought for
		l.used.Store(true)
	}
}

// widenLocked sees to it that the kind is stored in a form that can be read in this one. A kind
// that is stored metadata-only, since nobody has asked for more, begins anew.
func (k *KindInformer) widenLocked(ctx context.Context, l *life, form client.Form) error {
	switch {
	case k.listed && k.kind.form == client.MetadataOnly && form != client.MetadataOnly:
		return fmt.Errorf("cache: %s is stored metadata-only and cannot be read %s, since Options.ByObject lists it with a PartialObjectMetadata:"+
			" list it with an object of that form", kindText(k.gvk), form)
	case k.listed && k.kind.form == client.MetadataOnly:
		k.form = client.MetadataOnly
	case k.listed || form != client.MetadataOnly:
		if k.form == client.MetadataOnly && l.layout.Load() != nil && !l.over() {
			klog.FromContext(ctx).Info("The kind was stored metadata-only, and is listed anew, whole", "kind", kindText(k.gvk), "form", form)
			k.form = whole(k.client, k.gvk)
			k.restartLocked()
		}
		k.form = whole(k.client, k.gvk)
	case l.over() && len(k.registrations) == 0 && len(k.indexes) == 0:
		k.form = client.MetadataOnly
	}
	return nil
}

// beginLocked makes l the kind's life.
func (k *KindInformer) beginLocked(l *life) {
	k.life.Store(l)
	k.cache.enqueue(k, l)
}

// restartLocked ends a life and begins the next, which it returns.
func (k *KindInformer) restartLocked() *life {
	last, next := k.life.Load(), newLife()
	next.kept.Store(last.kept.Load())
	close(last.stop)
	k.beginLocked(next)
	return next
}

// remove ends the kind's life, and lets go of what is stored.
func (k *KindInformer) remove() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.cache.hasEnded() {
		k.endLocked()
	}
}

// end is called when the Cache has ended: what is stored can be read on.
func (k *KindInformer) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.life.Load(); !l.over() {
		close(l.stop)
	}
}

// lives says whether somebody has asked for the kind, or Options.ByObject lists it.
func (k *KindInformer) lives() bool { return !k.life.Load().over() }

// AddHandler adds h to each of the kind's informers, those to come included. A late handler hears of
// every stored object as an add in the initial list. However many informers
// there are, h is called by one at a time. What is not cached any more, because a
// namespace or the whole kind was removed, it hears of as a delete whose final
// state is unknown; if it comes again, as an add.
//
// h gets the form in which the kind is stored: typed when the scheme knows the kind, otherwise unstructured,
// or metadata-only while nobody has asked for more. Objects are shared: read them
// only. Nil options mean that it hears of resyncs, if the kind has a SyncPeriod.
//
// A handler is a lease: the kind does not become idle. It does not make a kind begin
// that was removed; see [Cache.AddHandler].
func (k *KindInformer) AddHandler(h informer.Handler, o *informer.HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, errors.New("cache: AddHandler needs a handler, not nil")
	}
	r := &Registration{
		kind:    k,
		options: informer.HandlerOptions{Resync: true},
	}
	if o != nil {
		r.options = *o
	}
	r.options.Name = cmp.Or(r.options.Name, fmt.Sprintf("%T", h))
	r.handler = &oneAtATime{handler: wholes{k.detector.watch(h, k.gvk, r.options.Name)}, turn: make(chan struct{}, 1)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.registrations = append(k.registrations, r)
	if lay := k.life.Load().layout.Load(); lay != nil {
		r.moveLocked(lay.scopes)
	}
	return r, nil
}

// forget lets go of a scope whose informer has ended.
func (k *KindInformer) forget(s *scope) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lay := k.life.Load().layout.Load(); lay != nil && slices.Contains(lay.scopes, s) {
		return // it is the Cache that has ended
	}
	for _, r := range k.registrations {
		r.at = slices.DeleteFunc(r.at, func(p post) bool { return p.scope == s })
	}
}
