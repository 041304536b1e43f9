package informer

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"testing"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// flood is a ListWatcher of one thousand objects, which then change n times.
type flood struct {
	objects []client.Object
	n       int
	begin   chan struct{}
}

func (f *flood) List(_ context.Context, _ metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	for _, o := range f.objects {
		yield(o, nil)
	}
	return metav1.ListMeta{ResourceVersion: "1"}, nil
}

func (f *flood) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		<-f.begin
		for n := range f.n {
			o := obj(f.objects[n%len(f.objects)].GetName(), strconv.Itoa(n+2))
			if !yield(client.Event{Type: watch.Modified, Object: o}, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// One event, from the ListWatcher through FIFO, store and log to the handlers.
func BenchmarkEvent(b *testing.B) {
	for _, handlers := range []int{1, 5} {
		b.Run(strconv.Itoa(handlers)+"_handlers", func(b *testing.B) {
			f := &flood{n: b.N, begin: make(chan struct{})}
			for n := range 1000 {
				f.objects = append(f.objects, obj("o"+strconv.Itoa(n), "1"))
			}
			i := New(f, newMapStore(), nil)
			var heard sync.WaitGroup
			heard.Add(b.N * handlers)
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
			close(f.begin)
			heard.Wait()
			b.StopTimer()
			cancel()
			<-done
		})
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
