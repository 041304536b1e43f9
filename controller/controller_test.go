package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/controller"

	"k8s.io/apimachinery/pkg/types"
)

// Contract 3: the table at Reconciler. Each row is what the second call returns;
// the first has failed, so that there is a back-off to forget or to keep.
func TestWhatFollowsAReconcile(t *testing.T) {
	const forgotten, grown = 5 * time.Millisecond, 20 * time.Millisecond
	boom := errors.New("boom")
	five := 5
	for _, tt := range []struct {
		name    string
		result  controller.Result
		err     error
		panics  bool
		again   time.Duration // until the third call; 0 means that it takes an event
		backoff time.Duration // what an error costs then
		counted counts        // of the second call
	}{
		{name: "success", counted: counts{success: 1}, backoff: forgotten},
		{name: "error", err: boom, again: 10 * time.Millisecond, backoff: grown, counted: counts{errors: 1}},
		{name: "error beside RequeueAfter", err: boom, result: controller.Result{RequeueAfter: time.Hour},
			again: 10 * time.Millisecond, backoff: grown, counted: counts{errors: 1}},
		{name: "error with priority", err: boom, result: controller.Result{Priority: &five},
			again: 10 * time.Millisecond, backoff: grown, counted: counts{errors: 1}},
		{name: "terminal error", err: fmt.Errorf("give up: %w", controller.TerminalError(boom)),
			backoff: forgotten, counted: counts{errors: 1, terminals: 1}},
		{name: "terminal error beside RequeueAfter", err: controller.TerminalError(boom), result: controller.Result{RequeueAfter: time.Second},
			backoff: forgotten, counted: counts{errors: 1, terminals: 1}},
		{name: "panic", panics: true, again: 10 * time.Millisecond, backoff: grown, counted: counts{errors: 1, panics: 1}},
		{name: "RequeueAfter", result: controller.Result{RequeueAfter: time.Minute},
			again: time.Minute, backoff: forgotten, counted: counts{requeueAfter: 1}},
		{name: "negative RequeueAfter", result: controller.Result{RequeueAfter: -time.Minute}, backoff: forgotten, counted: counts{success: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls journal[time.Time]
				events := make(chan controller.GenericEvent, 1)
				metrics := &fakeMetrics{}
				c := start(t, controller.Func[controller.Request](func(context.Context, controller.Request) (controller.Result, error) {
					switch calls.add(time.Now()) {
					case 1, 3:
						return controller.Result{}, boom
					case 2:
						if tt.panics {
							panic(boom)
						}
						return tt.result, tt.err
					}
					return controller.Result{}, nil
				}), &controller.Options[controller.Request]{Metrics: metrics}, controller.Channel(events, controller.EnqueueRequestForObject{}))

				events <- controller.GenericEvent{Object: pod("ns", "a")}
				settle(5 * time.Millisecond)
				tt.counted.errors++ // of the first call
				tt.counted.mostActive, tt.counted.maxConcurrentSaid = 1, 1
				if got := metrics.counts(); got != tt.counted {
					t.Errorf("counted %+v, want %+v", got, tt.counted)
				}
				settle(30 * time.Minute)
				if tt.again == 0 {
					if n := len(calls.all()); n != 2 {
						t.Fatalf("%d calls, want 2", n)
					}
					events <- controller.GenericEvent{Object: pod("ns", "a")}
					settle(30 * time.Minute)
				}
				at := calls.all()
				if len(at) != 4 {
					t.Fatalf("%d calls, want 4", len(at))
				}
				if got := at[2].Sub(at[1]); tt.again > 0 && got != tt.again {
					t.Errorf("called again after %v, want %v", got, tt.again)
				}
				if got := at[3].Sub(at[2]); got != tt.backoff {
					t.Errorf("an error then costs %v, want %v", got, tt.backoff)
				}
				if err := c.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Contract 3 and 8: a retry is as urgent as the first try, unless told otherwise.
func TestRetryKeepsPriority(t *testing.T) {
	low, high := controller.LowPriority, 7
	for _, tt := range []struct {
		name   string
		result controller.Result
		err    error
		want   string
	}{
		// "old" comes from the initial list; "new" is an ordinary event, and
		// both are ready when the worker is free again.
		{"error at low priority stays behind", controller.Result{}, errors.New("boom"), "old new old"},
		{"RequeueAfter at low priority stays behind", controller.Result{RequeueAfter: time.Millisecond}, nil, "old new old"},
		{"error raised", controller.Result{Priority: &high}, errors.New("boom"), "old old new"},
		{"RequeueAfter raised", controller.Result{RequeueAfter: time.Millisecond, Priority: &high}, nil, "old old new"},
		{"RequeueAfter lowered on purpose", controller.Result{RequeueAfter: time.Millisecond, Priority: &low}, nil, "old new old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order journal[string]
				var blocker atomic.Bool
				src := controller.SourceFunc[string](func(ctx context.Context, q controller.Adder[string], synced func()) error {
					h := controller.HandlerFuncs[string]{CreateFunc: func(_ context.Context, e controller.CreateEvent, q controller.Adder[string]) {
						q.Add(e.Object.GetName())
					}}
					h.Create(ctx, controller.CreateEvent{Object: pod("ns", "old"), IsInInitialList: true}, q)
					synced()
					time.Sleep(time.Second)
					q.Add("block") // keeps the only worker while the others become ready
					time.Sleep(time.Second)
					h.Create(ctx, controller.CreateEvent{Object: pod("ns", "new")}, q)
					<-ctx.Done()
					return nil
				})
				start(t, controller.Func[string](func(_ context.Context, key string) (controller.Result, error) {
					if key == "block" {
						time.Sleep(time.Minute)
						return controller.Result{}, nil
					}
					order.add(key)
					if key == "old" && blocker.CompareAndSwap(false, true) {
						time.Sleep(time.Second) // so that "block" comes before the retry
						return tt.result, tt.err
					}
					return controller.Result{}, nil
				}), nil, src)
				settle(10 * time.Minute)
				if got := strings.Join(order.all(), " "); got != tt.want {
					t.Errorf("order is %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func nilMap() map[string]int { return nil }

// Case 37; contract 4.
func TestPanickingKeyCostsNoOtherKey(t *testing.T) {
	for name, panics := range map[string]func(){
		"nil map": func() { nilMap()["a"] = 1 },
		"error":   func() { panic(errors.New("an error value")) },
		"string":  func() { panic("a string") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var good journal[string]
				var tries journal[time.Time]
				metrics := &fakeMetrics{}
				c := start(t, controller.Func[controller.Request](func(_ context.Context, key controller.Request) (controller.Result, error) {
					if key.Name == "bad" {
						tries.add(time.Now())
						panics()
					}
					good.add(key.Name)
					return controller.Result{}, nil
				}), &controller.Options[controller.Request]{Metrics: metrics},
					source(request("ns", "bad"), request("ns", "g1"), request("ns", "g2"), request("ns", "g3")))

				settle(time.Second)
				bad := tries.all()
				if !slices.Equal(good.all(), []string{"g1", "g2", "g3"}) {
					t.Errorf("the good keys reconciled: %q", good.all())
				}
				if len(bad) < 5 {
					t.Fatalf("the bad key was tried %d times in a second", len(bad))
				}
				for i := 2; i < len(bad); i++ {
					if bad[i].Sub(bad[i-1]) <= bad[i-1].Sub(bad[i-2]) {
						t.Errorf("try %d came %v after the last, no later than the one before", i, bad[i].Sub(bad[i-1]))
					}
				}
				want := counts{success: 3, errors: len(bad), panics: len(bad), mostActive: 1, maxConcurrentSaid: 1}
				if got := metrics.counts(); got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
				if log := c.logs.String(); !strings.Contains(log, "controller_test.go") || !strings.Contains(log, "ns/bad") {
					t.Errorf("log has no stack or no request:\n%s", log)
				}
				if err := c.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Case 37: with recovery switched off the process dies with the original value.
func TestPanicEndsTheProcessWhenNotRecovered(t *testing.T) {
	if os.Getenv("CONTROLLER_TEST_PANIC") != "" {
		no := false
		c, err := controller.NewUnmanaged("test", controller.Func[string](func(context.Context, string) (controller.Result, error) {
			panic("the original value")
		}), &controller.Options[string]{RecoverPanic: &no})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Watch(source("a")); err != nil {
			t.Fatal(err)
		}
		t.Fatal("survived: ", c.Start(t.Context()))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=10s")
	cmd.Env = append(os.Environ(), "CONTROLLER_TEST_PANIC=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: the original value") || strings.Contains(string(out), "survived") {
		t.Errorf("process ended with %v and said:\n%s", err, out)
	}
}

// Contract 1.
func TestWorkersShareTheKeysAndNeverAKey(t *testing.T) {
	for _, tt := range []struct{ asked, want int }{{0, 1}, {-1, 1}, {1, 1}, {4, 4}} { // Case 38: 0 and -1
		t.Run(fmt.Sprint(tt.asked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				metrics := &fakeMetrics{}
				var mu sync.Mutex
				with := map[string]bool{}
				var keys []string
				for i := range 10 {
					keys = append(keys, fmt.Sprint(i), fmt.Sprint(i))
				}
				start(t, controller.Func[string](func(_ context.Context, key string) (controller.Result, error) {
					mu.Lock()
					if with[key] {
						t.Errorf("%s is with two workers", key)
					}
					with[key] = true
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					with[key] = false
					mu.Unlock()
					return controller.Result{}, nil
				}), &controller.Options[string]{MaxConcurrentReconciles: tt.asked, Metrics: metrics}, source(keys...))
				settle(time.Minute)
				want := counts{success: 10, mostActive: tt.want, maxConcurrentSaid: tt.want}
				if got := metrics.counts(); got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
			})
		})
	}
}

func TestReconcileHasIDAndLoggerInItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal[types.UID]
		c := start(t, controller.Func[controller.Request](func(ctx context.Context, key controller.Request) (controller.Result, error) {
			seen.add(controller.ReconcileIDFromContext(ctx))
			return controller.Result{}, errors.New("boom")
		}), nil, source(request("ns", "a")))
		settle(6 * time.Millisecond)
		if err := c.stop(); err != nil {
			t.Fatal(err)
		}
		ids := seen.all()
		if len(ids) != 2 || ids[0] == "" || ids[0] == ids[1] {
			t.Errorf("reconcile IDs are %q", ids)
		}
		for _, want := range []string{`controller="test"`, `object="ns/a"`, fmt.Sprintf(`reconcileID="%s"`, ids[0]), "boom"} {
			if !strings.Contains(c.logs.String(), want) {
				t.Errorf("log has no %s:\n%s", want, c.logs.String())
			}
		}
		if id := controller.ReconcileIDFromContext(t.Context()); id != "" {
			t.Errorf("there is an ID outside of a reconcile: %q", id)
		}
	})
}

func TestReconciliationTimeoutEndsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		var cause error
		start(t, controller.Func[string](func(ctx context.Context, _ string) (controller.Result, error) {
			begin := time.Now()
			<-ctx.Done()
			took, cause = time.Since(begin), context.Cause(ctx)
			return controller.Result{}, nil
		}), &controller.Options[string]{ReconciliationTimeout: 3 * time.Second}, source("a"))
		settle(time.Minute)
		if took != 3*time.Second || cause == nil || !strings.Contains(cause.Error(), "ReconciliationTimeout") {
			t.Errorf("context ended after %v because of %v", took, cause)
		}
	})
}

// Case 42d; contract 5.
func TestStopCancelsAndAwaitsReconcilesAndBeginsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, ended int
		c := start(t, controller.Func[string](func(ctx context.Context, _ string) (controller.Result, error) {
			calls++
			<-ctx.Done()
			time.Sleep(time.Second) // cleaning up
			ended++
			return controller.Result{}, ctx.Err()
		}), nil, source("a", "b", "c"))
		synctest.Wait()
		begin := time.Now()
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		if calls != 1 || ended != 1 || time.Since(begin) != time.Second {
			t.Errorf("%d reconciles began and %d ended; stop took %v", calls, ended, time.Since(begin))
		}
		if log := c.logs.String(); strings.Contains(log, "Reconcile failed") {
			t.Errorf("the end was logged as a failure:\n%s", log)
		}
	})
}

// Contract 5.
func TestStopAwaitsTheSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, &recorder[string]{}, nil, controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], synced func()) error {
			synced()
			<-ctx.Done()
			time.Sleep(time.Second) // cleaning up
			return nil
		}))
		synctest.Wait()
		begin := time.Now()
		if err := c.stop(); err != nil || time.Since(begin) != time.Second {
			t.Errorf("Start returned %v after %v", err, time.Since(begin))
		}
	})
}

// Case 38.
func TestSecondStartIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, controller.Func[string](func(context.Context, string) (controller.Result, error) {
			return controller.Result{}, nil
		}), nil, source("a"))
		synctest.Wait()
		if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), `"test"`) {
			t.Errorf("second Start returned %v", err)
		}
		if err := c.stop(); err != nil {
			t.Errorf("the first Start was disturbed: %v", err)
		}
		if err := c.Start(t.Context()); err == nil {
			t.Error("Start after the end returned nil")
		}
	})
}

func TestNewUnmanagedReportsWhatIsMissing(t *testing.T) {
	if _, err := controller.NewUnmanaged("", controller.Func[string](nil), nil); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("without a name: %v", err)
	}
	if _, err := controller.NewUnmanaged[string]("test", nil, nil); err == nil || !strings.Contains(err.Error(), "reconciler") {
		t.Errorf("without a reconciler: %v", err)
	}
	if _, err := controller.New[string]("test", nil, controller.Func[string](nil), nil); err == nil || !strings.Contains(err.Error(), "manager") {
		t.Errorf("without a manager: %v", err)
	}
}

func TestOptionsAreNotWrittenTo(t *testing.T) {
	o := controller.Options[string]{}
	if _, err := controller.NewUnmanaged("test", controller.Func[string](nil), &o); err != nil {
		t.Fatal(err)
	}
	if o.MaxConcurrentReconciles != 0 || o.CacheSyncTimeout != 0 || o.Metrics != nil || o.RateLimiter != nil || o.RecoverPanic != nil {
		t.Errorf("options are now %+v", o)
	}
}
