package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"governor/cache"
	"governor/client"
	"governor/informer"
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
	kind, err := k.cache.GetInformer(ctx, k.object)
	if err != nil {
		return err
	}
	registration, err := kind.AddHandler(inForm(k.object, &feed[K]{
		ctx: ctx, source: k.String(), predicates: k.predicates, handler: k.handler, queue: q,
	}), &informer.HandlerOptions{Name: k.String(), Resync: true, Coalesce: k.coalesces()})
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

// coalesces says whether, when the source has fallen far behind, the states
// between an object's first and last may be left out. Reconcilers read the
// cache, which is ahead of the source, so they may know each of these states, and
// have to be told when it is over. If all that counts is the object's own key, and
// that something changed, they are: with the last one. But a map function that
// never sees the state in between would not tell the owner that the object had
// there; and a predicate that compares labels would take a change and its
// reversal for none.
func (k *kindSource[K]) coalesces() bool {
	if _, own := any(k.handler).(EnqueueRequestForObject); !own {
		return false
	}
	for _, p := range k.predicates {
		switch p.(type) {
		case GenerationChangedPredicate, ResourceVersionChangedPredicate: // what they compare only grows
		default:
			return false
		}
	}
	return true
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
