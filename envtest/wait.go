package envtest

import (
	"context"
	"fmt"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// WaitFor waits, on a watch, until the object of obj's kind and key satisfies
// a condition, which gets nil while there is no such object. obj is left as it
// is. It returns the object's last state, and, when ctx ends first, an error
// that says so.
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
	for ctx.Err() == nil {
		var absent T
		last = absent
		var failed error
		list, err := lw.List(ctx, metav1.ListOptions{}, func(o client.Object, err error) bool {
			if failed = err; err == nil {
				last = o.(T)
			}
			return err == nil
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return last, waitError(ctx, gvk.Kind, key, err)
		}
		if satisfied(last) {
			return last, nil
		}
		for event, err := range lw.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}) {
			if err != nil {
				break // list again
			}
			switch event.Type {
			case watch.Added, watch.Modified:
				last = event.Object.(T)
			case watch.Deleted:
				last = absent
			default:
				continue
			}
			if satisfied(last) {
				return last, nil
			}
		}
	}
	return last, waitError(ctx, gvk.Kind, key, context.Cause(ctx))
}

func waitError(ctx context.Context, kind string, key client.ObjectKey, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("wait for %s %s: %w", kind, key, err)
}
