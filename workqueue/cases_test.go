package workqueue

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The cases of real bug reports, each as it was reported. What is said of them in
// general is in the tests that cite their numbers.

// Case 31: delay arithmetic.
func TestCase31DelayArithmetic(t *testing.T) {
	t.Run("AddAfter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, start := New[string](nil), time.Now()
			defer q.ShutDown()
			q.AddAfter("later first", 5*time.Second)
			q.AddAfter("later first", time.Second)
			q.AddAfter("earlier first", time.Second)
			q.AddAfter("earlier first", 5*time.Second)
			q.AddAfter("zero", 0)
			q.AddAfter("negative", -time.Hour)
			q.AddAfter("300 years", math.MaxInt64) // as far as a Duration goes
			for _, want := range []struct {
				key string
				at  time.Duration
			}{{"zero", 0}, {"negative", 0}, {"later first", time.Second}, {"earlier first", time.Second}} {
				item, err := q.Get(t.Context())
				if err != nil || item.Key != want.key || time.Since(start) != want.at {
					t.Errorf("got %v, %v after %v, want %v", item, err, time.Since(start), want)
				}
				q.Done(item.Key)
			}
			time.Sleep(1000 * time.Hour)
			if n := q.Len(); n != 0 {
				t.Errorf("%d came out again, or too early", n)
			}
		})
	})
	for _, tt := range []struct{ base, max time.Duration }{
		{5 * time.Millisecond, 1000 * time.Second},
		{1, math.MaxInt64},
	} {
		t.Run(fmt.Sprint("exponential from ", tt.base, " to ", tt.max), func(t *testing.T) {
			l := NewItemExponentialFailureRateLimiter[string](tt.base, tt.max)
			l.When("other")
			last := time.Duration(0)
			for i := range 2000 {
				wait := l.When("x")
				if wait < last || wait <= 0 || wait > tt.max {
					t.Fatalf("failure %d waits %v after %v", i, wait, last)
				}
				last = wait
			}
			if last != tt.max {
				t.Errorf("it ends at %v, want %v", last, tt.max)
			}
			l.Forget("x")
			if wait, other := l.When("x"), l.When("other"); wait != tt.base || other != 2*tt.base {
				t.Errorf("after Forget x waits %v, another key %v", wait, other)
			}
		})
	}
	t.Run("bucket", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := New(&Options[int]{RateLimiter: NewBucketRateLimiter[int](10, 100)})
			defer q.ShutDown()
			for key := range 1000 {
				q.AddRateLimited(key)
			}
			for second, want := range []int{100, 110, 120, 130} {
				if got := q.Len(); got != want {
					t.Errorf("after %d s %d are ready, want %d", second, got, want)
				}
				time.Sleep(time.Second)
			}
		})
	})
}

// Case 32: one key, many workers.
func TestCase32OneKeyManyWorkers(t *testing.T) {
	t.Run("twenty Adds during a run are one more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := New[string](nil)
			var mu sync.Mutex
			runs, busy := 0, 0
			var workers sync.WaitGroup
			for range 16 {
				workers.Go(func() {
					for {
						item, err := q.Get(context.Background())
						if err != nil {
							return
						}
						mu.Lock()
						runs, busy = runs+1, busy+1
						if busy > 1 {
							t.Error("two workers have one key")
						}
						mu.Unlock()
						time.Sleep(time.Second)
						mu.Lock()
						busy--
						mu.Unlock()
						q.Done(item.Key)
						q.Done(item.Key) // a stray one: no worker can have got it between
					}
				})
			}
			q.Add("x")
			synctest.Wait()
			for range 20 {
				q.Add("x")
			}
			q.AddAfter("x", time.Millisecond)
			time.Sleep(time.Minute)
			if err := q.ShutDownWithDrain(t.Context()); err != nil {
				t.Error(err)
			}
			workers.Wait()
			if runs != 2 {
				t.Errorf("%d runs, want 2", runs)
			}
		})
	})
	t.Run("Len is never negative", func(t *testing.T) {
		q := New[int](nil)
		defer q.ShutDown()
		r := rand.New(rand.NewPCG(1, 2))
		for range 10_000 {
			switch key := r.IntN(5); r.IntN(3) {
			case 0:
				q.Add(key)
			case 1:
				q.Done(key)
			default:
				if q.Len() > 0 {
					mustGet(t, q)
				}
			}
			if n := q.Len(); n < 0 || n > 5 {
				t.Fatalf("Len is %d", n)
			}
		}
	})
}

// Case 34: slow leaks. What memory is left is in TestMemoryIsGivenBack.
func TestCase34OneTimerAndOneEntryPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		q.AddAfter("x", time.Hour)
		q.mu.Lock()
		timer := q.timer
		q.mu.Unlock()
		for range 100_000 {
			q.AddAfter("x", time.Hour)
		}
		for i := range 10_000 {
			key := fmt.Sprint(i)
			q.AddAfter(key, time.Hour)
			q.AddAfter(key, time.Millisecond)
		}
		q.mu.Lock()
		if q.timer != timer {
			t.Error("a second timer was made")
		}
		if n := q.waiting.len; n != 10_001 {
			t.Errorf("%d wait, want 10001", n)
		}
		q.mu.Unlock()
		time.Sleep(time.Second)
		if n := len(drain(t, q)); n != 10_000 {
			t.Errorf("%d came out, want 10000", n)
		}
		mustBeValid(t, q)
	})
}

// Case 35: the order of priorities.
func TestCase35PriorityOrderIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counts
		q := New(&Options[string]{Metrics: &c})
		defer q.ShutDown()
		for key := 'a'; key <= 'z'; key++ {
			q.AddWith(AddOptions{Priority: -100}, string(key))
		}
		q.Add("H")
		q.AddWith(AddOptions{Priority: -100}, "H")
		q.AddWith(AddOptions{Priority: 10}, "c")
		q.AddWith(AddOptions{Priority: 1000, After: time.Hour}, "later")
		mustBeValid(t, q)
		want := []string{"c", "H", "a", "b", "d"}
		if got := drain(t, q)[:5]; !slices.Equal(got, want) {
			t.Errorf("came out %q, want %q", got, want)
		}
		q.AddWith(AddOptions{Priority: 5}, "failing")
		item := mustGet(t, q)
		q.AddWith(AddOptions{Priority: item.Priority, RateLimited: true}, item.Key)
		q.Done(item.Key)
		time.Sleep(time.Second)
		if item := mustGet(t, q); item.Priority != 5 {
			t.Errorf("the retry has priority %d, want 5", item.Priority)
		}
		if len(c.depth) != 0 {
			t.Errorf("depth is %v, nothing is ready", c.depth)
		}
	})
}
