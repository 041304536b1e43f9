package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	"k8s.io/apimachinery/pkg/watch"
)

// badly is an event whose object cannot be decoded.
func badly(kind watch.EventType, name, rv string) client.Event {
	return client.Event{Type: kind, Object: bad(name, rv)}
}

// Case 7: what cannot be decoded moves the position on, keeps its last state, is
// reported once per state, and is mended by an event, a delete, or a list.
func TestUnreadObjectsAreMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan client.Event)
		f := start(t, &script{
			streams: []stream{
				{events: []client.Event{added("a", "1"), added("b", "2"), badly(watch.Added, "c", "3"), initialEnd("4")}, hold: true, more: more},
			},
			watches: []stream{{err: expired()}, held()},
		}, Options{Name: "CronTab"})
		unread := func(want ...string) {
			t.Helper()
			synctest.Wait()
			s, got := f.Status(), []string(nil)
			for _, u := range s.Unread {
				got = append(got, u.Key.Name+"/"+u.ResourceVersion)
			}
			if !slices.Equal(got, want) || s.UnreadObjects != len(want) || s.LastError != nil {
				t.Errorf("unread %q, want %q; status %+v", got, want, s)
			}
		}
		unread("c/3")
		more <- badly(watch.Modified, "a", "5")
		more <- badly(watch.Modified, "b", "6")
		unread("a/5", "b/6", "c/3")
		f.wantStore(t, "[a/1 b/2] @6")
		f.handler.want(t, "initial a/1", "initial b/2")
		if err := f.WaitFor(t.Context(), "6"); err != nil {
			t.Error(err)
		}
		since := f.Status().Unread[0].Since
		time.Sleep(time.Minute)
		more <- badly(watch.Modified, "a", "7")
		unread("a/7", "b/6", "c/3")
		if got := f.Status().Unread[0].Since; got != since {
			t.Errorf("a is unread since %v, want since %v", got, since)
		}

		more <- modified("a", "8")
		unread("b/6", "c/3")
		more <- badly(watch.Deleted, "b", "9") // its last state cannot be read either
		unread("c/3")
		f.handler.want(t, "update a/1->8", "missed delete b/2")
		if len(f.errors) != 4 {
			t.Errorf("%d errors, want one for each state: %v", len(f.errors), f.errors)
		}
		for _, err := range f.errors {
			if !strings.Contains(err.Error(), "CronTab") || !strings.Contains(err.Error(), `replicas: "two"`) {
				t.Errorf("the error %q does not name kind and cause", err)
			}
		}

		// A list mends too, and says nothing new of what has not changed.
		f.server.mu.Lock()
		f.server.streams = []stream{{}, held(added("a", "8"), badly(watch.Added, "c", "3"), added("b", "10"), initialEnd("11")), held(added("a", "8"), initialEnd("12"))}
		f.server.mu.Unlock()
		time.Sleep(20 * time.Minute) // the stream ends
		unread("c/3")
		f.wantStore(t, "[a/8 b/10] @11")
		f.handler.want(t, "add b/10")
		f.stop()
	})
}

// An object that was mended is found in the store when Unread no longer has it.
func TestUnreadHasWhatTheStoreHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := client.ObjectKey{Namespace: "ns", Name: "a"}
		f := &fixture{server: &script{streams: []stream{
			held(initialEnd("4"), badly(watch.Added, "a", "5"), modified("a", "6"), badly(watch.Modified, "a", "7"), modified("a", "8")),
		}}, store: newMapStore()}
		f.Informer = New(f.server, f.store, &Options{WatchErrorHandler: func(context.Context, error) {}})
		var seen []string
		f.store.changed = func(objects map[client.ObjectKey]client.Object, rv string) {
			_, is := f.Unread(key)
			if !is && objects[key] == nil && rv != "4" {
				t.Errorf("at %s a is neither stored nor unread", rv)
			}
			seen = append(seen, rv)
		}
		stop := run(t, f.Informer)
		synctest.Wait()
		if _, is := f.Unread(key); is || f.store.String() != "[a/8] @8" || len(seen) == 0 {
			t.Errorf("a is unread: %v; the store has %s", is, f.store)
		}
		stop()
	})
}

// If all of a kind is unread, that is told, but not a hundred thousand times.
func TestManyUnreadObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []client.Object
		for n := range 3 * maxUnread {
			all = append(all, bad(fmt.Sprintf("o%04d", n), fmt.Sprint(n+1)))
		}
		f := start(t, &script{
			lists:   []listing{{rv: "1000", objects: all}, {rv: "1001", objects: append(all[:2:2], obj("x", "7"))}},
			watches: []stream{{err: expired()}, held()},
		}, Options{})
		if s := f.Status(); s.UnreadObjects != len(all) || len(s.Unread) != maxUnread || !f.HasSynced() {
			t.Errorf("%d are unread, %d of them described", s.UnreadObjects, len(s.Unread))
		}
		if n := len(f.errors) - 1; n != maxUnread { // one is that of the watch
			t.Errorf("%d are reported", n)
		}
		if u, is := f.Unread(client.ObjectKeyFromObject(all[250])); !is || u.Err == nil {
			t.Errorf("the last is unread: %v, %+v", is, u)
		}
		time.Sleep(2 * time.Second)
		if s := f.Status(); s.UnreadObjects != 2 || s.Objects != 1 {
			t.Errorf("status %+v", s)
		}
		f.stop()
	})
}

// What does not say which object it is about cannot be isolated: a list leaves no
// hole. A bookmark needs to be read no further than its version.
func TestUndecodableWithoutAName(t *testing.T) {
	nameless := undecodable{obj("", ""), &client.DecodeError{Err: io.EOF}}
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			streams: []stream{
				held(initialEnd("4"), badly(watch.Bookmark, "", "5"), client.Event{Type: watch.Added, Object: nameless}),
				held(client.Event{Type: watch.Added, Object: nameless}),
				held(added("a", "6"), initialEnd("7")),
			},
		}, Options{})
		time.Sleep(10 * time.Second)
		f.server.want(t, `stream ""`, `stream "5"`, `stream "5"`)
		f.wantStore(t, "[a/6] @7")
		if s := f.Status(); len(f.errors) != 2 || s.UnreadObjects != 0 {
			t.Errorf("errors %v, status %+v", f.errors, s)
		}
		f.stop()
	})
}

// Contract 2: what the Transform function refuses is tried again, for ever, and
// the others live all the while. The lists that this takes become rare.
func TestRefusedTransformIsRetriedAndStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{
			lists:   []listing{{rv: "zz", objects: []client.Object{obj("a", "3"), obj("b", "11")}}}, // no number, so it is never too old
			watches: []stream{{each: time.Second, hold: true}},
		}
		for n := range 3600 {
			server.watches[0].events = append(server.watches[0].events, modified("a", fmt.Sprint(20+n)))
		}
		var refusing atomic.Bool
		refusing.Store(true)
		f := start(t, server, Options{Transform: func(o client.Object) (client.Object, error) {
			if refusing.Load() && o.GetName() == "b" {
				return nil, errors.New("no")
			}
			return o, nil
		}})
		f.wantStore(t, "[a/3] @zz")
		time.Sleep(time.Hour)
		lists := 0
		for _, r := range server.got() {
			if r.verb == "list" {
				lists++
			}
		}
		if lists < 10 || lists > 25 || lists != len(f.errors) {
			t.Errorf("%d lists and %d errors in an hour", lists, len(f.errors))
		}
		if n := len(f.handler.take()); n < 3000 {
			t.Errorf("the handler has heard of a %d times, want all the while", n)
		}
		refusing.Store(false)
		time.Sleep(2 * lastRetry)
		if s := f.Status(); s.UnreadObjects != 0 || f.store.objects[client.ObjectKey{Namespace: "ns", Name: "b"}] == nil {
			t.Errorf("status %+v, b has not arrived", s)
		}
		f.stop()
	})
}

// What an event has mended needs no list.
func TestRefusedTransformThatIsMendedCostsNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, &script{
			streams: []stream{held(initialEnd("4"), added("b", "5"), modified("b", "6"))},
		}, Options{Transform: func(o client.Object) (client.Object, error) {
			if o.GetResourceVersion() == "5" {
				return nil, errors.New("no")
			}
			return o, nil
		}})
		f.wantStore(t, "[b/6] @6")
		time.Sleep(time.Minute)
		f.server.want(t, `stream ""`)
		if s := f.Status(); s.UnreadObjects != 0 || s.LastError != nil || len(f.errors) != 1 {
			t.Errorf("status %+v, errors %v", s, f.errors)
		}
		f.stop()
	})
}

// counters is a Metrics.
type counters struct {
	mu     sync.Mutex
	events []string
}

func (c *counters) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, fmt.Sprintf(format, args...))
}

func (c *counters) Listed(took time.Duration, objects int, err error) {
	c.note("listed %d in %v: %v", objects, took, err)
}

func (c *counters) Watched(lasted time.Duration, events int, err error) {
	c.note("watched %d for %v: %v", events, lasted, err)
}

func (c *counters) Unread(objects int) { c.note("unread %d", objects) }

func TestMetricsTellOfEachListAndWatch(t *testing.T) {
	no := errors.New("no")
	synctest.Test(t, func(t *testing.T) {
		c := &counters{}
		f := start(t, &script{
			streams: []stream{
				{each: time.Second, events: []client.Event{added("a", "1")}, err: no},
				{each: time.Second, events: []client.Event{added("a", "1"), badly(watch.Added, "b", "2"), initialEnd("3"), modified("b", "4"), bookmark("5")}, after: time.Second},
				{err: noStreaming()},
			},
			lists:   []listing{{err: no}, {rv: "9", objects: []client.Object{obj("a", "1")}, after: time.Second}},
			watches: []stream{{after: time.Second, err: expired()}, held()},
		}, Options{Metrics: c})
		time.Sleep(time.Minute)
		f.stop()
		want := []string{
			"listed 1 in 1s: no",
			"unread 1", "listed 1 in 3s: <nil>", "unread 0", "watched 2 for 3s: <nil>",
			"watched 0 for 1s: " + expired().Error(),
			"listed 0 in 0s: " + noStreaming().Error(), "listed 0 in 0s: no", "listed 1 in 1s: <nil>",
		}
		if got := c.events[:min(len(want), len(c.events))]; !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(c.events, "\n"), strings.Join(want, "\n"))
		}
	})
}
