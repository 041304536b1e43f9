package workqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mustGet is a Get that does not wait.
func mustGet[K comparable](t *testing.T, q *Queue[K]) Item[K] {
	t.Helper()
	if q.Len() == 0 {
		t.Fatal("nothing is ready")
	}
	item, err := q.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// drain takes all that is ready, and returns it in order.
func drain[K comparable](t *testing.T, q *Queue[K]) []K {
	t.Helper()
	var keys []K
	for range q.Len() {
		item, err := q.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q.Done(item.Key)
		keys = append(keys, item.Key)
	}
	return keys
}

func mustBeValid[K comparable](t *testing.T, q *Queue[K]) {
	t.Helper()
	if err := q.valid(); err != nil {
		t.Fatal(err)
	}
}

// What comes out of a queue, and in which order, when nothing is taken before
// all is in.
func TestOrder(t *testing.T) {
	type adds = []func(*Queue[string])
	add := func(key string, priority int) func(*Queue[string]) {
		return func(q *Queue[string]) { q.AddWith(AddOptions{Priority: priority}, key) }
	}
	after := func(key string, priority int, d time.Duration) func(*Queue[string]) {
		return func(q *Queue[string]) { q.AddWith(AddOptions{Priority: priority, After: d}, key) }
	}
	wait := func(d time.Duration) func(*Queue[string]) {
		return func(*Queue[string]) { time.Sleep(d) }
	}
	for _, tt := range []struct {
		name string
		adds adds
		want []string
	}{
		// Contract 1, 4.
		{"first in, first out", adds{add("c", 0), add("a", 0), add("b", 0)}, []string{"c", "a", "b"}},
		{"twice is once, in the first place", adds{add("a", 0), add("b", 0), add("a", 0)}, []string{"a", "b"}},
		// Contract 5, 6; Case 35.
		{"high before low", adds{add("low1", -100), add("low2", -100), add("high", 1), add("mid", 0)},
			[]string{"high", "mid", "low1", "low2"}},
		{"extreme priorities", adds{add("min", math.MinInt), add("mid", 0), add("max", math.MaxInt)},
			[]string{"max", "mid", "min"}},
		{"raised to the top", adds{add("z", 0), add("a", -100), add("b", -100), add("a", 10)}, []string{"a", "z", "b"}},
		{"raised behind its new equals", adds{add("a", -100), add("b", 0), add("c", 0), add("a", 0)},
			[]string{"b", "c", "a"}},
		{"never lowered", adds{add("a", 0), add("b", 0), add("a", -100)}, []string{"a", "b"}},
		{"what is not ready hides nothing", adds{after("later", 100, time.Hour), add("a", -1), add("b", -1)},
			[]string{"a", "b"}},
		{"raised while it waits", adds{after("a", -5, time.Second), add("b", 0), after("a", 5, time.Minute), wait(time.Second)},
			[]string{"a", "b"}},
		// Contract 4: by when they became ready.
		{"by the end of the delay", adds{after("a", 0, 2*time.Second), after("b", 0, time.Second), wait(1500 * time.Millisecond),
			add("c", 0), wait(time.Second)}, []string{"b", "c", "a"}},
		{"equal delays in the order of adding", adds{after("a", 0, time.Second), after("b", 0, time.Second),
			after("c", 0, time.Second), wait(time.Second)}, []string{"a", "b", "c"}},
		{"a delay is no way to wait less urgently", adds{add("a", 0), after("a", 0, time.Hour)}, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string](nil)
				defer q.ShutDown()
				for _, add := range tt.adds {
					add(q)
					mustBeValid(t, q)
				}
				if got := drain(t, q); !slices.Equal(got, tt.want) {
					t.Errorf("came out %q, want %q", got, tt.want)
				}
				mustBeValid(t, q)
			})
		})
	}
}

// Contract 6, 7; Case 31; upstream: client-go util/workqueue/delaying_queue_test.go.
func TestDelay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		delays []time.Duration
		want   time.Duration
	}{
		{"one", []time.Duration{time.Second}, time.Second},
		{"earlier second wins", []time.Duration{5 * time.Second, time.Second}, time.Second},
		{"earlier first wins", []time.Duration{time.Second, 5 * time.Second}, time.Second},
		{"zero is none", []time.Duration{0}, 0},
		{"negative is none", []time.Duration{-time.Hour}, 0},
		{"smallest is none", []time.Duration{math.MinInt64}, 0},
		{"none after one", []time.Duration{time.Hour, 0}, 0},
		{"negative after one", []time.Duration{time.Hour, -1}, 0},
		{"huge does not wrap", []time.Duration{math.MaxInt64, math.MaxInt64 - 1, time.Hour}, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string](nil)
				defer q.ShutDown()
				time.Sleep(time.Minute) // so that now plus huge is out of range
				start := time.Now()
				for _, d := range tt.delays {
					q.AddAfter("a", d)
					mustBeValid(t, q)
				}
				if _, err := q.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got != tt.want {
					t.Errorf("came out after %v, want %v", got, tt.want)
				}
				q.Done("a")
				// It came out once: nothing is left of the other delays.
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
				defer cancel()
				if item, err := q.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("then got %v, %v", item, err)
				}
				mustBeValid(t, q)
			})
		})
	}
}

// Contract 7; Case 31.
func TestHugeDelayIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		time.Sleep(time.Hour)
		q.AddAfter("a", math.MaxInt64)
		q.AddAfter("b", math.MaxInt64-time.Minute)
		time.Sleep(200 * 365 * 24 * time.Hour)
		mustBeValid(t, q)
		if q.Len() != 0 {
			t.Fatal("ready after 200 years, want 292")
		}
		q.Add("a")
		if got := drain(t, q); !slices.Equal(got, []string{"a"}) {
			t.Errorf("came out %q", got)
		}
	})
}

// What happens to a key while a worker has it.
func TestInFlight(t *testing.T) {
	for _, tt := range []struct {
		name   string
		during func(*Queue[string])
		want   []string // what comes out after Done
	}{
		{"nothing", func(*Queue[string]) {}, nil},
		// Contract 3; Case 32.
		{"one Add", func(q *Queue[string]) { q.Add("x") }, []string{"x"}},
		{"twenty Adds", func(q *Queue[string]) {
			for range 20 {
				q.Add("x")
			}
		}, []string{"x"}},
		{"a delay that passes", func(q *Queue[string]) { q.AddAfter("x", time.Second); time.Sleep(time.Minute) }, []string{"x"}},
		{"a delay that has not passed", func(q *Queue[string]) { q.AddAfter("x", time.Hour) }, nil},
		// Contract 4: it became ready by Done.
		{"behind others", func(q *Queue[string]) { q.Add("x"); q.Add("y") }, []string{"y", "x"}},
		// Contract 6.
		{"before less urgent ones", func(q *Queue[string]) {
			q.Add("x")
			q.Add("y")
			q.AddWith(AddOptions{Priority: 1}, "x")
		}, []string{"x", "y"}},
		// Contract 8.
		{"a stray Done of others", func(q *Queue[string]) {
			q.Add("y")
			q.Done("y")
			q.Done("z")
		}, []string{"y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string](nil)
				defer q.ShutDown()
				q.Add("x")
				mustGet(t, q)
				tt.during(q)
				mustBeValid(t, q)

				// Contract 2: it does not come out before Done.
				for _, item := range q.Snapshot().Ready {
					if item.Key == "x" {
						t.Error("x is ready and in flight")
					}
				}
				q.Done("x")
				if got := drain(t, q); !slices.Equal(got, tt.want) {
					t.Errorf("came out %q, want %q", got, tt.want)
				}
				mustBeValid(t, q)
			})
		})
	}
}

// Contract 8; Case 32; upstream's plain queue puts the key in again.
func TestStrayDone(t *testing.T) {
	q := New[string](nil)
	defer q.ShutDown()
	q.Done("never added")
	q.Add("x")
	q.Done("x") // queued, but not taken
	mustGet(t, q)
	q.Add("x")
	q.Done("x")
	q.Done("x") // twice; it is ready again by the first
	mustBeValid(t, q)
	if got := drain(t, q); !slices.Equal(got, []string{"x"}) {
		t.Errorf("came out %q, want x once", got)
	}
	q.Done("x")
	mustBeValid(t, q)
	if n := q.Len(); n != 0 {
		t.Errorf("Len is %d, want 0", n)
	}
}

// Case 35: a retry stays as urgent as it was.
func TestPriorityOfItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		q.AddWith(AddOptions{Priority: 5}, "x")
		for range 3 {
			item, err := q.Get(t.Context())
			if err != nil || item.Priority != 5 {
				t.Fatalf("got %v, %v; want priority 5", item, err)
			}
			q.AddWith(AddOptions{RateLimited: true, Priority: item.Priority}, item.Key)
			q.Done(item.Key)
		}
		// The run that was urgent is over: what comes next is not.
		time.Sleep(time.Minute)
		drain(t, q)
		q.AddWith(AddOptions{Priority: -100}, "x")
		if item := mustGet(t, q); item.Priority != -100 {
			t.Errorf("priority is %d, want -100", item.Priority)
		}
	})
}

// AddOptions: with both, the shorter of the two delays counts.
func TestAddWithDelayAndRateLimit(t *testing.T) {
	for _, tt := range []struct {
		after, limit, want time.Duration
	}{
		{0, time.Second, time.Second},
		{-1, time.Second, time.Second},
		{time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second},
		{time.Second, 0, 0},
		{0, -time.Second, 0},
	} {
		t.Run(fmt.Sprint(tt.after, tt.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(&Options[string]{RateLimiter: NewItemFastSlowRateLimiter[string](tt.limit, 0, 1)})
				defer q.ShutDown()
				start := time.Now()
				q.AddWith(AddOptions{After: tt.after, RateLimited: true}, "a", "b")
				for range 2 {
					if _, err := q.Get(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if got := time.Since(start); got != tt.want {
					t.Errorf("came out after %v, want %v", got, tt.want)
				}
				if n := q.NumRequeues("b"); n != 1 {
					t.Errorf("NumRequeues is %d, want 1", n)
				}
				q.Forget("b")
				if a, b := q.NumRequeues("a"), q.NumRequeues("b"); a != 1 || b != 0 {
					t.Errorf("after Forget NumRequeues are %d and %d, want 1 and 0", a, b)
				}
			})
		})
	}
}

// Contract 2, 3; Case 32. Every worker sleeps while it has a key, so they all
// overlap.
func TestManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, keys, producers, adds = 16, 50, 8, 400
		q := New[int](nil)

		var mu sync.Mutex
		clock := 0
		busy, lastAdd, lastRun := map[int]bool{}, map[int]int{}, map[int]int{}

		var atWork, adding sync.WaitGroup
		for range workers {
			atWork.Go(func() {
				for {
					item, err := q.Get(context.Background())
					if err != nil {
						return
					}
					mu.Lock()
					if busy[item.Key] {
						t.Errorf("%d is with two workers", item.Key)
					}
					clock++
					busy[item.Key], lastRun[item.Key] = true, clock
					mu.Unlock()
					time.Sleep(rand.N(5 * time.Millisecond))
					mu.Lock()
					busy[item.Key] = false
					mu.Unlock()
					q.Done(item.Key)
				}
			})
		}
		for p := range producers {
			adding.Go(func() {
				r := rand.New(rand.NewPCG(uint64(p), 0))
				for range adds {
					key := r.IntN(keys)
					mu.Lock() // so that the number is taken before any run that follows
					clock++
					lastAdd[key] = clock
					mu.Unlock()
					q.AddWith(AddOptions{Priority: r.IntN(3), After: time.Duration(r.IntN(2)) * time.Millisecond}, key)
					time.Sleep(time.Duration(r.IntN(int(2 * time.Millisecond))))
				}
			})
		}
		adding.Wait()
		time.Sleep(time.Minute)
		mustBeValid(t, q)
		for key, added := range lastAdd {
			if lastRun[key] < added {
				t.Errorf("%d was added at %d, its last run began at %d", key, added, lastRun[key])
			}
		}
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Error(err)
		}
		atWork.Wait()
	})
}

// Contract 4; Case 32: one worker and ten thousand keys, of which one comes back
// all the time.
func TestNoKeyStarves(t *testing.T) {
	q := New[int](nil)
	defer q.ShutDown()
	const n = 10_000
	for key := range n {
		q.Add(key)
	}
	for want := range n {
		item := mustGet(t, q)
		if item.Key != want {
			t.Fatalf("got %d, want %d", item.Key, want)
		}
		if want == 0 {
			q.Add(0)
		}
		q.Done(item.Key)
	}
	if item := mustGet(t, q); item.Key != 0 {
		t.Errorf("got %d at last, want 0", item.Key)
	}
}

// Contract 10.
func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		defer q.ShutDown()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := q.Get(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		q.Add("a")
		if item, err := q.Get(ctx); err == nil {
			t.Errorf("got %v with a context that has ended", item)
		}
		mustBeValid(t, q)
		if got := drain(t, q); !slices.Equal(got, []string{"a"}) {
			t.Errorf("left are %q, want a", got)
		}
	})
}

// Contract 10: a key comes, and wakes a worker whose context ends before it runs.
func TestWokenWorkerThatLeavesWakesAnother(t *testing.T) {
	for _, leaveFirst := range []bool{false, true} {
		t.Run(fmt.Sprint(leaveFirst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string](nil)
				defer q.ShutDown()
				leaving, leave := context.WithCancel(t.Context())
				left, got := make(chan error, 1), make(chan Item[string], 1)
				go func() {
					_, err := q.Get(leaving)
					left <- err
				}()
				synctest.Wait()
				go func() {
					item, _ := q.Get(t.Context())
					got <- item
				}()
				synctest.Wait()

				q.mu.Lock() // no worker gets on before both have happened
				if leaveFirst {
					leave()
				}
				q.dueLocked(q.newEntryLocked("a", ""), q.nowLocked(true))
				leave()
				q.mu.Unlock()
				synctest.Wait()

				if err := <-left; !errors.Is(err, context.Canceled) {
					t.Errorf("the first got %v, want its context's error", err)
				}
				select {
				case item := <-got:
					if item.Key != "a" {
						t.Errorf("the second got %v", item)
					}
				default:
					t.Error("the second sleeps on")
				}
				mustBeValid(t, q)
			})
		})
	}
}

// As many workers come as there are keys, before any is done.
func TestEachKeyWakesAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](nil)
		defer q.ShutDown()
		got := make(chan int, 3)
		for range 3 {
			go func() {
				item, _ := q.Get(t.Context())
				got <- item.Key
			}()
		}
		synctest.Wait()
		q.AddAfter(1, time.Second)
		q.AddAfter(2, time.Second)
		q.AddAfter(3, time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		mustBeValid(t, q)
		if len(got) != 3 {
			t.Errorf("%d workers got a key, want 3", len(got))
		}
	})
}

// What is ready depends on the time, not on when the timer's goroutine runs.
// Here it never does.
func TestLateTimer(t *testing.T) {
	for _, tt := range []struct {
		name string
		look func(*Queue[string])
		want []string
	}{
		{"Len", func(q *Queue[string]) { q.Len() }, []string{"delayed"}},
		{"Add", func(q *Queue[string]) { q.Add("a") }, []string{"delayed", "a"}},
		{"Done", func(q *Queue[string]) { q.Done("busy") }, []string{"delayed", "busy"}},
		{"ShutDown", func(q *Queue[string]) { q.ShutDown() }, []string{"delayed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(&Options[string]{Metrics: &counts{}})
				defer q.ShutDown()
				q.Add("busy")
				mustGet(t, q)
				q.Add("busy")
				q.AddAfter("delayed", time.Second)
				due := time.Now().Add(time.Second)
				q.mu.Lock()
				q.timer.Stop()
				q.mu.Unlock()
				time.Sleep(time.Minute)

				tt.look(q)
				var got []string
				for _, item := range q.Snapshot().Ready {
					got = append(got, item.Key)
					if item.Key == "delayed" && !item.Since.Equal(due) {
						t.Errorf("ready since %v, want %v", item.Since, due)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("ready are %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// Contract 10: workers come and go, and no key is left lying.
func TestImpatientWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](nil)
		const n = 2000
		ctx, stop := context.WithCancel(t.Context())
		taken := make(chan int, n)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					ctx, cancel := context.WithTimeout(ctx, time.Duration(1+w%3)*time.Millisecond)
					if item, err := q.Get(ctx); err == nil {
						q.Done(item.Key)
						taken <- item.Key
					}
					cancel()
				}
			})
		}
		for key := range n {
			q.Add(key)
			if key%5 == 0 {
				time.Sleep(time.Millisecond) // just when some give up
			}
		}
		seen := map[int]bool{}
		for range n {
			seen[<-taken] = true
		}
		stop()
		wg.Wait()
		mustBeValid(t, q)
		if len(seen) != n {
			t.Errorf("%d keys came out, want %d", len(seen), n)
		}
		q.ShutDown()
	})
}
