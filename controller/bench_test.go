package controller_test

import (
	"context"
	"testing"

	"governor/controller"

	"k8s.io/klog/v2"
)

// From an event to the end of its Reconcile: predicate, handler, queue, worker.
func BenchmarkEventToReconcile(b *testing.B) {
	events, reconciled := make(chan controller.GenericEvent), make(chan struct{})
	c, err := controller.NewUnmanaged("bench", controller.Func[controller.Request](func(context.Context, controller.Request) (controller.Result, error) {
		reconciled <- struct{}{}
		return controller.Result{}, nil
	}), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Watch(controller.Channel(events, controller.EnqueueRequestForObject{}, controller.PredicateFuncs{})); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(b.Context(), klog.Logger{})) // no logs
	done := make(chan error)
	go func() { done <- c.Start(ctx) }()
	event := controller.GenericEvent{Object: pod("ns", "a")}
	b.ReportAllocs()
	for b.Loop() {
		events <- event
		<-reconciled
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
