package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"governor/cache"
	"governor/client"
)

// Kind is the source of the changes of obj's kind in a cache. Events have the
// form of obj: typed, unstructured or metadata-only. A kind that cannot be
// listed, not installed yet or forbidden, is tried again by the cache, until the
// source is stopped or the controller's CacheSyncTimeout is over. When the
// source ends, its handler is removed from the cache.
//
// Upstream: source.TypedKind, whose handler stays for good.
func Kind[K comparable](c *cache.Cache, obj client.Object, h EventHandler[K], predicates ...Predicate) Source[K] {
	return &kindSource[K]{cache: c, object: obj, handler: h, predicates: predicates}
}

type kindSource[K comparable] struct {
	cache      *cache.Cache
	object     client.Object
	handler    EventHandler[K]
	predicates Predicates
}

// Run implements Source.
func (k *kindSource[K]) Run(ctx context.Context, q Adder[K], synced func()) error {
	informer, err := k.cache.GetInformer(ctx, k.object)
	if err != nil {
		return err
	}
	registration, err := informer.AddHandler(inForm(k.object, &feed[K]{
		ctx: ctx, source: k.String(), predicates: k.predicates, handler: k.handler, queue: q,
	}))
	if err != nil {
		return err
	}
	defer registration.Remove()
	if err := registration.WaitForSync(ctx); err != nil { // it has the server's answer
		return err
	}
	synced()
	<-ctx.Done()
	return nil
}

// String names the source in errors and logs.
func (k *kindSource[K]) String() string {
	if k.object == nil {
		return "kind unknown"
	}
	if gvk := k.object.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return fmt.Sprintf("kind %s/%s", gvk.GroupVersion(), gvk.Kind)
	}
	return fmt.Sprintf("kind %T", k.object)
}

// Validate reports what is missing.
func (k *kindSource[K]) Validate() error {
	switch {
	case k.cache == nil:
		return errors.New("a Kind source needs a cache, not nil")
	case k.object == nil:
		return errors.New("a Kind source needs an object of the kind to watch, not nil")
	case k.handler == nil:
		return errors.New("a Kind source needs an event handler, not nil")
	}
	return errors.Join(validate(k.handler), k.predicates.validate())
}

// WithPredicates returns a copy that lets fewer events through.
func (k *kindSource[K]) WithPredicates(predicates ...Predicate) Source[K] {
	fewer := *k
	fewer.predicates = slices.Concat(predicates, k.predicates)
	return &fewer
}
