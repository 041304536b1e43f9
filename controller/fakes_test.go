package controller_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"
	"governor/workqueue"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// journal is a list that goroutines write and the test reads.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

// add returns how many entries there are now.
func (j *journal[T]) add(entry T) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
	return len(j.entries)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// recorder is a Reconciler that writes down its keys.
type recorder[K comparable] struct{ journal[K] }

func (r *recorder[K]) Reconcile(_ context.Context, key K) (controller.Result, error) {
	r.add(key)
	return controller.Result{}, nil
}

// fakeQueue writes down what a handler adds.
type fakeQueue[K comparable] struct{ added []string }

func (q *fakeQueue[K]) Add(key K) { q.AddWith(workqueue.AddOptions{}, key) }

func (q *fakeQueue[K]) AddAfter(key K, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, key)
}

func (q *fakeQueue[K]) AddRateLimited(key K) {
	q.AddWith(workqueue.AddOptions{RateLimited: true}, key)
}

func (q *fakeQueue[K]) AddWith(o workqueue.AddOptions, keys ...K) {
	for _, key := range keys {
		entry := fmt.Sprint(key)
		if o.Priority != 0 {
			entry += fmt.Sprint(" priority=", o.Priority)
		}
		if o.After != 0 {
			entry += fmt.Sprint(" after=", o.After)
		}
		if o.RateLimited {
			entry += " rate-limited"
		}
		q.added = append(q.added, entry)
	}
}

// fakeMetrics counts.
type fakeMetrics struct {
	mu    sync.Mutex
	count counts
}

type counts struct {
	success, requeueAfter, errors         int
	panics, terminals                     int
	active, mostActive, maxConcurrentSaid int
}

func (m *fakeMetrics) change(change func(*counts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.count)
}

func (m *fakeMetrics) counts() (c counts) {
	m.change(func(now *counts) { c = *now })
	return c
}

func (m *fakeMetrics) Reconciled(result string, _ time.Duration) {
	m.change(func(c *counts) {
		*map[string]*int{"success": &c.success, "requeue_after": &c.requeueAfter, "error": &c.errors}[result]++
	})
}
func (m *fakeMetrics) Panicked()      { m.change(func(c *counts) { c.panics++ }) }
func (m *fakeMetrics) TerminalError() { m.change(func(c *counts) { c.terminals++ }) }
func (m *fakeMetrics) Active(change int) {
	m.change(func(c *counts) { c.active += change; c.mostActive = max(c.mostActive, c.active) })
}
func (m *fakeMetrics) SetMaxConcurrent(n int) {
	m.change(func(c *counts) { c.maxConcurrentSaid = n })
}

// running is a controller that a test has started.
type running[K comparable] struct {
	*controller.Controller[K]
	logs ktesting.Buffer
	stop func() error // cancels and waits; its error is Start's
	done <-chan error
}

// start makes and starts a controller of string keys, which ends with the test.
// It is for use inside a bubble.
func start[K comparable](t *testing.T, r controller.Reconciler[K], o *controller.Options[K], sources ...controller.Source[K]) *running[K] {
	t.Helper()
	c, err := controller.NewUnmanaged("test", r, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if _, err := c.Watch(s); err != nil {
			t.Fatal(err)
		}
	}
	ctx, logs := logContext()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { cancel() })
	return &running[K]{Controller: c, logs: logs, stop: stop, done: done}
}

// settle lets time pass, and then everything come to rest. For use in a bubble.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// source enqueues keys and has synced then.
func source[K comparable](keys ...K) controller.Source[K] {
	return controller.SourceFunc[K](func(ctx context.Context, q controller.Adder[K], synced func()) error {
		for _, key := range keys {
			q.Add(key)
		}
		synced()
		<-ctx.Done()
		return nil
	})
}

func request(namespace, name string) controller.Request {
	return controller.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func pod(namespace, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-1", ResourceVersion: "1", Generation: 1}}
	for _, c := range change {
		c(p)
	}
	return p
}

var _ client.Object = pod("", "")

// logContext returns a context whose logger writes into a buffer.
func logContext() (context.Context, ktesting.Buffer) {
	logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.Verbosity(5), ktesting.BufferLogs(true)))
	return klog.NewContext(context.Background(), logger), logger.GetSink().(ktesting.Underlier).GetBuffer()
}
