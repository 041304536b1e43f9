package envtest

import (
	"context"
	"fmt"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watchAgain is how long WaitFor pauses before it lists again, so that a server
// that ends each watch at once is not stormed.
const watchAgain = 100 * time.Millisecond

// WaitFor waits, on a watch, until the object of obj's kind and key satisfies
// a condition, which gets nil while there is no such object. obj is left as it
// is. It returns the object's last state, and an error when ctx ends first, or
// when the object cannot be listed: a server that is down is not waited for.
//
// It answers to the Eventually loops of upstream's tests.
func WaitFor[T client.Object](ctx context.Context, c *client.Direct, obj T, satisfied func(T) bool) (T, error) {
	var last T
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return last, err
	}
	key := client.ObjectKeyFromObject(obj)
	resource, err := c.Resource(ctx, gvk, client.FormOf(obj))
	if err != nil {
		return last, err
	}
	lw := &client.ListWatch{Resource: resource, Namespace: key.Namespace, FieldSelector: "metadata.name=" + key.Name}
	for {
		var version string
		last, version, err = listOne[T](ctx, lw)
		if err == nil && satisfied(last) {
			return last, nil
		}
		if err == nil {
			var done bool
			if last, done = follow(ctx, lw, version, last, satisfied); done {
				return last, nil
			}
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(watchAgain):
			}
		}
		if err != nil {
			return last, fmt.Errorf("wait for %s %s: %w", gvk.Kind, key, err)
		}
	}
}

// listOne returns the object that lw selects, nil if there is none, and the
// resourceVersion to follow it from.
func listOne[T client.Object](ctx context.Context, lw *client.ListWatch) (last T, version string, err error) {
	var broken error
	list, err := lw.List(ctx, metav1.ListOptions{}, func(o client.Object, err error) bool {
		if broken = err; err == nil {
			last = o.(T)
		}
		return err == nil
	})
	if err == nil {
		err = broken
	}
	return last, list.ResourceVersion, err
}

// follow watches the object until it satisfies, or the watch ends.
func follow[T client.Object](ctx context.Context, lw *client.ListWatch, version string, last T, satisfied func(T) bool) (T, bool) {
	for event, err := range lw.Watch(ctx, metav1.ListOptions{ResourceVersion: version}) {
		if err != nil {
			break
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			last = event.Object.(T)
		case watch.Deleted:
			var absent T
			last = absent
		}
		if satisfied(last) {
			return last, true
		}
	}
	return last, false
}
