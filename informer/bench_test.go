package informer

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"testing"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// flood is a ListWatcher of one thousand objects, which change as often as the
// benchmark says. It makes no garbage: the events are those of a ring.
type flood struct {
	objects []client.Object
	events  []client.Event
	begin   chan int // how many events come next
}

func newFlood() *flood {
	f := &flood{begin: make(chan int)}
	for n := range 1000 {
		f.objects = append(f.objects, obj("o"+strconv.Itoa(n), "1"))
	}
	return f
}

// prepare makes n events, which the benchmark does not measure.
func (f *flood) prepare(n int) {
	f.events = make([]client.Event, 0, n)
	for i := range n {
		o := obj(f.objects[i%len(f.objects)].GetName(), strconv.Itoa(i+2))
		f.events = append(f.events, client.Event{Type: watch.Modified, Object: o})
	}
}

func (f *flood) List(_ context.Context, _ metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	for _, o := range f.objects {
		yield(o, nil)
	}
	return metav1.ListMeta{ResourceVersion: "1"}, nil
}

func (f *flood) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		if opts.SendInitialEvents != nil {
			yield(client.Event{}, noStreaming())
			return
		}
		for {
			var n int
			select {
			case n = <-f.begin:
			case <-ctx.Done():
				return
			}
			for _, e := range f.events[:n] {
				if !yield(e, nil) {
					return
				}
			}
			f.events = f.events[n:]
		}
	}
}

// benchmarkEvents sends b.N events, so many at a time, from the ListWatcher
// through FIFO, store and log to the handlers, and waits until these have heard
// of them.
func benchmarkEvents(b *testing.B, store Store, handlers, atOnce int) {
	f := newFlood()
	f.prepare(b.N)
	i := New(f, store, nil)
	var heard sync.WaitGroup
	for range handlers {
		if _, err := i.AddHandler(HandlerFuncs{UpdateFunc: func(_, _ client.Object) { heard.Done() }}, nil); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	<-i.Synced()
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := min(atOnce, left)
		left -= n
		heard.Add(n * handlers)
		f.begin <- n
		heard.Wait()
	}
	b.StopTimer()
	cancel()
	<-done
}

// One at a time is the way of a quiet kind: nothing is amortised, and each
// goroutine has to be woken. Many at once are a burst.
func BenchmarkEvent(b *testing.B) {
	for _, atOnce := range []int{1, 10_000} {
		for _, handlers := range []int{1, 5} {
			b.Run(fmt.Sprintf("at_once=%d/handlers=%d", atOnce, handlers), func(b *testing.B) {
				benchmarkEvents(b, newMapStore(), handlers, atOnce)
			})
		}
	}
}
func BenchmarkDeltaFIFO(b *testing.B) {
	f, ctx, d := NewDeltaFIFO(), b.Context(), put(obj("a", "1"))
	var batch []Delta
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			if err := f.Push(ctx, d); err != nil {
				b.Fatal(err)
			}
		}
		batch, _ = f.Pop(ctx, batch)
	}
}

func BenchmarkReplaceUnchanged(b *testing.B) {
	p, list := newProcessor(newMapStore()), replaced("1")
	for n := range 10_000 {
		list.Objects = append(list.Objects, obj("o"+strconv.Itoa(n), "1"))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.process([]Delta{list}); err != nil {
			b.Fatal(err)
		}
	}
}
