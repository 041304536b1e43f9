package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// held is a stream that stays open and says nothing but these events.
func held(events ...client.Event) stream { return stream{events: events, hold: true} }

func TestReflectorListsThenWatchesFromThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{rv: "10", objects: []client.Object{obj("a", "3"), obj("b", "7")}}},
			watches: []stream{held(modified("a", "11"), added("c", "12"), deleted("b", "13"))},
		}, Options{})
		got := f.server.want(t, `list "0"`, `watch "10"`)
		if got[0].opts.Limit != 500 || got[0].opts.Continue != "" {
			t.Errorf("the list asked for %+v, want pages of 500", got[0].opts)
		}
		if s := *got[1].opts.TimeoutSeconds; s < 300 || s >= 600 || !got[1].opts.AllowWatchBookmarks {
			t.Errorf("the watch asked for %+v, want 5 to 10 minutes, with bookmarks", got[1].opts)
		}
		f.wantStore(t, "[a/11 c/12] @13")
		f.handler.want(t, "initial a/3", "initial b/7", "update a/3->11", "add c/12", "delete b/13")
		if s := f.Status(); s.State != Watching || s.ResourceVersion != "13" || s.Objects != 2 || s.Lists != 1 || s.Watches != 1 || s.LastError != nil {
			t.Errorf("status %+v", s)
		}
		f.stop()
		if s := f.Status(); s.State != Idle {
			t.Errorf("state %v after Run, want %v", s.State, Idle)
		}
	})
}

// Only a list that names no resourceVersion is paged. (PEERS: never page a
// resourceVersion above 0.)
func TestReflectorReadsAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "10", objects: []client.Object{obj("a", "3")}, next: "more"},
				{rv: "12", objects: []client.Object{obj("b", "7")}, next: "yet more"},
				{rv: "14", objects: []client.Object{obj("c", "8")}},
				{rv: "20", objects: []client.Object{obj("a", "3"), obj("c", "8")}},
			},
			watches: []stream{{err: expired()}, held()},
		}, Options{})
		got := f.server.want(t, `list "0"`, `list ""`, `list ""`, `watch "10"`)
		if got[1].opts.Continue != "more" || got[2].opts.Continue != "yet more" || got[2].opts.Limit != 500 {
			t.Errorf("the pages were asked for with %+v", got)
		}
		f.wantStore(t, "[a/3 b/7 c/8] @10")
		time.Sleep(2 * time.Second)
		got = f.server.want(t, `list "10"`, `watch "20"`)
		if got[0].opts.Limit != 0 {
			t.Errorf("a list from resourceVersion 10 is paged: %+v", got[0].opts)
		}
		f.wantStore(t, "[a/3 c/8] @20")
		f.stop()
	})
}

func TestReflectorListsAllAtOnceWhenAPageHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "10", objects: []client.Object{obj("a", "3")}, next: "more"},
				{err: expired()},
				{rv: "12", objects: []client.Object{obj("a", "11"), obj("b", "7")}},
			},
			watches: []stream{held()},
		}, Options{})
		got := f.server.want(t, `list "0"`, `list ""`, `list "0"`, `watch "12"`)
		if got[2].opts.Limit != 0 || got[2].opts.Continue != "" {
			t.Errorf("the last list asked for %+v, want everything", got[2].opts)
		}
		f.wantStore(t, "[a/11 b/7] @12")
		f.handler.want(t, "initial a/11", "initial b/7")
		f.stop()
	})
}

// Case 1
func TestGoneIsHealedByAListThatDoesNotGoBack(t *testing.T) {
	for name, gone := range map[string]error{"expired, in a frame": expired(), "gone, by status": goneByStatus()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, &script{
					lists: []listing{
						{rv: "100", objects: []client.Object{obj("a", "90"), obj("b", "91")}},
						{rv: "200", objects: []client.Object{obj("b", "91")}},
					},
					watches: []stream{{err: gone}, held(added("c", "201"))},
				}, Options{})
				time.Sleep(2 * time.Second)
				f.server.want(t, `list "0"`, `watch "100"`, `list "100"`, `watch "200"`)
				f.wantStore(t, "[b/91 c/201] @201")
				f.handler.want(t, "initial a/90", "initial b/91", "missed delete a/90", "add c/201")
				f.stop()
			})
		})
	}
}

// Case 1 (c)
func TestGoneListIsFollowedAtOnceByOneForTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "100", objects: []client.Object{obj("a", "90"), obj("b", "91")}},
				{err: goneByStatus()},
				{rv: "200", objects: []client.Object{obj("b", "91")}},
			},
			watches: []stream{{err: expired()}, held(added("c", "201"))},
		}, Options{})
		time.Sleep(2 * time.Second)
		got := f.server.want(t, `list "0"`, `watch "100"`, `list "100"`, `list ""`, `watch "200"`)
		if gap := got[3].at - got[2].at; gap > 0 {
			t.Errorf("the second list came after %v, want at once", gap)
		}
		f.handler.want(t, "initial a/90", "initial b/91", "missed delete a/90", "add c/201")
		f.stop()
	})
}

// Case 2
func TestTooLargeIsHealedByTheNewestStateEvenIfOlder(t *testing.T) {
	for name, tooLarge := range map[string]error{
		"by cause type": timeoutError("x", metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}),
		"by cause text": timeoutError("x", metav1.StatusCause{Message: "Too large resource version"}),
		"by message":    timeoutError("Too large resource version: 5000, current: 4200"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, &script{
					lists: []listing{
						{rv: "5000", objects: []client.Object{obj("a", "4999"), obj("b", "10")}},
						{err: tooLarge},
						{rv: "4200", objects: []client.Object{obj("a", "4100"), obj("c", "4150")}},
					},
					watches: []stream{{err: expired()}, held(modified("a", "4201"))},
				}, Options{})
				time.Sleep(2 * time.Second)
				got := f.server.want(t, `list "0"`, `watch "5000"`, `list "5000"`, `list ""`, `watch "4200"`)
				if got[3].at != got[2].at {
					t.Errorf("the list of the newest state waited for %v", got[3].at-got[2].at)
				}
				f.wantStore(t, "[a/4201 c/4150] @4201")
				f.stop()
			})
		})
	}
}

// Case 2
func TestPlainTimeoutIsRetriedWithTheSameVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "5000"}, {err: timeoutError("etcd is slow")}, {err: timeoutError("etcd is slow")}, {rv: "5001"},
			},
			watches: []stream{{err: expired()}, held()},
		}, Options{})
		time.Sleep(time.Minute)
		got := f.server.want(t, `list "0"`, `watch "5000"`, `list "5000"`, `list "5000"`, `list "5000"`, `watch "5001"`)
		if first, second := got[3].at-got[2].at, got[4].at-got[3].at; first < 800*time.Millisecond || second < first/2 {
			t.Errorf("the waits are %v and %v", first, second)
		}
		f.stop()
	})
}

// Contract 1: a server that answers with less than was asked for.
func TestListThatGoesBackInTimeIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "100", objects: []client.Object{obj("a", "90")}},
				{rv: "50", objects: []client.Object{obj("a", "40")}},
				{rv: "101", objects: []client.Object{obj("a", "101")}},
			},
			watches: []stream{{err: expired()}, held()},
		}, Options{})
		time.Sleep(2 * time.Second)
		f.server.want(t, `list "0"`, `watch "100"`, `list "100"`, `list ""`, `watch "101"`)
		f.handler.want(t, "initial a/90", "update a/90->101")
		f.stop()
	})
}

// Case 4: streams that end at once, watches that are forbidden.
func TestWatchesThatEndAtOnceAreNotAStorm(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	for name, end := range map[string]stream{
		"end at once": {after: 50 * time.Millisecond},
		"forbidden":   {err: forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &script{lists: []listing{{rv: "10"}}, watches: []stream{end}}
				f := start(t, server, Options{})
				time.Sleep(time.Minute)
				got := server.got()
				lists, gap := 0, time.Duration(0)
				for n, r := range got {
					if r.verb == "list" {
						lists++
					}
					if n > 1 {
						gap = r.at - got[n-1].at
					}
				}
				if lists != 1 || len(got) < 4 || len(got) > 12 {
					t.Errorf("%d requests, %d of them lists, in a minute; want few, and one", len(got), lists)
				}
				if gap < 10*time.Second {
					t.Errorf("the last gap is %v, want tens of seconds", gap)
				}
				if f.Status().LastError == nil {
					t.Error("Status has no error")
				}

				// It heals, and events flow within one capped delay.
				server.mu.Lock()
				server.watches = []stream{held(added("a", "11"))}
				server.mu.Unlock()
				time.Sleep(30*time.Second + time.Millisecond)
				f.handler.want(t, "add a/11")
				if err := f.Status().LastError; err != nil {
					t.Errorf("Status still has the error %v", err)
				}
				f.stop()
			})
		})
	}
}

// Case 4: the delay resets after a healthy spell.
func TestDelayResetsAfterAHealthySpell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("connection refused")
		watches := make([]stream, 0, 10)
		for range 8 {
			watches = append(watches, stream{err: refused})
		}
		watches = append(watches, stream{after: 3 * time.Minute, err: refused}, held())
		f := start(t, &script{lists: []listing{{rv: "10"}}, watches: watches}, Options{})
		time.Sleep(10 * time.Minute)
		got := f.server.got()
		if len(got) != 11 {
			t.Fatalf("%d requests, want 11", len(got))
		}
		if wait := got[10].at - got[9].at - 3*time.Minute; wait < 800*time.Millisecond || wait > 1600*time.Millisecond {
			t.Errorf("after a healthy spell the wait is %v, want the first", wait)
		}
		f.stop()
	})
}

// Case 4
func TestIdenticalErrorsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, ctx := captureLog(t)
		l := &errorLog{name: "pods"}
		for range 180 { // three minutes
			l.log(ctx, errors.New("the same"))
			time.Sleep(time.Second)
		}
		if n := len(lines()); n != 3 {
			t.Errorf("%d lines in three minutes, want 3", n)
		}
		for range 30 { // by turns
			l.log(ctx, errors.New("another"))
			l.log(ctx, errors.New("the same"))
		}
		if n := len(lines()); n != 5 {
			t.Errorf("%d lines after a new error, want 5", n)
		}
		for n := range 10 * maxTexts {
			l.log(ctx, fmt.Errorf("error %d", n))
		}
		if n := len(lines()); n > 4+maxTexts {
			t.Errorf("%d lines for errors that all differ", n)
		}
	})
}

// Case 5
func TestTooManyRequestsOnAWatchCostsNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{{rv: "10", objects: []client.Object{obj("a", "3")}}},
			watches: []stream{
				{err: tooManyRequests(0)}, {err: tooManyRequests(20)}, {err: errors.New("connection refused")}, held(added("b", "11")),
			},
		}, Options{})
		time.Sleep(time.Minute)
		got := f.server.want(t, `list "0"`, `watch "10"`, `watch "10"`, `watch "10"`, `watch "10"`)
		if gap := got[3].at - got[2].at; gap < 20*time.Second {
			t.Errorf("%v after Retry-After: 20, want as long", gap)
		}
		f.handler.want(t, "initial a/3", "add b/11")
		f.stop()
	})
}

// Case 5
func TestTooManyRequestsOnAListIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{err: tooManyRequests(10)}, {err: tooManyRequests(10)}, {rv: "10"}},
			watches: []stream{held()},
		}, Options{})
		if s := f.Status(); s.State != BackingOff || s.LastError == nil || f.HasSynced() {
			t.Errorf("status %+v, synced %v", s, f.HasSynced())
		}
		time.Sleep(time.Minute)
		got := f.server.want(t, `list "0"`, `list "0"`, `list "0"`, `watch "10"`)
		for n := range 2 {
			if gap := got[n+1].at - got[n].at; gap < 10*time.Second {
				t.Errorf("%v after Retry-After: 10, want as long", gap)
			}
		}
		if !f.HasSynced() || f.Status().LastError != nil {
			t.Errorf("not synced, or an error is left: %+v", f.Status())
		}
		f.stop()
	})
}

func TestAbsurdRetryAfterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{lists: []listing{{err: tooManyRequests(1 << 30)}, {rv: "10"}}, watches: []stream{held()}}, Options{})
		time.Sleep(maxRetryAfter)
		synctest.Wait()
		f.server.want(t, `list "0"`, `list "0"`, `watch "10"`)
		f.stop()
	})
}

// Case 10 (a)
func TestBookmarksMoveThePositionAndReachNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{rv: "10", objects: []client.Object{obj("a", "3")}}},
			watches: []stream{{events: []client.Event{bookmark("5000")}, after: time.Minute}, held()},
		}, Options{})
		f.handler.want(t, "initial a/3")
		time.Sleep(2 * time.Minute)
		f.server.want(t, `list "0"`, `watch "10"`, `watch "5000"`)
		f.handler.want(t)
		f.wantStore(t, "[a/3] @5000")
		f.stop()
	})
}

// Case 10 (b)
func TestServerWithoutBookmarksIsWatchedOnFromTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{{rv: "10"}},
			watches: []stream{
				{after: 5 * time.Minute},
				{events: []client.Event{added("a", "11")}, after: 5 * time.Minute},
				{events: []client.Event{added("b", "12")}, after: time.Minute, err: io.ErrUnexpectedEOF},
				held(),
			},
		}, Options{})
		time.Sleep(13 * time.Minute)
		f.server.want(t, `list "0"`, `watch "10"`, `watch "10"`, `watch "11"`, `watch "12"`)
		f.handler.want(t, "add a/11", "add b/12")
		if len(f.errors) != 0 {
			t.Errorf("streams that end as they should are reported: %v", f.errors)
		}
		f.stop()
	})
}

// Clients that begin together must not end together.
func TestWatchTimeoutsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{lists: []listing{{rv: "10"}}, watches: []stream{{after: time.Minute}}}, Options{})
		time.Sleep(time.Hour)
		seen := map[int64]bool{}
		for _, r := range f.server.got()[1:] {
			seen[*r.opts.TimeoutSeconds] = true
		}
		if len(seen) < 2 {
			t.Errorf("60 watches ask for the timeouts %v", seen)
		}
		f.stop()
	})
}

// A stream that says nothing, and does not end when it should, is dead.
func TestOverdueStreamIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{lists: []listing{{rv: "10"}}, watches: []stream{held(), held(added("a", "11"))}}, Options{})
		time.Sleep(2*minWatch + watchGrace)
		synctest.Wait()
		f.handler.want(t, "add a/11")
		if got := len(f.server.got()); got != 3 || len(f.errors) != 0 {
			t.Errorf("%d requests and errors %v, want 3 and none", got, f.errors)
		}
		f.stop()
	})
}

// Contract 2: what the Transform function refuses is not lost, and no higher
// resourceVersion hides it.
func TestWhatTheTransformRefusesIsListedAgain(t *testing.T) {
	for name, refuse := range map[string]func(client.Object) (client.Object, error){
		"error":       func(client.Object) (client.Object, error) { return nil, errors.New("no") },
		"no object":   func(client.Object) (client.Object, error) { return nil, nil },
		"panic":       func(client.Object) (client.Object, error) { panic("no") },
		"other names": func(o client.Object) (client.Object, error) { o.SetName("x"); return o, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refusals := 0
				f := start(t, &script{
					lists: []listing{
						{rv: "10", objects: []client.Object{obj("a", "3")}},
						{rv: "12", objects: []client.Object{obj("a", "3"), obj("b", "11"), obj("c", "12")}},
					},
					watches: []stream{held(added("b", "11"), added("c", "12")), held(), held()},
				}, Options{Transform: func(o client.Object) (client.Object, error) {
					if o.GetName() == "b" && refusals < 2 {
						refusals++
						return refuse(o)
					}
					return o, nil
				}})
				// The others go on, and b is not forgotten.
				f.wantStore(t, "[a/3 c/12] @12")
				if s := f.Status(); s.UnreadObjects != 1 || s.Unread[0].Key.Name != "b" || s.Unread[0].ResourceVersion != "11" || s.State != Watching {
					t.Errorf("status %+v", s)
				}
				time.Sleep(10 * time.Second)
				f.server.want(t, `list "0"`, `watch "10"`, `list "12"`, `watch "12"`, `list "12"`, `watch "12"`)
				f.wantStore(t, "[a/3 b/11 c/12] @12")
				f.handler.want(t, "initial a/3", "add c/12", "add b/11")
				if s := f.Status(); s.UnreadObjects != 0 || s.Unread != nil || len(f.errors) != 2 {
					t.Errorf("status %+v, errors %v", s, f.errors)
				}
				if oe, ok := errors.AsType[*ObjectError](f.errors[0]); !ok || oe.Op != "transform" || oe.Key.Name != "b" {
					t.Errorf("the error is %v", f.errors[0])
				}
				f.stop()
			})
		})
	}
}

// Contract 2: the same for the store, which refuses later, and a watch that says
// nothing more.
func TestWhatTheStoreRefusesIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals := 0
		server := &script{
			lists: []listing{
				{rv: "10", objects: []client.Object{obj("a", "3")}},
				{rv: "12", objects: []client.Object{obj("a", "3"), obj("b", "11"), obj("c", "12")}},
			},
			watches: []stream{held(added("b", "11"), added("c", "12")), held()},
		}
		f := &fixture{server: server, store: newMapStore(), handler: &recorder{}}
		f.store.refuse = func(put []client.Object) error {
			for _, o := range put {
				if o.GetName() == "b" && refusals < 2 {
					refusals++
					return errors.New("index function failed")
				}
			}
			return nil
		}
		f.Informer = New(server, f.store, &Options{WatchErrorHandler: func(_ context.Context, err error) { f.errors = append(f.errors, err) }})
		f.AddHandler(f.handler, nil)
		f.stop = run(t, f.Informer)
		synctest.Wait()
		if rv := f.Status().ResourceVersion; rv != "10" {
			t.Errorf("the store is said to be at %s, want 10", rv)
		}
		time.Sleep(10 * time.Second)
		f.server.want(t, `list "0"`, `watch "10"`, `list "12"`, `watch "12"`, `list "12"`, `watch "12"`)
		f.wantStore(t, "[a/3 b/11 c/12] @12")
		f.handler.want(t, "initial a/3", "add b/11", "add c/12")
		if oe, ok := errors.AsType[*ObjectError](f.errors[0]); !ok || oe.Op != "store" || len(f.errors) != 2 {
			t.Errorf("the errors are %v", f.errors)
		}
		f.stop()
	})
}

// Contract 4
func TestEachObjectIsTransformedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{
				{rv: "10", objects: []client.Object{obj("a", "3"), obj("b", "4")}, next: "more"},
				{rv: "10", objects: []client.Object{obj("c", "5")}},
				{rv: "14", objects: []client.Object{obj("a", "14"), obj("b", "11")}},
			},
			watches: []stream{{events: []client.Event{modified("b", "11"), deleted("c", "12"), bookmark("13")}, err: expired()}, held()},
		}, Options{Transform: func(o client.Object) (client.Object, error) {
			if o.GetName() == "" {
				return nil, errors.New("a bookmark is no object")
			}
			o.SetLabels(map[string]string{"seen": o.GetLabels()["seen"] + "x"})
			return o, nil
		}})
		f.AddHandler(HandlerFuncs{
			AddFunc:    func(o client.Object, _ bool) { wantOnce(t, o) },
			UpdateFunc: func(old, new client.Object) { wantOnce(t, old); wantOnce(t, new) },
			DeleteFunc: func(o client.Object, _ bool) { wantOnce(t, o) },
		}, nil)
		time.Sleep(2 * time.Second)
		f.wantStore(t, "[a/14 b/11] @14")
		for _, o := range f.store.List() {
			wantOnce(t, o)
		}
		if len(f.errors) != 1 {
			t.Errorf("errors %v", f.errors)
		}
		f.stop()
	})
}

func wantOnce(t *testing.T, o client.Object) {
	if got := o.GetLabels()["seen"]; got != "x" {
		t.Errorf("%s was transformed %d times", o.GetName(), len(got))
	}
}

// Contract 1: what a server says again is not heard again.
func TestDuplicatesAreNotHeardAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{{rv: "10", objects: []client.Object{obj("a", "3")}}},
			watches: []stream{held(
				added("a", "3"), modified("a", "11"), modified("a", "11"), added("b", "12"), deleted("b", "13"), deleted("b", "13"),
				added("b", "12"), modified("a", "9"), bookmark("5"), modified("a", "14"),
			)},
		}, Options{})
		f.handler.want(t, "initial a/3", "update a/3->11", "add b/12", "delete b/13", "update a/11->14")
		f.wantStore(t, "[a/14] @14")
		f.stop()
	})
}

// A watch from no resourceVersion begins with what exists, in any order: that
// moves no position.
func TestUnorderedStartOfAWatchMovesNoPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists: []listing{{rv: ""}},
			watches: []stream{
				{events: []client.Event{added("a", "9"), added("b", "3")}, after: time.Minute},
				{events: []client.Event{added("b", "3"), added("a", "9"), modified("b", "11"), added("c", "12")}, after: time.Minute},
				held(),
			},
		}, Options{})
		time.Sleep(3 * time.Minute)
		f.server.want(t, `list "0"`, `watch ""`, `watch ""`, `watch "12"`)
		f.wantStore(t, "[a/9 b/11 c/12] @12")
		f.stop()
	})
}

// A server whose versions are no numbers.
func TestOpaqueVersionsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{rv: "zz", objects: []client.Object{obj("a", "yy")}}},
			watches: []stream{{events: []client.Event{modified("a", "bb"), modified("a", "aa")}, after: time.Minute}, held()},
		}, Options{})
		time.Sleep(3 * time.Minute)
		f.server.want(t, `list "0"`, `watch "zz"`, `watch "aa"`)
		f.handler.want(t, "initial a/yy", "update a/yy->bb", "update a/bb->aa")
		f.stop()
	})
}

func TestNonsenseFromTheServerIsReportedAndListed(t *testing.T) {
	for name, event := range map[string]client.Event{
		"no object":    {Type: "ADDED"},
		"unknown type": {Type: "MOVED", Object: obj("a", "11")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &nonsense{script: script{lists: []listing{{rv: "10"}, {rv: "12"}}, watches: []stream{held()}}, event: event}
				var errs []error
				i := New(server, newMapStore(), &Options{WatchErrorHandler: func(_ context.Context, err error) { errs = append(errs, err) }})
				stop := run(t, i)
				time.Sleep(2 * time.Second)
				server.want(t, `list "0"`, `list "10"`, `watch "12"`)
				if len(errs) != 1 {
					t.Errorf("errors %v, want one", errs)
				}
				stop()
			})
		})
	}
}

// Contract 10: whatever it waits for.
func TestRunEndsWithItsContext(t *testing.T) {
	many := []client.Object{obj("a", "1"), obj("b", "2")}
	for name, server := range map[string]*script{
		"dribbled list":  {lists: []listing{{rv: "10", objects: many, after: time.Hour}}},
		"held watch":     {lists: []listing{{rv: "10"}}, watches: []stream{held()}},
		"back-off":       {lists: []listing{{err: errors.New("no")}}},
		"Retry-After":    {lists: []listing{{err: tooManyRequests(3600)}}},
		"watch back-off": {lists: []listing{{rv: "10"}}, watches: []stream{{err: errors.New("no")}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, server, Options{})
				time.Sleep(100 * time.Millisecond)
				f.stop()
				if s := f.Status(); s.State != Idle || s.Objects != 0 {
					t.Errorf("status %+v, want %v and no half a list", s, Idle)
				}
			})
		})
	}
}

func TestStateHasAName(t *testing.T) {
	if got := fmt.Sprint(Idle, Listing, Watching, BackingOff, State(9)); got != "idle listing watching backing off State(9)" {
		t.Errorf("got %q", got)
	}
}
