package manager_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/manager"

	"k8s.io/klog/v2"
)

// Case 41. Contract 1, 2. Added in the wrong order on purpose.
func TestGroupsStartInOrderAndStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		var seen trace
		pods := &syncing{work{name: "pods", trace: &seen, stop: time.Second}, make(chan struct{})}
		add(t, m, &work{name: "controller", trace: &seen, stop: time.Second, leader: true})
		add(t, m, &work{name: "other", trace: &seen, stop: time.Second})
		add(t, m, pods)
		stop := start(t, m)

		time.Sleep(time.Minute)
		select {
		case <-m.Elected():
			t.Error("elected although a cache has not synced")
		default:
		}
		close(pods.synced)
		<-m.Elected()
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		want := []string{
			"start pods", "synced pods", "start other", "start controller",
			"stopping controller", "end controller", "stopping other", "end other", "stopping pods", "end pods",
		}
		if got := seen.all(); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestWhoHasNotSyncedIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		add(t, m, &syncing{work{name: "pods", trace: new(trace)}, make(chan struct{})})
		seen := new(logs)
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.New(seen)), time.Minute)
		defer cancel()
		began := time.Now()
		// Contract 4: cancelled while syncing is no error, and prompt.
		if err := m.Start(ctx); err != nil {
			t.Error(err)
		}
		wantTook(t, began, time.Minute)
		n := 0
		for _, line := range seen.all() {
			if strings.Contains(line, "pods is forbidden") {
				n++
			}
		}
		if n < 5 || n > 6 {
			t.Errorf("logged %d times in a minute, want every 10 s: %q", n, seen.all())
		}
	})
}

// Case 42 a. Contract 5.
func TestGracePeriodExceededNamesWhoStillRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, grace(time.Second))
		var seen trace
		late := add(t, m, &work{name: "straggler", trace: &seen, stop: 3 * time.Second, err: errors.New("late"), leader: true})
		add(t, m, &work{name: "polite", trace: &seen})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		began := time.Now()
		err := stop()
		wantTook(t, began, time.Second)
		wantError(t, err, "grace period", "1s", `"straggler"`)
		if !errors.Is(err, manager.ErrGracePeriodExceeded) {
			t.Errorf("%v is not ErrGracePeriodExceeded", err)
		}
		if strings.Contains(err.Error(), "polite") {
			t.Errorf("%v names one that has stopped", err)
		}
		if !slices.Contains(seen.all(), "end polite") {
			t.Error("the other group was not told to stop")
		}
		<-late.Done()
		wantTook(t, began, 3*time.Second)
		wantError(t, late.Err(), "late", "straggler")
	})
}

// Case 42 b.
func TestZeroGracePeriodWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, grace(0))
		late := add(t, m, &work{name: "late", trace: new(trace), stop: 3 * time.Second})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantTook(t, began, 0)
		<-late.Done()
		wantTook(t, began, 3*time.Second)
	})
}

// Case 42 c.
func TestNegativeGracePeriodWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, grace(-1))
		add(t, m, &work{name: "slow", trace: new(trace), stop: time.Hour})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantTook(t, began, time.Hour)
	})
}

// Case 42 d: what is at work when the manager is told to stop gets to end, and
// its client and cache go on until then.
func TestWorkInFlightIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		var seen trace
		add(t, m, &syncing{work{name: "cache", trace: &seen}, closed()})
		add(t, m, &work{name: "reconcile", trace: &seen, stop: time.Second, leader: true})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantTook(t, began, time.Second)
		got := seen.all()
		if slices.Index(got, "end reconcile") > slices.Index(got, "stopping cache") {
			t.Errorf("the cache stopped under a reconcile: %q", got)
		}
	})
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Case 42 f. Contract 4.
func TestCanceledIsAnErrorOnlyBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		add(t, m, &work{name: "w", trace: new(trace), err: fmt.Errorf("read: %w", context.Canceled)})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}

		m = newManager(t, nil)
		add(t, m, manager.RunnableFunc(func(context.Context) error { return context.Canceled }))
		if err := m.Start(quiet(t.Context())); !errors.Is(err, context.Canceled) {
			t.Errorf("nobody had cancelled it, yet Start returned %v", err)
		}
	})
}

// Case 42, the last point. Contract 5.
func TestNothingIsLoggedAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, grace(time.Second))
		add(t, m, &work{name: "straggler", trace: new(trace), stop: time.Minute, err: errors.New("late")})
		add(t, m, &syncing{work{name: "pods", trace: new(trace), stop: time.Minute}, make(chan struct{})})
		seen := new(logs)
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.New(seen)), 15*time.Second)
		defer cancel()
		if err := m.Start(ctx); !errors.Is(err, manager.ErrGracePeriodExceeded) {
			t.Error(err)
		}
		before := len(seen.all())
		time.Sleep(time.Hour)
		if after := seen.all(); len(after) != before {
			t.Errorf("logged after Start had returned: %q", after[before:])
		}
	})
}

// Contract 5: also who waits for a cache has ended.
func TestACacheHasEndedWhenNobodyWaitsForItAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		add(t, m, &tenacious{work{name: "pods", trace: new(trace)}})
		stop := start(t, m)
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantTook(t, began, time.Second)
	})
}

// tenacious is a cache that does not notice at once that nobody wants to know.
type tenacious struct{ work }

func (*tenacious) WaitForCacheSync(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(time.Second)
	return ctx.Err()
}

// Case 43. Contract 6.
func TestAddWhileRunningStartsAtOnceAndAfterStopIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		var seen trace
		first := &syncing{work{name: "first", trace: &seen}, make(chan struct{})}
		add(t, m, first)
		stop := start(t, m)
		synctest.Wait()
		// Its turn has not come.
		add(t, m, &work{name: "leader", trace: &seen, leader: true})
		synctest.Wait()
		if slices.Contains(seen.all(), "start leader") {
			t.Error("a leader started before its turn")
		}
		close(first.synced)
		<-m.Elected()
		// A second cache, late.
		add(t, m, &syncing{work{name: "second", trace: &seen}, closed()})
		add(t, m, &work{name: "late", trace: &seen, leader: true})
		synctest.Wait()
		for _, want := range []string{"start leader", "start second", "synced second", "start late"} {
			if !slices.Contains(seen.all(), want) {
				t.Errorf("no %q in %q", want, seen.all())
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := m.Add(&work{name: "too late", trace: &seen}); !errors.Is(err, manager.ErrStopped) {
			t.Errorf("Add after stop returned %v", err)
		}
	})
}

// Case 43. Contract 3, 5: on each side of Start and of the stop, each runnable is
// started once or refused, and ends.
func TestConcurrentAddsRacingStartAndStop(t *testing.T) {
	m := newManager(t, nil)
	var adds sync.WaitGroup
	var began, ended, refused atomic.Int64
	hammer := func() {
		for range 50 {
			adds.Go(func() {
				var once atomic.Bool
				_, err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
					if once.Swap(true) {
						t.Error("started twice")
					}
					began.Add(1)
					defer ended.Add(1)
					<-ctx.Done()
					return nil
				}))
				if err != nil {
					refused.Add(1)
				}
			})
		}
	}
	hammer()
	adds.Wait()
	if n := refused.Load(); n > 0 {
		t.Errorf("%d were refused before Start", n)
	}
	hammer()
	stop := start(t, m)
	hammer()
	<-m.Elected()
	hammer()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if began, ended := began.Load(), ended.Load(); began < 50 || began != ended {
		t.Errorf("%d began, %d ended", began, ended)
	}
	before := began.Load()
	adds.Wait()
	if after := began.Load(); after != before {
		t.Errorf("%d began after the end", after-before)
	}
}

// Case 43. Contract 7.
func TestStartTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		var seen trace
		add(t, m, &work{name: "w", trace: &seen})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		if err := m.Start(t.Context()); !errors.Is(err, manager.ErrStarted) {
			t.Errorf("at once: %v", err)
		}
		synctest.Wait()
		if got := seen.all(); !slices.Equal(got, []string{"start w"}) {
			t.Errorf("the first was disturbed: %q", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := m.Start(t.Context()); !errors.Is(err, manager.ErrStarted) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// Case 43. Contract 5.
func TestStartWithACancelledContextLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		var seen trace
		h := add(t, m, &work{name: "w", trace: &seen})
		ctx, cancel := context.WithCancel(quiet(t.Context()))
		cancel()
		if err := m.Start(ctx); err != nil {
			t.Error(err)
		}
		<-h.Done()
		if h.Err() != nil || len(seen.all()) > 0 {
			t.Errorf("err %v, happened: %q", h.Err(), seen.all())
		}
	})
}

// Case 43. Contract 4.
func TestHowARunnableEnds(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		run  func() error
		want []string // in Start's error; empty: the manager goes on
		is   error
	}{
		{"returns nil at once", func() error { return nil }, nil, nil},
		{"fails at once", func() error { return broken }, []string{"TestHowARunnableEnds", "broken"}, broken},
		{"fails later", func() error { time.Sleep(time.Hour); return broken }, []string{"broken"}, broken},
		{"panics", func() error { panic("no luck") }, []string{"TestHowARunnableEnds", "panic: no luck", "lifecycle_test.go"}, nil},
		{"panics with an error", func() error { panic(broken) }, []string{"panic: broken"}, broken},
		{"is ended by Goexit", func() error { runtime.Goexit(); return nil }, []string{"Goexit"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t, nil)
				var seen trace
				add(t, m, &work{name: "bystander", trace: &seen, stop: time.Second})
				h := add(t, m, manager.RunnableFunc(func(context.Context) error { return tt.run() }))
				ctx, cancel := context.WithTimeout(quiet(t.Context()), 24*time.Hour)
				defer cancel()
				err := m.Start(ctx)
				if len(tt.want) == 0 {
					if err != nil || ctx.Err() == nil {
						t.Errorf("the manager ended before its time, with %v", err)
					}
					return
				}
				wantError(t, err, tt.want...)
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%v does not wrap the cause", err)
				}
				if h.Err() == nil {
					t.Error("the handle knows of no error")
				}
				if ctx.Err() != nil {
					t.Error("the failure did not stop the manager")
				}
				if got := seen.all(); len(got) == 3 && got[2] != "end bystander" {
					t.Errorf("the others did not stop in order: %q", got)
				}
			})
		})
	}
}

func TestErrorsDuringTheStopAreReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, nil)
		add(t, m, &work{name: "a", trace: new(trace), err: errors.New("flush failed")})
		stop := start(t, m)
		<-m.Elected()
		synctest.Wait()
		wantError(t, stop(), `runnable "a"`, "flush failed")
	})
}
