package informer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
)

// Case 14
func TestResyncReachesOnlyWhoAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "5", objects: []client.Object{obj("x", "5")}},
				{rv: "12", objects: []client.Object{obj("x", "9"), obj("y", "12")}},
			},
			watches: []stream{{after: time.Minute, err: expired()}, held()},
		}, Options{ResyncPeriod: time.Hour})
		asks := &recorder{}
		if _, err := f.AddHandler(asks, &HandlerOptions{Resync: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		f.handler.want(t, "initial x/5", "update x/5->9", "add y/12")
		asks.want(t, "initial x/5", "update x/5->9", "add y/12")
		time.Sleep(time.Hour)
		f.handler.want(t)
		heard := asks.take()
		slices.Sort(heard)
		if !slices.Equal(heard, []string{"update x/9->9", "update y/12->12"}) {
			t.Errorf("the resync told %q", heard)
		}
		f.stop()
	})
}

// Contract 8
func TestLateHandlerHearsASnapshotThenEveryLaterEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{
			lists:   []listing{{rv: "5", objects: []client.Object{obj("x", "5")}}},
			watches: []stream{{hold: true, more: more}},
		}, Options{})
		more <- modified("x", "6")
		synctest.Wait()
		late := &recorder{}
		r, err := f.AddHandler(late, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-r.Synced()
		late.want(t, "initial x/6")
		more <- modified("x", "7")
		more <- deleted("x", "8")
		synctest.Wait()
		late.want(t, "update x/6->7", "delete x/8")
		f.handler.want(t, "initial x/5", "update x/5->6", "update x/6->7", "delete x/8")
		f.stop()
	})
}

func TestRegistrationIsSyncedWhenItsInitialAddsAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{rv: "5", objects: []client.Object{obj("x", "5"), obj("y", "5")}, after: time.Second}},
			watches: []stream{held()},
		}, Options{})
		slow := &recorder{hook: func(string) { time.Sleep(time.Second) }}
		early, _ := f.AddHandler(slow, nil)
		if f.HasSynced() || early.HasSynced() {
			t.Error("synced before the list has ended")
		}
		<-f.Synced()
		late, _ := f.AddHandler(slow, nil)
		time.Sleep(1500 * time.Millisecond)
		if early.HasSynced() || late.HasSynced() {
			t.Error("synced before the last add has been handled")
		}
		time.Sleep(time.Second)
		if !early.HasSynced() || !late.HasSynced() {
			t.Error("not synced after the last add")
		}
		f.stop()
	})
}

// The first list of an empty kind syncs too.
func TestEmptyKindSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{lists: []listing{{rv: "5"}}, watches: []stream{held()}}, Options{})
		late, _ := f.AddHandler(&recorder{}, nil)
		synctest.Wait()
		if s := f.Status(); !f.HasSynced() || !late.HasSynced() || !s.Handlers[0].Synced {
			t.Errorf("not synced: %+v", s)
		}
		f.stop()
	})
}

// Contract 9, Case 20
func TestSlowHandlerDelaysNobodyAndGivesItsMemoryBack(t *testing.T) {
	const events = 50_000
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{
			lists:   []listing{{rv: "5", objects: []client.Object{obj("x", "5")}}},
			watches: []stream{{hold: true, more: more}},
		}, Options{})
		quick := 0
		f.AddHandler(HandlerFuncs{UpdateFunc: func(_, _ client.Object) { quick++ }}, nil)
		release, slow, last := make(chan struct{}), 0, ""
		f.AddHandler(HandlerFuncs{UpdateFunc: func(old, new client.Object) {
			<-release
			if slow++; last != "" && old.GetResourceVersion() != last {
				t.Errorf("update %d is from %s, want from %s", slow, old.GetResourceVersion(), last)
			}
			last = new.GetResourceVersion()
		}}, &HandlerOptions{Name: "slow"})
		before := heap()
		for n := range events {
			more <- modified("x", fmt.Sprint(100+n)) // unbuffered: the stream is read without a pause
		}
		synctest.Wait()
		if quick != events || f.store.rv != fmt.Sprint(100+events-1) {
			t.Errorf("the quick handler has heard %d of %d, the store is at %s", quick, events, f.store.rv)
		}
		if h := f.Status().Handlers; h[1].Lag != 0 || h[2].Name != "slow" || h[2].Lag != events {
			t.Errorf("the handlers' status is %+v", h)
		}
		backlog := heap()
		close(release)
		synctest.Wait()
		if slow != events {
			t.Errorf("the slow handler has heard %d of %d", slow, events)
		}
		f.handler.take()
		if after := heap(); backlog < before+events*100 || after > before+(backlog-before)/20 {
			t.Errorf("heap: %d before, %d with the backlog, %d after it; want most of it back", before, backlog, after)
		}
		f.stop()
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Contract 9, Case 21
func TestPanickingHandlerLosesOneEventAndNobodyElseAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, ctx := captureLog(t)
		server := &script{
			lists:   []listing{{rv: "5", objects: []client.Object{obj("x", "5"), obj("y", "5")}}},
			watches: []stream{held(modified("x", "6"), modified("x", "7"), modified("x", "8"))},
		}
		i := New(server, newMapStore(), &Options{Name: "pods"})
		bad, good := &recorder{}, &recorder{}
		bad.hook = func(what string) {
			if strings.HasSuffix(what, "y/5") || what == "update x/6->7" {
				panic("third event: " + what)
			}
		}
		r, _ := i.AddHandler(bad, nil)
		i.AddHandler(good, nil)
		stop := runWith(ctx, t, i)
		<-r.Synced() // although an initial add panicked
		synctest.Wait()
		bad.want(t, "initial x/5", "update x/5->6", "update x/7->8")
		good.want(t, "initial x/5", "initial y/5", "update x/5->6", "update x/6->7", "update x/7->8")
		if got := i.Status().Handlers[0].Panics; got != 2 {
			t.Errorf("Status counts %d panics, want 2", got)
		}
		logged := strings.Join(lines(), "\n")
		if !strings.Contains(logged, "third event: update x/6->7") || !strings.Contains(logged, "handler_test.go") || !strings.Contains(logged, "pods") {
			t.Errorf("the log does not say what panicked, and where: %s", logged)
		}
		stop()
	})
}

func TestRemoveWaitsForTheCallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{lists: []listing{{rv: "5"}}, watches: []stream{{hold: true, more: more}}}, Options{})
		release := make(chan struct{})
		h := &recorder{}
		h.hook = func(string) { <-release }
		r, _ := f.AddHandler(h, nil)
		more <- added("a", "6")
		more <- added("b", "7")
		synctest.Wait()
		removed := make(chan struct{})
		go func() { r.Remove(); close(removed) }()
		synctest.Wait()
		if closed(removed) {
			t.Error("Remove returned while a call was in flight")
		}
		close(release)
		<-removed
		h.want(t, "add a/6")
		more <- added("c", "8")
		synctest.Wait()
		h.want(t)
		f.handler.want(t, "add a/6", "add b/7", "add c/8")
		if got := len(f.Status().Handlers); got != 1 {
			t.Errorf("%d handlers left, want 1", got)
		}
		r.Remove() // harmless
		f.stop()
	})
}

func TestRemoveBeforeRunAndAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := New(&script{lists: []listing{{rv: "5"}}, watches: []stream{held()}}, newMapStore(), nil)
		first, _ := i.AddHandler(&recorder{}, nil)
		second, _ := i.AddHandler(&recorder{}, nil)
		first.Remove()
		stop := run(t, i)
		synctest.Wait()
		stop()
		second.Remove()
		if got := len(i.Status().Handlers); got != 0 {
			t.Errorf("%d handlers left", got)
		}
	})
}

// Contract 10
func TestRunAgainGoesOnFromWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "10", objects: []client.Object{obj("a", "3"), obj("b", "4")}},
				{rv: "20", objects: []client.Object{obj("a", "3"), obj("c", "15")}},
			},
			watches: []stream{held(modified("b", "11")), held(modified("a", "21"))},
		}, Options{})
		f.stop()
		between := &recorder{}
		r, _ := f.AddHandler(between, nil)
		synctest.Wait()
		if r.HasSynced() || len(between.take()) != 0 {
			t.Error("a handler is called while nothing runs")
		}
		stop := run(t, f.Informer)
		synctest.Wait()
		f.server.want(t, `list "0"`, `watch "10"`, `list "11"`, `watch "20"`)
		f.handler.want(t, "initial a/3", "initial b/4", "update b/4->11", "missed delete b/11", "add c/15", "update a/3->21")
		heard := between.take()
		slices.Sort(heard[:2])
		if !slices.Equal(heard, []string{"initial a/3", "initial b/11", "missed delete b/11", "add c/15", "update a/3->21"}) {
			t.Errorf("the handler that came between heard %q", heard)
		}
		f.wantStore(t, "[a/21 c/15] @21")
		stop()
	})
}

// A handler that was behind when Run ended hears the rest in the next Run.
func TestBacklogSurvivesAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{rv: "10"}, {rv: "13", objects: []client.Object{obj("a", "11"), obj("b", "12"), obj("c", "13")}}},
			watches: []stream{held(added("a", "11"), added("b", "12"), added("c", "13")), held()},
		}, Options{})
		slow := &recorder{hook: func(string) { time.Sleep(time.Second) }}
		f.AddHandler(slow, nil)
		synctest.Wait()
		f.stop()
		slow.take()
		stop := run(t, f.Informer)
		time.Sleep(time.Hour)
		if got := len(slow.take()); got != 2 {
			t.Errorf("%d events after the stop, want the 2 that were left", got)
		}
		stop()
	})
}

func TestTwoRunsAtOnceAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{lists: []listing{{rv: "5"}}, watches: []stream{held()}}, Options{})
		if err := f.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("the second Run returned %v, want %v", err, ErrRunning)
		}
		f.stop()
	})
}

func TestNilHandlerIsAnError(t *testing.T) {
	if _, err := New(nil, newMapStore(), nil).AddHandler(nil, nil); err == nil {
		t.Error("no error")
	}
}
