package cache

import (
	"context"
	"fmt"
	"iter"

	"governor/client"
)

// Each yields what List would find, with the same options, in the same order and of
// one state, but without copies: a thousand Pods cost no more than a look at each.
// They are the cache's own objects, so they must be read only: DeepCopy what is to be
// changed, or kept for long. of stands for the kind, and for the form in which objects
// are yielded; a form other than the stored one is converted, which costs as much as
// a copy.
//
//	for pod, err := range cache.Each(ctx, c, &corev1.Pod{}, client.InNamespace("shop")) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error is the last that is yielded, with a nil object. What is yielded was chosen
// before the loop began: it may take its time, and read and write as it likes. With a
// Limit, no more than that are yielded. It has no upstream counterpart.
func Each[T client.Object](ctx context.Context, c *Cache, of T, opts ...client.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := c.each(ctx, of, opts, func(obj client.Object) (bool, error) {
			t, ok := obj.(T)
			if !ok {
				return false, fmt.Errorf("cache: Each: the cache has a %T, not a %T", obj, of)
			}
			return yield(t, nil), nil
		}); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// each is Each for any type. It returns an error unless yield was the last to be called.
func (c *Cache) each(ctx context.Context, of client.Object, opts []client.ListOption, yield func(client.Object) (bool, error)) error {
	gvk, err := c.client.GroupVersionKindFor(of)
	if err != nil {
		return fmt.Errorf("cache: Each: %w", err)
	}
	form := client.FormOf(of)
	k, q, o, err := c.listed(ctx, "Each", gvk, form, opts)
	if err != nil {
		return err
	}
	scopes, err := k.asked(ctx, c.options.syncTimeout(), q)
	if err != nil {
		return err
	}
	items, _, err := k.searchAll(ctx, scopes, q, o)
	if err != nil {
		return err
	}
	if q.limit > 0 && int64(len(items)) > q.limit {
		items = items[:q.limit]
	}
	for _, f := range items {
		obj, err := k.view(f.object, form, false)
		if err != nil {
			return fmt.Errorf("cache: Each %s: %s: %w", kindText(gvk), client.ObjectKeyFromObject(f.object), err)
		}
		if more, err := yield(obj); err != nil || !more {
			return err
		}
	}
	return nil
}
