package workqueue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Contract 9, 11.
func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		q.Add("in flight")
		q.Add("ready")
		q.AddAfter("delayed", time.Hour)
		q.AddAfter("in flight", 2*time.Hour)
		mustGet(t, q)
		q.Add("in flight")
		q.ShutDown()
		mustBeValid(t, q)
		q.mu.Lock()
		if q.timer.Stop() {
			t.Error("the timer was still live")
		}
		q.mu.Unlock()

		// Nothing comes in, by any door.
		q.Add("a")
		q.AddAfter("b", time.Second)
		q.AddAfter("c", -time.Second)
		q.AddRateLimited("d")
		q.AddWith(AddOptions{Priority: 7}, "e")
		mustBeValid(t, q)

		if item := mustGet(t, q); item.Key != "ready" {
			t.Errorf("got %v, want what was ready", item)
		}
		q.Done("ready")
		if _, err := q.Get(t.Context()); !errors.Is(err, ErrShutDown) {
			t.Errorf("got %v, want ErrShutDown", err)
		}
		q.Done("in flight")
		if item := mustGet(t, q); item.Key != "in flight" {
			t.Errorf("got %v, want what was added while it was in flight", item)
		}
		q.Done("in flight")
		time.Sleep(24 * time.Hour)
		if _, err := q.Get(t.Context()); !errors.Is(err, ErrShutDown) {
			t.Errorf("got %v, want ErrShutDown", err)
		}
		q.ShutDown()
		mustBeValid(t, q)
	})
}

// Contract 9.
func TestShutDownWakesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](nil)
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := q.Get(context.Background())
				errs <- err
			}()
		}
		synctest.Wait()
		q.ShutDown()
		for range 3 {
			if err := <-errs; !errors.Is(err, ErrShutDown) {
				t.Errorf("got %v, want ErrShutDown", err)
			}
		}
		mustBeValid(t, q)
	})
}

// Contract 9; upstream returns at once when nothing is in flight, and leaves
// what is ready.
func TestShutDownWithDrain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(*Queue[string]) // before the workers come
		want  time.Duration        // a run takes a second, and there are two workers
	}{
		{"empty", func(*Queue[string]) {}, 0},
		{"ready, nothing in flight", func(q *Queue[string]) { q.AddWith(AddOptions{}, "a", "b", "c") }, 2 * time.Second},
		{"only delayed", func(q *Queue[string]) { q.AddAfter("a", time.Hour) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, start := New[string](nil), time.Now()
				tt.begin(q)
				var workers sync.WaitGroup
				for range 2 {
					workers.Go(func() {
						for {
							item, err := q.Get(context.Background())
							if err != nil {
								return
							}
							time.Sleep(time.Second)
							q.Done(item.Key)
						}
					})
				}
				var drains sync.WaitGroup // twice at a time is harmless
				for range 2 {
					drains.Go(func() {
						if err := q.ShutDownWithDrain(t.Context()); err != nil {
							t.Error(err)
						}
						if got := time.Since(start); got != tt.want {
							t.Errorf("drained after %v, want %v", got, tt.want)
						}
					})
				}
				drains.Wait()
				workers.Wait()
				mustBeValid(t, q)
			})
		})
	}
}

// Contract 9: a key that was added while in flight is drained too.
func TestShutDownWithDrainOfInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, start := New[string](nil), time.Now()
		q.Add("a")
		mustGet(t, q)
		q.Add("a")
		var worker sync.WaitGroup
		worker.Go(func() {
			time.Sleep(time.Second)
			q.Done("a")
			mustGet(t, q)
			time.Sleep(time.Second)
			q.Done("a")
		})
		if err := q.ShutDownWithDrain(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("drained after %v, want 2s", got)
		}
		worker.Wait()
	})
}

// Contract 9: a worker that is stuck holds up the drain no longer than ctx.
func TestShutDownWithDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(&Options[string]{Name: "replicas"})
		q.AddWith(AddOptions{}, "stuck", "ready")
		mustGet(t, q)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := q.ShutDownWithDrain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"replicas": 2 keys left`) {
			t.Errorf("got %v", err)
		}
		q.Add("late")
		if n := q.Len(); n != 1 {
			t.Errorf("Len is %d, want 1: it is shut down all the same", n)
		}
		q.Done("stuck")
		drain(t, q)
		for range 20 { // ctx has ended, so both may be chosen from
			if err := q.ShutDownWithDrain(ctx); err != nil {
				t.Fatalf("it is empty, but: %v", err)
			}
		}
	})
}
