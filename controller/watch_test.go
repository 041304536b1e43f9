package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/controller"

	corev1 "k8s.io/api/core/v1"
)

// named is a source with a name.
type named struct {
	controller.SourceFunc[string]
	name string
}

func (n named) String() string { return n.name }

// Contract 2.
func TestNoReconcileBeforeEverySourceHasSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[string]{}
		slow := controller.SourceFunc[string](func(ctx context.Context, q controller.Adder[string], synced func()) error {
			time.Sleep(time.Minute)
			q.Add("slow")
			synced()
			synced() // once is enough, twice does no harm
			<-ctx.Done()
			return nil
		})
		over := controller.SourceFunc[string](func(_ context.Context, q controller.Adder[string], _ func()) error {
			q.Add("over") // ends at once: there is nothing to wait for
			return nil
		})
		start(t, r, nil, source("fast"), slow, over)
		settle(time.Minute - time.Nanosecond)
		if len(r.all()) != 0 {
			t.Errorf("reconciled %q before all had synced", r.all())
		}
		settle(time.Nanosecond)
		if keys := slices.Sorted(slices.Values(r.all())); !slices.Equal(keys, []string{"fast", "over", "slow"}) {
			t.Errorf("reconciled %q", r.all())
		}
	})
}

// Case 23b and 23d; contract 2.
func TestSourceThatDoesNotSyncEndsTheControllerAndSaysWhy(t *testing.T) {
	forbidden := errors.New(`secrets is forbidden: User "x" cannot list`)
	polite := controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], _ func()) error {
		<-ctx.Done()
		return forbidden
	})
	silent := controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], _ func()) error {
		<-ctx.Done()
		return nil
	})
	release := make(chan struct{})
	deaf := controller.SourceFunc[string](func(context.Context, controller.Adder[string], func()) error {
		<-release
		return nil
	})
	for _, tt := range []struct {
		name    string
		sources []controller.Source[string]
		want    []string
		wantIs  error
		most    time.Duration
	}{
		{"it knows why", []controller.Source[string]{source("a"), named{polite, "kind Secret"}},
			[]string{`controller "test"`, "source kind Secret", "5s", "forbidden"}, forbidden, 5 * time.Second},
		{"it does not know why", []controller.Source[string]{named{silent, "kind Silent"}},
			[]string{"source kind Silent", "not synced within 5s"}, nil, 5 * time.Second},
		{"two of them", []controller.Source[string]{named{polite, "kind Secret"}, named{silent, "kind Silent"}},
			[]string{"source kind Secret", "source kind Silent"}, forbidden, 5 * time.Second},
		{"it does not listen", []controller.Source[string]{source("a"), named{deaf, "my source"}},
			[]string{`controller "test"`, "source my source", "takes no notice"}, nil, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				defer close(release)
				r := &recorder[string]{}
				c := start(t, r, &controller.Options[string]{CacheSyncTimeout: 5 * time.Second}, tt.sources...)
				begin := time.Now()
				err := <-c.done
				if err == nil {
					t.Fatal("Start returned nil")
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error has no %q: %v", want, err)
					}
				}
				if tt.wantIs != nil && !errors.Is(err, tt.wantIs) {
					t.Errorf("the reason is not wrapped: %v", err)
				}
				if took := time.Since(begin); took < 5*time.Second || took > tt.most {
					t.Errorf("it took %v", took)
				}
				if len(r.all()) != 0 {
					t.Errorf("reconciled %q", r.all())
				}
			})
		})
	}
}

// Case 23c.
func TestStopWhileSyncingIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], _ func()) error {
			<-ctx.Done()
			return fmt.Errorf("not synced: %w", ctx.Err())
		})
		c := start(t, &recorder[string]{}, nil, never)
		time.Sleep(time.Second)
		if err := c.stop(); err != nil {
			t.Errorf("Start returned %v", err)
		}
	})
}

func TestDefaultCacheSyncTimeoutIsTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], _ func()) error {
			<-ctx.Done()
			return nil
		})
		begin := time.Now()
		c := start(t, &recorder[string]{}, nil, never)
		if err := <-c.done; err == nil || time.Since(begin) != 2*time.Minute {
			t.Errorf("Start returned %v after %v", err, time.Since(begin))
		}
	})
}

// Contract 2: no events are lost in silence.
func TestSourceThatFailsEndsTheController(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		run  func(synced func()) error
		want string
	}{
		{"before it synced", func(func()) error { return boom }, "boom"},
		{"after it synced", func(synced func()) error { synced(); time.Sleep(time.Minute); return boom }, "boom"},
		{"by a panic", func(func()) error { panic("ouch") }, "panic: ouch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := controller.SourceFunc[string](func(_ context.Context, _ controller.Adder[string], synced func()) error {
					return tt.run(synced)
				})
				c := start(t, &recorder[string]{}, nil, named{src, "my source"}, source("a"))
				err := <-c.done
				if err == nil || !strings.Contains(err.Error(), `controller "test": source my source: `+tt.want) {
					t.Errorf("Start returned %v", err)
				}
			})
		})
	}
}

// Case 38; contract 6.
func TestWatchFromInsideReconcileStartsPromptlyAndBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[string]{}
		never := controller.SourceFunc[string](func(ctx context.Context, _ controller.Adder[string], _ func()) error {
			<-ctx.Done()
			return errors.New("never synced")
		})
		var itself atomic.Pointer[running[string]]
		c := start(t, controller.Func[string](func(ctx context.Context, key string) (controller.Result, error) {
			if key == "a" {
				for _, s := range []controller.Source[string]{never, source("late")} {
					if _, err := itself.Load().Watch(s); err != nil {
						t.Error(err)
					}
				}
			}
			return r.Reconcile(ctx, key)
		}), nil, controller.SourceFunc[string](func(ctx context.Context, q controller.Adder[string], synced func()) error {
			time.Sleep(time.Second)
			return source("a", "b").Run(ctx, q, synced)
		}))
		itself.Store(c)
		time.Sleep(time.Second)
		begin := time.Now()
		synctest.Wait()
		if !slices.Equal(r.all(), []string{"a", "b", "late"}) || time.Since(begin) != 0 {
			t.Errorf("reconciled %q in %v", r.all(), time.Since(begin))
		}
		time.Sleep(time.Hour) // a late source has as long as it needs
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		if log := c.logs.String(); strings.Contains(log, "Source failed") {
			t.Errorf("the end of a source with its controller was logged as a failure:\n%s", log)
		}
	})
}

// Contract 6.
func TestLateSourceThatFailsIsItsHandlesMatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[string]{}
		c := start(t, r, nil, source("a"))
		synctest.Wait()
		boom := errors.New("boom")
		h, err := c.Watch(controller.SourceFunc[string](func(context.Context, controller.Adder[string], func()) error { return boom }))
		if err != nil {
			t.Fatal(err)
		}
		<-h.Done()
		if err := h.Err(); !errors.Is(err, boom) || !strings.Contains(err.Error(), `controller "test": source `) {
			t.Errorf("Err is %v", err)
		}
		if !strings.Contains(c.logs.String(), "Source failed") {
			t.Error("the failure was not logged")
		}
		if err := c.stop(); err != nil {
			t.Errorf("it ended the controller: %v", err)
		}
	})
}

// Contract 6.
func TestStopOfAWatchEndsItsEventsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[string]{}
		var ended atomic.Bool
		ticker := controller.SourceFunc[string](func(ctx context.Context, q controller.Adder[string], synced func()) error {
			synced()
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					time.Sleep(time.Second) // cleaning up
					ended.Store(true)
					return ctx.Err()
				case <-time.After(time.Second):
					q.Add(fmt.Sprint(i))
				}
			}
		})
		c := start(t, r, nil)
		h, err := c.Watch(ticker)
		if err != nil {
			t.Fatal(err)
		}
		<-h.Synced()
		time.Sleep(2500 * time.Millisecond)
		h.Stop()
		h.Stop() // harmless
		if !ended.Load() {
			t.Error("Stop returned before the source had ended")
		}
		if err := h.Err(); err != nil {
			t.Errorf("Err of a stopped watch is %v", err)
		}
		settle(time.Minute)
		if !slices.Equal(r.all(), []string{"0", "1"}) {
			t.Errorf("reconciled %q", r.all())
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStopOfAWatchBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[string]{}
		c, err := controller.NewUnmanaged("test", r, nil)
		if err != nil {
			t.Fatal(err)
		}
		stopped, err := c.Watch(source("stopped"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Watch(source("kept")); err != nil {
			t.Fatal(err)
		}
		stopped.Stop()
		ctx, _ := logContext()
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- c.Start(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil || !slices.Equal(r.all(), []string{"kept"}) {
			t.Errorf("Start returned %v, reconciled %q", err, r.all())
		}
	})
}

func TestWatchAfterTheEndIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, &recorder[string]{}, nil, source("a"))
		if err := c.stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Watch(source("b")); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("Watch returned %v", err)
		}
	})
}

func TestWatchReportsMistakes(t *testing.T) {
	c, err := controller.NewUnmanaged("test", &recorder[controller.Request]{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan controller.GenericEvent)
	object := controller.EnqueueRequestForObject{}
	for name, src := range map[string]controller.Source[controller.Request]{
		"source is nil":      nil,
		"function is nil":    controller.SourceFunc[controller.Request](nil),
		"needs a channel":    controller.Channel(nil, object),
		"needs an event han": controller.Channel[controller.Request](events, nil),
		"predicate is nil":   controller.Channel(events, object, nil),
		"needs a cache":      controller.Kind(nil, pod("", ""), object),
	} {
		if _, err := c.Watch(src); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `controller "test"`) {
			t.Errorf("Watch returned %v, want an error with %q", err, name)
		}
	}
}

// Case 38.
func TestChannelHandlesWhatWasThereAndAllThatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder[controller.Request]{}
		events := make(chan controller.GenericEvent, 3)
		for i := range 3 {
			events <- controller.GenericEvent{Object: pod("ns", fmt.Sprint("early-", i))}
		}
		var handled atomic.Int32
		slow := controller.HandlerFuncs[controller.Request]{GenericFunc: func(_ context.Context, e controller.GenericEvent, q controller.Adder[controller.Request]) {
			time.Sleep(time.Millisecond)
			handled.Add(1)
			q.Add(controller.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		}}
		c := start(t, r, nil)
		h, err := c.Watch(controller.Channel(events, slow))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2000 {
			events <- controller.GenericEvent{Object: pod("ns", fmt.Sprint("late-", i))}
		}
		close(events)
		<-h.Done() // closing ends the source quietly
		if h.Err() != nil || handled.Load() != 2003 {
			t.Errorf("source ended with %v after %d events", h.Err(), handled.Load())
		}
		synctest.Wait()
		if len(r.all()) != 2003 {
			t.Errorf("%d reconciles", len(r.all()))
		}
		// The controller lives on.
		if _, err := c.Watch(source(request("ns", "more"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(r.all()) != 2004 {
			t.Errorf("%d reconciles after another event", len(r.all()))
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Case 38: otherwise each of the two would get some of the events.
func TestChannelOfTwoControllersIsAClearError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := controller.Channel(make(chan controller.GenericEvent), controller.EnqueueRequestForObject{})
		first := start(t, &recorder[controller.Request]{}, nil, src)
		synctest.Wait()
		second := start(t, &recorder[controller.Request]{}, nil, src)
		if err := <-second.done; err == nil || !strings.Contains(err.Error(), "in use by another controller") {
			t.Errorf("the second controller ended with %v", err)
		}
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		third := start(t, &recorder[controller.Request]{}, nil, src) // it is free again
		synctest.Wait()
		if err := third.stop(); err != nil {
			t.Error(err)
		}
	})
}

// Case 21; contract 4.
func TestPanicOfHandlerOrPredicateCostsNoLaterEvent(t *testing.T) {
	predicate := controller.NewPredicateFuncs(func(o client.Object) bool {
		if o.GetName() == "bad-predicate" {
			panic("predicate panics")
		}
		return true
	})
	handler := controller.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []controller.Request {
		if o.GetName() == "bad-map" {
			var none *corev1.Pod
			return []controller.Request{request("ns", none.Name)}
		}
		return []controller.Request{request("ns", o.GetName())}
	})
	synctest.Test(t, func(t *testing.T) {
		events := make(chan controller.GenericEvent)
		r := &recorder[controller.Request]{}
		c := start(t, r, nil, controller.Channel(events, handler, predicate))
		for _, name := range []string{"a", "bad-map", "b", "bad-predicate", "c"} {
			events <- controller.GenericEvent{Object: pod("ns", name)}
		}
		events <- controller.GenericEvent{} // no object: logged, no more
		synctest.Wait()
		// A reconcile too many does no harm, one too few does.
		want := []controller.Request{request("ns", "a"), request("ns", "b"), request("ns", "bad-predicate"), request("ns", "c")}
		if !slices.Equal(r.all(), want) {
			t.Errorf("reconciled %v, want %v", r.all(), want)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"predicate panics", `object="ns/bad-predicate"`, "nil pointer", `object="ns/bad-map"`,
			`source="channel"`, `event="generic"`, "watch_test.go", "Event without object"} {
			if !strings.Contains(c.logs.String(), want) {
				t.Errorf("log has no %s:\n%s", want, c.logs.String())
			}
		}
	})
}

func TestManyWatchesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reconciled atomic.Int32
		c := start(t, controller.Func[string](func(context.Context, string) (controller.Result, error) {
			reconciled.Add(1)
			return controller.Result{}, nil
		}), nil)
		for i := range 200 {
			h, err := c.Watch(source(fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			<-h.Synced()
			h.Stop()
		}
		synctest.Wait()
		if got := reconciled.Load(); got != 200 {
			t.Errorf("%d reconciles", got)
		}
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
}
