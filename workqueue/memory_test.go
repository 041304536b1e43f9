package workqueue

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// heapInUse is what is reachable.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first has finalised
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Contract 12; Case 34. Each of the bursts is megabytes; a table or an
// array of their size that stays would be found.
func TestMemoryIsGivenBack(t *testing.T) {
	const n = 25_000
	big := func(i int) string { return strconv.Itoa(i) + strings.Repeat("x", 500) }
	for _, tt := range []struct {
		name  string
		o     Options[string]
		burst func(*Queue[string])
	}{
		{"pushed and popped", Options[string]{}, func(q *Queue[string]) {
			for i := range 100_000 {
				q.Add(big(i))
			}
			drain(t, q)
		}},
		{"a priority each", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.AddWith(AddOptions{Priority: i}, big(i))
			}
			drain(t, q)
		}},
		{"waited and came", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.AddAfter(big(i), time.Hour)
			}
			time.Sleep(time.Hour)
			drain(t, q)
		}},
		{"one key delayed again and again", Options[string]{}, func(q *Queue[string]) {
			for range 100_000 {
				q.AddAfter("x", time.Hour)
			}
			mustBeValid(t, q)
		}},
		{"failed and forgotten", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.AddRateLimited(big(i))
			}
			time.Sleep(time.Hour)
			for _, key := range drain(t, q) {
				q.Forget(key)
			}
		}},
		{"waited and dropped", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.AddAfter(big(i), time.Hour)
			}
			q.ShutDown()
		}},
		{"a fairness key each, some capped", Options[string]{FairnessKey: func(key string) string { return key }, MaxPerFairnessKey: 1, Ageing: time.Second},
			func(q *Queue[string]) {
				for i := range n {
					q.AddWith(AddOptions{Priority: i % 2}, big(i))
				}
				drain(t, q)
			}},
		{"with causes", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.AddWith(AddOptions{Cause: big(i)}, strconv.Itoa(i))
			}
			drain(t, q)
		}},
		{"all taken at a time", Options[string]{}, func(q *Queue[string]) {
			for i := range n {
				q.Add(big(i))
			}
			for range n {
				mustGet(t, q)
			}
			for i := range n {
				q.Done(big(i))
			}
		}},
		{"rested", Options[string]{MinInterval: time.Minute, Debounce: time.Second}, func(q *Queue[string]) {
			for i := range n {
				q.Add(big(i))
			}
			time.Sleep(time.Second)
			drain(t, q)
			time.Sleep(time.Hour)
			synctest.Wait()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(&tt.o)
				q.Add("warm")
				q.AddAfter("warm", time.Minute)
				time.Sleep(time.Hour)
				drain(t, q)
				before := heapInUse()
				tt.burst(q)
				if grown := heapInUse() - before; grown > 256<<10 {
					t.Errorf("the heap has grown by %d KB", grown>>10)
				}
				mustBeValid(t, q)
				q.ShutDown()
				runtime.KeepAlive(q)
			})
		})
	}
}

// Contract 11, 12; Case 34.
func TestSupersededDelaysLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](nil)
		defer q.ShutDown()
		const n = 10_000
		for key := range n {
			q.AddAfter(key, time.Hour)
		}
		for key := range n {
			q.AddAfter(key, time.Millisecond)
		}
		mustBeValid(t, q)
		if got := len(q.Snapshot().Waiting); got != n {
			t.Errorf("%d wait, want %d", got, n)
		}
		time.Sleep(time.Millisecond)
		if got := len(drain(t, q)); got != n {
			t.Errorf("%d came out, want %d", got, n)
		}
		time.Sleep(2 * time.Hour)
		mustBeValid(t, q)
		if got := q.Len(); got != 0 {
			t.Errorf("%d came out again", got)
		}
	})
}

// Contract 12: an ordinary day costs no garbage.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name string
		work func(*Queue[int])
		o    Options[int]
	}{
		{"add, get, done", func(q *Queue[int]) {
			q.Add(1)
			item, _ := q.Get(ctx)
			q.Done(item.Key)
		}, Options[int]{}},
		{"two priorities", func(q *Queue[int]) {
			q.AddWith(AddOptions{Priority: -100}, 1, 2)
			q.AddWith(AddOptions{Priority: 5}, 2)
			for range 2 {
				item, _ := q.Get(ctx)
				q.Add(item.Key)
				q.Done(item.Key)
			}
			for range 2 {
				item, _ := q.Get(ctx)
				q.Done(item.Key)
			}
		}, Options[int]{}},
		{"delayed, then at once", func(q *Queue[int]) {
			q.AddAfter(1, time.Hour)
			q.AddAfter(1, time.Minute)
			q.AddRateLimited(1)
			q.Add(1)
			item, _ := q.Get(ctx)
			q.Forget(1)
			q.Done(item.Key)
		}, Options[int]{}},
		{"fair, capped, ageing", func(q *Queue[int]) {
			for key := range 20 {
				q.AddWith(AddOptions{Priority: key % 3}, key)
			}
			for range 10 {
				a, _ := q.Get(ctx)
				b, _ := q.Get(ctx)
				q.Done(a.Key)
				q.Done(b.Key)
			}
		}, Options[int]{FairnessKey: oddOrEven, MaxPerFairnessKey: 1, Ageing: 1}},
		{"paced", func(q *Queue[int]) {
			q.Add(1)
			item, _ := q.Get(ctx)
			q.Add(1)
			q.Done(item.Key)
		}, Options[int]{Debounce: time.Microsecond, MinInterval: time.Microsecond}},
		{"measured", func(q *Queue[int]) {
			q.Add(1)
			item, _ := q.Get(ctx)
			q.Done(item.Key)
		}, Options[int]{Metrics: &counts{depth: map[int]int{}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := New(&tt.o)
			defer q.ShutDown()
			if n := testing.AllocsPerRun(100, func() { tt.work(q) }); n != 0 {
				t.Errorf("%v allocations, want none", n)
			}
		})
	}
}

func oddOrEven(key int) string { return [...]string{"even", "odd"}[key%2] }

// Contract 12: a worker that has to wait costs no garbage either.
func TestWaitingAllocatesNothing(t *testing.T) {
	q, done := New[int](nil), make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			item, err := q.Get(context.Background())
			if err != nil {
				return
			}
			q.Done(item.Key)
			done <- struct{}{}
		}
	}()
	if n := testing.AllocsPerRun(1000, func() { q.Add(1); <-done }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	q.ShutDown()
	<-stopped
}
