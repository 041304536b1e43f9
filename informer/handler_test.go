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
		synctest.Wait() // no time has passed
		if quick != events || f.store.rv != fmt.Sprint(100+events-1) {
			t.Errorf("the quick handler has heard %d of %d, the store is at %s", quick, events, f.store.rv)
		}
		time.Sleep(time.Minute)
		if h := f.Status().Handlers; h[1].Lag != 0 || h[1].LagAge != 0 || h[2].Name != "slow" || h[2].Lag != events || h[2].LagAge != time.Minute {
			t.Errorf("the handlers' status is %+v", h)
		}
		backlog := heap()
		close(release)
		synctest.Wait()
		if slow != events {
			t.Errorf("the slow handler has heard %d of %d", slow, events)
		}
		f.handler.take()
		if after := heap(); backlog < before+events*100 || after > before+before/5+(backlog-before)/20 {
			// A twentieth, since a small heap is changed by whatever ran before.
			t.Errorf("heap: %d before, %d with the backlog, %d after it; want it back", before, backlog, after)
		}
		f.stop()
	})
}

// Contract 9, Case 20: the backlog of a handler that coalesces has a bound.
func TestBlockedHandlerThatCoalescesIsBehindByItsKeysAlone(t *testing.T) {
	const events, keys = 20_000, 100
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{
			lists:   []listing{{rv: "5", objects: []client.Object{obj("k0", "5")}}},
			watches: []stream{{hold: true, more: more}},
		}, Options{})
		f.handler.take()
		h, release := &recorder{}, make(chan struct{})
		h.hook = func(string) { <-release }
		r, _ := f.AddHandler(h, &HandlerOptions{Coalesce: true})
		bound := coalesceAfter + 2*keys + batchSize
		for n := range events {
			more <- modified(fmt.Sprintf("k%d", n%keys), fmt.Sprint(100+n))
			if n%1000 == 0 {
				synctest.Wait()
				if lag := f.Status().Handlers[1].Lag; lag > bound {
					t.Fatalf("after %d events the handler is %d behind, want at most %d", n+1, lag, bound)
				}
			}
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		heard := h.take()
		if len(heard) > bound || f.Status().Handlers[1].Lag != 0 || !r.HasSynced() {
			t.Errorf("heard %d of %d events, want at most %d; status %+v", len(heard), events, bound, f.Status().Handlers[1])
		}
		known := map[string]string{}
		for _, what := range heard {
			var name, from, to string
			if kind, rest, _ := strings.Cut(what, " "); kind == "update" {
				name, rest, _ = strings.Cut(rest, "/")
				from, to, _ = strings.Cut(rest, "->")
			} else {
				name, to, _ = strings.Cut(rest, "/")
			}
			if known[name] != from {
				t.Fatalf("%s, but of %s it knew %q", what, name, known[name])
			}
			known[name] = to
		}
		for n := range keys {
			if name := fmt.Sprintf("k%d", n); known[name] != fmt.Sprint(100+events-keys+n) {
				t.Errorf("of %s it knows %q", name, known[name])
			}
		}
		if got := len(f.handler.take()); got != events {
			t.Errorf("the other handler heard %d of %d events", got, events)
		}
		f.stop()
	})
}

// What a coalescing handler hears of one key when it was blocked meanwhile.
func TestMergedStories(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []client.Object
		deltas []Delta
		heard  []string
	}{
		{"add and updates", nil, []Delta{put(obj("x", "11")), put(obj("x", "12")), put(obj("x", "13"))}, []string{"add x/13"}},
		{"updates", []client.Object{obj("x", "5")}, []Delta{put(obj("x", "11")), put(obj("x", "12"))}, []string{"update x/5->12"}},
		{"update and delete", []client.Object{obj("x", "5")}, []Delta{put(obj("x", "11")), gone(obj("x", "12"))}, []string{"delete x/12"}},
		{"update and missed delete", []client.Object{obj("x", "5")}, []Delta{put(obj("x", "11")), replaced("12")}, []string{"missed delete x/11"}},
		// Others may have met it in the store: it must not end unheard.
		{"add and delete", nil, []Delta{put(obj("x", "11")), put(obj("x", "12")), gone(obj("x", "13"))}, []string{"add x/12", "delete x/13"}},
		{"add, delete, add", nil, []Delta{put(obj("x", "11")), gone(obj("x", "12")), put(obj("x", "13", "2"))}, []string{"add x/13"}},
		{"another UID", []client.Object{obj("x", "5")}, []Delta{put(obj("x", "11", "2")), put(obj("x", "12", "2"))}, []string{"missed delete x/5", "add x/12"}},
		{"the same UID, deleted and back", []client.Object{obj("x", "5")}, []Delta{gone(obj("x", "11")), put(obj("x", "12"))}, []string{"delete x/11", "add x/12"}},
		{"delete, add, delete", []client.Object{obj("x", "5")}, []Delta{gone(obj("x", "11")), put(obj("x", "12", "2")), gone(obj("x", "13", "2"))}, []string{"delete x/11"}},
		{"resync and update", []client.Object{obj("x", "5")}, []Delta{{Type: Resync}, put(obj("x", "11"))}, []string{"update x/5->11", "update x/11->11"}},
		{"update and resync", []client.Object{obj("x", "5")}, []Delta{put(obj("x", "11")), {Type: Resync}}, []string{"update x/5->11", "update x/11->11"}},
		{"resyncs", []client.Object{obj("x", "5")}, []Delta{{Type: Resync}, {Type: Resync}}, []string{"update x/5->5"}},
		{"resync and delete", []client.Object{obj("x", "5")}, []Delta{{Type: Resync}, gone(obj("x", "11"))}, []string{"delete x/11"}},
		{"keys in the order in which they were first behind", []client.Object{obj("x", "5")},
			[]Delta{put(obj("x", "11")), put(obj("y", "12")), put(obj("x", "13"))}, []string{"update x/5->13", "add y/12"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe(t, &HandlerOptions{Coalesce: true, Resync: true})
				p.processor.log.slack = -1000 // everything is too far behind
				p.push(t, replaced("10", tt.before...))
				p.drain(t)
				p.handler.take()
				release := make(chan struct{})
				p.handler.hook = func(string) { <-release }
				p.push(t, put(obj("a", "10")))
				p.drain(t) // it is blocked
				for _, d := range tt.deltas {
					p.push(t, d)
					p.drain(t)
				}
				if err := p.processor.log.valid(); err != nil {
					t.Error(err)
				}
				close(release)
				synctest.Wait()
				heard := slices.DeleteFunc(p.handler.take(), func(what string) bool { return strings.Contains(what, " a/") })
				if !slices.Equal(heard, tt.heard) {
					t.Errorf("the handler heard %q, want %q", heard, tt.heard)
				}
			})
		})
	}
}

// The end of the initial list stays behind the adds of the list, merged or not.
func TestMergedInitialListSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, &HandlerOptions{Coalesce: true})
		p.processor.log.slack = -1000
		var synced func() bool
		p.handler.hook = func(what string) {
			if initial := strings.HasPrefix(what, "initial"); initial == synced() {
				t.Errorf("%s, synced: %v", what, synced())
			}
		}
		synced = p.informer.handlers[0].HasSynced
		p.push(t, replaced("10", obj("x", "5"), obj("y", "6")), put(obj("x", "11")), put(obj("z", "12")))
		p.drain(t)
		p.handler.want(t, "initial x/11", "initial y/6", "add z/12")
		if !synced() {
			t.Error("not synced")
		}
	})
}

// What a handler that is removed had still to hear of is given back, and so is
// what nobody reads.
func TestRemovedHandlerKeepsNoBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		release := make(chan struct{})
		p.handler.hook = func(string) { <-release }
		r := p.informer.handlers[0]
		p.push(t, replaced("10", obj("x", "5")), put(obj("x", "11")))
		p.drain(t)
		for n := range 1000 {
			p.push(t, put(obj("x", fmt.Sprint(100+n))))
		}
		p.drain(t)
		go r.Remove()
		synctest.Wait()
		p.push(t, put(obj("x", "2000")))
		p.drain(t)
		if l := p.processor.log; l.unread != 0 || len(l.tail.events) != 0 || r.cursor.place != nil {
			t.Errorf("the log keeps %d events, unread by %d", len(l.tail.events), l.unread)
		}
		if err := p.processor.log.valid(); err != nil {
			t.Error(err)
		}
		close(release)
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
