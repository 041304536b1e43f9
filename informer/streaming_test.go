package informer

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestStreamingListBecomesTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{
			streams: []stream{{events: []client.Event{added("a", "7"), added("b", "3")}, hold: true, more: more}},
		}, Options{})
		if s := f.Status(); s.State != Streaming || f.HasSynced() || s.Objects != 0 {
			t.Errorf("status %+v before the end of the initial events", s)
		}
		f.wantStore(t, "[] @")
		f.handler.want(t)

		more <- initialEnd("10")
		synctest.Wait()
		if s := f.Status(); s.State != Watching || s.StreamingLists != 1 || s.Lists != 0 || s.Watches != 0 || s.ResourceVersion != "10" {
			t.Errorf("status %+v after it", s)
		}
		f.handler.want(t, "initial a/7", "initial b/3")
		more <- modified("a", "11")
		more <- added("c", "12")
		synctest.Wait()
		f.handler.want(t, "update a/7->11", "add c/12")
		f.wantStore(t, "[a/11 b/3 c/12] @12")

		got := f.server.want(t, `stream ""`)[0].opts
		if !*got.SendInitialEvents || got.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !got.AllowWatchBookmarks ||
			*got.TimeoutSeconds < 299 || *got.TimeoutSeconds >= 600 || got.Limit != 0 {
			t.Errorf("it asked for %+v", got)
		}
		f.stop()
	})
}

// Contract 1: a later one asks for nothing older than what was seen, but once for
// the newest, when the server has lost the place; what it says is taken whole.
func TestLaterStreamingListDoesNotGoBack(t *testing.T) {
	for name, lost := range map[string]stream{
		"gone":      {err: goneByStatus()},
		"too large": {err: timeoutError("Too large resource version")},
		"older":     held(added("a", "1"), initialEnd("9")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, &script{
					streams: []stream{
						{events: []client.Event{added("a", "7"), added("b", "3"), initialEnd("10")}, after: time.Minute, err: expired()},
						lost,
						held(added("b", "6"), added("c", "8"), initialEnd("8"), modified("c", "12")),
					},
				}, Options{})
				time.Sleep(2 * time.Minute)
				got := f.server.want(t, `stream ""`, `stream "10"`, `stream ""`)
				if gap := got[2].at - got[1].at; gap != 0 {
					t.Errorf("the newest state was asked for after %v, want at once", gap)
				}
				f.wantStore(t, "[b/6 c/12] @12")
				f.handler.want(t, "initial a/7", "initial b/3", "missed delete a/7", "update b/3->6", "add c/8", "update c/8->12")
				f.stop()
			})
		})
	}
}

// A server that catches up with the version asked for tells changes among the
// initial events.
func TestChangesAmongTheInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		badly := func(kind watch.EventType, name, rv string) client.Event {
			return client.Event{Type: kind, Object: bad(name, rv)}
		}
		f := start(t, &script{
			streams: []stream{held(
				added("a", "1"), added("b", "2"), added("c", "3"), added("d", "4"), badly(watch.Added, "e", "5"), badly(watch.Added, "f", "6"),
				modified("a", "7"), deleted("b", "8"), bookmark("8"), badly(watch.Modified, "c", "9"), badly(watch.Deleted, "d", "10"),
				modified("e", "11"), deleted("f", "12"), added("b", "13"), modified("b", "14"), initialEnd("15"),
			)},
		}, Options{})
		f.wantStore(t, "[a/7 b/14 c/3 e/11] @15")
		if s := f.Status(); s.UnreadObjects != 1 || s.Unread[0].Key.Name != "c" || s.Unread[0].ResourceVersion != "9" {
			t.Errorf("unread %+v, want the last state of c", s.Unread)
		}
		f.handler.want(t, "initial a/7", "initial c/3", "initial e/11", "initial b/14")
		f.stop()
	})
}

// Case 10 (c): a stream that has not come to the end of its list brings nothing.
func TestIncompleteStreamingListsAreDiscarded(t *testing.T) {
	for name, end := range map[string]stream{
		"it ends":   {},
		"it breaks": {err: io.ErrUnexpectedEOF},
		"it fails":  {err: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end.events, end.after = []client.Event{added("a", "7"), added("x", "8")}, 10*time.Second
				f := start(t, &script{
					streams: []stream{end, held(added("a", "9"), initialEnd("10"))},
				}, Options{})
				time.Sleep(10*time.Second + time.Millisecond)
				f.handler.want(t)
				if s := f.Status(); s.State != BackingOff || f.HasSynced() || s.LastError == nil || len(f.errors) != 1 {
					t.Errorf("status %+v, errors %v", s, f.errors)
				}
				time.Sleep(2 * time.Second)
				f.server.want(t, `stream ""`, `stream ""`)
				f.handler.want(t, "initial a/9")
				if err := f.Status().LastError; err != nil {
					t.Errorf("the error stays: %v", err)
				}
				f.stop()
			})
		})
	}
}

// A server that takes the streaming list for a plain watch never says that it is
// complete, and is not waited for, whatever it tells meanwhile. As long as
// objects come, it may take its time.
func TestStreamingListWithoutEndIsNotWaitedFor(t *testing.T) {
	objects := func(n int, event func(name, rv string, uid ...string) client.Event) (events []client.Event) {
		for i := range n {
			events = append(events, event(fmt.Sprint("o", i), fmt.Sprint(i+1)))
		}
		return events
	}
	for name, tt := range map[string]struct {
		answer stream
		want   []string
		within time.Duration
	}{
		"says nothing":  {held(), []string{`stream ""`, `list "0"`, `watch "99"`}, 30 * time.Second},
		"then silent":   {held(added("a", "1")), []string{`stream ""`, `list "0"`, `watch "99"`}, 30 * time.Second},
		"tells changes": {stream{each: time.Second, events: objects(500, modified), hold: true}, []string{`stream ""`, `list "0"`, `watch "99"`}, 30 * time.Second},
		"tells for ever": {stream{each: 20 * time.Second, events: objects(500, added), hold: true}, []string{`stream ""`, `list "0"`, `watch "99"`},
			2*minWatch + watchGrace},
		"is slow": {stream{each: 20 * time.Second, events: append(objects(10, added), initialEnd("99")), hold: true}, []string{`stream ""`}, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, &script{streams: []stream{tt.answer}, lists: []listing{{rv: "99"}}, watches: []stream{held()}}, Options{})
				time.Sleep(tt.within)
				synctest.Wait()
				f.server.want(t, tt.want...)
				if !f.HasSynced() || f.Status().ResourceVersion != "99" {
					t.Errorf("status %+v", f.Status())
				}
				f.stop()
			})
		})
	}
}

// A server without the feature costs one request, no time, and no error.
func TestServerWithoutStreamingListsIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			streams: []stream{{err: noStreaming()}},
			lists:   []listing{{rv: "10"}, {rv: "20"}},
			watches: []stream{{after: time.Minute, err: expired()}, held()},
		}, Options{})
		f.server.want(t, `stream ""`, `list "0"`, `watch "10"`)
		if len(f.errors) != 0 || f.Status().LastError != nil {
			t.Errorf("errors %v", f.errors)
		}
		time.Sleep(2 * time.Minute)
		f.server.want(t, `list "10"`, `watch "20"`) // it is remembered
		f.stop()

		// But not for ever: servers are upgraded.
		f.server.got()
		stop := run(t, f.Informer)
		synctest.Wait()
		f.server.want(t, `stream "20"`, `list "20"`, `watch "20"`)
		stop()
	})
}

// Contract 4, in a streaming list.
func TestEachObjectOfAStreamIsTransformedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			streams: []stream{held(added("a", "1"), added("b", "2"), modified("b", "3"), initialEnd("4"), modified("a", "5"), bookmark("6"))},
		}, Options{Transform: func(o client.Object) (client.Object, error) {
			o.SetLabels(map[string]string{"seen": o.GetLabels()["seen"] + "x"})
			return o, nil
		}})
		f.wantStore(t, "[a/5 b/3] @6")
		for _, o := range f.store.List() {
			wantOnce(t, o)
		}
		f.stop()
	})
}

// A peer that is dead says nothing. From a server that has sent bookmarks, not
// even those come: that is noticed within minutes, and costs no list.
func TestSilentStreamIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			streams: []stream{held(added("a", "1"), initialEnd("4"), bookmark("5"))}, // and then nothing
			watches: []stream{held(), {each: 2 * time.Minute, events: []client.Event{modified("a", "6"), bookmark("7")}, hold: true}, held()},
		}, Options{})
		time.Sleep(silence - time.Second)
		f.server.want(t, `stream ""`)
		time.Sleep(time.Second)
		synctest.Wait()
		f.server.want(t, `watch "5"`)
		time.Sleep(silence) // it is remembered of the server
		synctest.Wait()
		f.server.want(t, `watch "5"`)
		time.Sleep(silence) // any sign of life counts
		synctest.Wait()
		f.server.want(t)
		f.handler.want(t, "initial a/1", "update a/1->6")
		if len(f.errors) != 0 || f.Status().LastError != nil {
			t.Errorf("errors %v", f.errors)
		}
		f.stop()
	})
}

// Old servers send one bookmark, just before the end: that promises nothing.
func TestLastBookmarkOfAStreamPromisesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event, 1)
		server := &script{streams: []stream{held(initialEnd("4"))}, watches: []stream{{hold: true, more: more}, held()}}
		f := start(t, server, Options{})
		got := f.server.want(t, `stream ""`)[0]
		time.Sleep(time.Duration(*got.opts.TimeoutSeconds)*time.Second + watchGrace + time.Second)
		synctest.Wait()
		second := f.server.want(t, `watch "4"`)[0]
		time.Sleep(time.Duration(*second.opts.TimeoutSeconds)*time.Second - 5*time.Second - (time.Since(server.start) - second.at))
		more <- bookmark("5")
		time.Sleep(watchGrace + 10*time.Second)
		synctest.Wait()
		f.server.want(t, `watch "5"`) // overdue
		time.Sleep(minWatch)
		synctest.Wait()
		f.server.want(t) // and not taken for dead
		f.stop()
	})
}

// The same for a list that stops in the middle.
func TestSilentListIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			lists:   []listing{{objects: []client.Object{obj("a", "1")}, after: time.Hour}, {rv: "10", objects: []client.Object{obj("a", "1")}}},
			watches: []stream{held()},
		}, Options{})
		time.Sleep(pagePatience + 2*time.Second)
		f.server.want(t, `list "0"`, `list "0"`, `watch "10"`)
		f.handler.want(t, "initial a/1")
		if len(f.errors) != 1 || !errors.Is(f.errors[0], errSilent) {
			t.Errorf("errors %v", f.errors)
		}
		f.stop()
	})
}
