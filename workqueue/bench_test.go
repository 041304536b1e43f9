package workqueue

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"
)

// request is as large as a controller's key.
type request struct{ namespace, name string }

func requests(n int) []request {
	keys := make([]request, n)
	for i := range keys {
		keys[i] = request{"namespace-" + strconv.Itoa(i%100), "name-" + strconv.Itoa(i)}
	}
	return keys
}

func BenchmarkAddGetDone(b *testing.B) {
	q, ctx, keys := New[request](nil), b.Context(), requests(1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%len(keys)])
		item, _ := q.Get(ctx)
		q.Done(item.Key)
	}
}

// An operation is a thousand keys.
func BenchmarkAdd1000GetDone1000(b *testing.B) {
	q, ctx, keys := New[request](nil), b.Context(), requests(1000)
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range keys {
			q.Add(key)
		}
		for range keys {
			item, _ := q.Get(ctx)
			q.Done(item.Key)
		}
	}
}

// Two priorities, as after a restart: what was there before is less urgent.
func BenchmarkTwoPriorities(b *testing.B) {
	q, ctx, keys := New[request](nil), b.Context(), requests(1000)
	b.ReportAllocs()
	for b.Loop() {
		for i, key := range keys {
			q.AddWith(AddOptions{Priority: -100 * (i % 2)}, key)
		}
		for range keys {
			item, _ := q.Get(ctx)
			q.Done(item.Key)
		}
	}
}

// A thousand keys of a hundred fairness keys, at most two of each in flight.
func BenchmarkFair(b *testing.B) {
	q, ctx, keys := New(&Options[request]{
		FairnessKey: func(r request) string { return r.namespace }, MaxPerFairnessKey: 2, Ageing: time.Minute,
	}), b.Context(), requests(1000)
	b.ReportAllocs()
	for b.Loop() {
		for i, key := range keys {
			q.AddWith(AddOptions{Priority: -100 * (i % 2)}, key)
		}
		for range keys {
			item, _ := q.Get(ctx)
			q.Done(item.Key)
		}
	}
}

// An operation is one key; eight add, eight take.
func BenchmarkProducersWorkers(b *testing.B) {
	const producers, workers = 8, 8
	keys := requests(1_000_000)
	b.ReportAllocs()
	b.ResetTimer()
	q := New[request](nil)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := p; i < b.N; i += producers {
				q.Add(keys[i%len(keys)])
			}
		})
	}
	var workersDone sync.WaitGroup
	for range workers {
		workersDone.Go(func() {
			for {
				item, err := q.Get(context.Background())
				if err != nil {
					return
				}
				q.Done(item.Key)
			}
		})
	}
	wg.Wait()
	if err := q.ShutDownWithDrain(context.Background()); err != nil {
		b.Error(err)
	}
	workersDone.Wait()
}

// An operation is a million keys that are put in with delays of up to a second,
// and taken out when those have passed.
func BenchmarkDelayedMillion(b *testing.B) {
	const n = 1_000_000
	keys := requests(n)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		q := New[request](nil)
		for i, key := range keys {
			q.AddAfter(key, time.Duration(i*7919%1000)*time.Millisecond)
		}
		for range keys {
			item, err := q.Get(ctx)
			if err != nil {
				b.Fatal(err)
			}
			q.Done(item.Key)
		}
		q.ShutDown()
	}
}
