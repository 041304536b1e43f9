package informer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// form is how an Informer lists: in a stream, or, if the server cannot, in pages.
type form struct {
	name  string
	list  func(envtest.Request) bool
	first []string // the requests of the first list
	again string   // that of a later one
}

var forms = []form{
	{"streaming", streams, []string{`stream "" 200`}, "stream"},
	{"paged", lists, []string{`stream "" 422`, `list "0" 200`}, "list"},
}

// inBothForms runs a test in a bubble, for each form.
func inBothForms(t *testing.T, test func(t *testing.T, w *world, f form)) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if f.name == "paged" {
					w.noStreaming()
				}
				test(t, w, f)
			})
		})
	}
}

// then are the requests of the first list, and those that follow.
func (f form) then(more ...string) []string { return append(slices.Clone(f.first), more...) }

// endFirst makes the first watch end, as servers do, after so long.
func endFirst(w *world, f form, objects int, after time.Duration) {
	if f.name == "paged" {
		w.fault(watches, envtest.Fault{Times: 1, Delay: after, Break: envtest.Close})
		return
	}
	w.fault(streams, envtest.Fault{Times: 1, Break: envtest.Close, After: objects + 1})
}

// Case 1: 410 comes in a frame of the watch, as the answer to it, and to the
// list after it as well. What is asked for next is never older than what was
// seen, what was missed comes as a delete, and what comes later comes once.
func TestGoneIsHealedWhicheverDoorItComesThrough(t *testing.T) {
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonGone, Message: "gone"}}
	expired := apierrors.NewResourceExpired("too old resource version")
	for _, door := range []string{"a frame", "the answer", "the list too"} {
		t.Run(door, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, w *world, f form) {
				w.put(newConfigMap("a"))
				seen := w.put(newConfigMap("b"))
				endFirst(w, f, 2, 0)
				x := w.informer(configMapKind, client.Typed)
				stop := x.run()
				synctest.Wait()
				x.heard.want(t, "add a", "add b")

				w.remove(newConfigMap("a"))
				last := w.put(newConfigMap("other"))
				w.remove(newConfigMap("other"))
				want := f.then(fmt.Sprintf(`watch %q 200`, seen))
				if f.name == "paged" {
					want = append(want, want[len(want)-1]) // the one that ended at once
				}
				switch door {
				case "a frame":
					w.compact()
				default:
					w.fault(watches, envtest.Fault{Times: 1, Err: gone})
					want[len(want)-1] = fmt.Sprintf(`watch %q 410`, seen)
				}
				if door == "the list too" {
					w.fault(f.list, envtest.Fault{Times: 1, Err: expired})
					want = append(want, fmt.Sprintf(`%s %q 410`, f.again, seen), f.again+` "" 200`)
				} else {
					want = append(want, fmt.Sprintf(`%s %q 200`, f.again, seen))
				}
				settle(5 * time.Second)
				now := x.Status().ResourceVersion
				if f.name == "paged" {
					want = append(want, fmt.Sprintf(`watch %q 200`, now))
				}
				asked := w.wantAsked("configmaps", want...)
				if n := len(f.then()) + slices.Index(want[len(f.then()):], f.again+` "" 200`); door == "the list too" && n < len(asked) {
					if gap := asked[n].Time.Sub(asked[n-1].Time); gap > 0 {
						t.Errorf("the list of the newest state waited for %v", gap)
					}
				}
				if older(now, last) {
					t.Errorf("the store is at %s, the server has been at %s", now, last)
				}
				w.put(newConfigMap("c"))
				synctest.Wait()
				x.heard.want(t, "missed delete a", "add c")
				if got := x.names(); got != "b c" {
					t.Errorf("the store has %s, want b c", got)
				}
				stop()
			})
		})
	}
}

// Case 2: whatever words a server has for it, that it does not have a
// resourceVersion yet is healed by one list, at once, of the newest state. Any other
// timeout is waited for, with the old version.
func TestTooLargeIsHealedInAllItsWords(t *testing.T) {
	for name, tt := range map[string]struct {
		err    *apierrors.StatusError
		newest bool
	}{
		"cause type":      {timeoutStatus("x", metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}), true},
		"cause text":      {timeoutStatus("x", metav1.StatusCause{Message: "Too large resource version"}), true},
		"message":         {timeoutStatus("Timeout: Too large resource version: 5000, current: 4200"), true},
		"another timeout": {timeoutStatus("etcd is slow"), false},
	} {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, w *world, f form) {
				seen := w.put(newConfigMap("a"))
				endFirst(w, f, 1, 0)
				x := w.informer(configMapKind, client.Typed)
				stop := x.run()
				synctest.Wait()
				w.put(newConfigMap("b"))
				w.compact()
				w.fault(f.list, envtest.Fault{Times: 1, Err: tt.err})
				settle(10 * time.Second)

				asked := w.asked("configmaps")
				n := slices.IndexFunc(asked, func(r envtest.Request) bool { return r.Code == 504 })
				if n < 0 || len(asked) < n+2 {
					t.Fatalf("requests %v", asked)
				}
				again, gap := asked[n+1], asked[n+1].Time.Sub(asked[n].Time)
				if rv := again.Query.Get("resourceVersion"); tt.newest && (rv != "" || gap != 0) || !tt.newest && (rv != seen || gap < 800*time.Millisecond) {
					t.Errorf("it was followed, after %v, by a list at %q", gap, rv)
				}
				if got := x.names(); got != "a b" {
					t.Errorf("the store has %s, want a b", got)
				}
				stop()
			})
		})
	}
}

func timeoutStatus(message string, causes ...metav1.StatusCause) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(message, 0)
	err.ErrStatus.Details.Causes = causes
	return err
}

// Case 4: watches that end at once, that are forbidden, a server that is not
// there: the waits grow, and when it heals, events flow within one of them.
func TestNoFailureOfTheServerBecomesAStorm(t *testing.T) {
	for name, tt := range map[string]struct {
		fail    func(w *world) (heal func())
		listed  bool // the first list comes through
		minimum int
	}{
		"watches end at once": {func(w *world) func() {
			removeStreams := w.fault(streams, envtest.Fault{Break: envtest.Close, After: 2})
			removeWatches := w.fault(watches, envtest.Fault{Delay: 50 * time.Millisecond, Break: envtest.Close})
			return func() { removeStreams(); removeWatches() }
		}, true, 4},
		"watches are forbidden": {func(w *world) func() {
			forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", fmt.Errorf("no"))
			return w.Inject(envtest.Match{User: "watcher", Verb: "watch"}, envtest.Fault{Err: forbidden})
		}, true, 4},
		"nobody is there": {func(w *world) func() {
			w.refused = func() bool { return true }
			return func() { w.refused = func() bool { return false } }
		}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.put(newConfigMap("a"))
				x := w.informer(configMapKind, client.Typed)
				heal := tt.fail(w)
				stop := x.run()
				settle(time.Minute)

				asked := w.asked("configmaps")
				all := 0
				for _, r := range asked {
					if !watches(r) {
						all++
					}
				}
				if all > 3 || len(asked) > 15 || len(asked) < tt.minimum {
					t.Errorf("%d requests, %d of them lists, in a minute", len(asked), all)
				}
				if n := len(asked); n > 1 {
					if gap := asked[n-1].Time.Sub(asked[n-2].Time); gap < 8*time.Second {
						t.Errorf("the last wait was %v, want tens of seconds", gap)
					}
				}
				errs := len(x.reported())
				if x.HasSynced() != tt.listed || x.Status().LastError == nil || errs < 4 || errs > 15 {
					t.Errorf("synced %v, %d errors, status %+v", x.HasSynced(), errs, x.Status())
				}

				heal()
				w.put(newConfigMap("b"))
				settle(31 * time.Second) // one capped delay
				x.heard.want(t, "add a", "add b")
				if err := x.Status().LastError; err != nil {
					t.Errorf("the error stays: %v", err)
				}
				stop()
			})
		})
	}
}

// Case 5: what is asked to wait waits, and costs no list.
func TestBusyServerIsLeftAloneAsLongAsItAsks(t *testing.T) {
	inBothForms(t, func(t *testing.T, w *world, f form) {
		// The first list is answered as by API priority and fairness, twice.
		w.fault(f.list, envtest.Fault{Times: 2, Err: apierrors.NewTooManyRequests("later", 10)})
		seen := w.put(newConfigMap("a"))
		x := w.informer(configMapKind, client.Typed)
		stop := x.run()
		settle(25 * time.Second)
		asked := w.asked("configmaps")[len(f.first)-1:] // without the streaming list that is not known
		for n := range 2 {
			if gap := asked[n+1].Time.Sub(asked[n].Time); gap < 10*time.Second || gap > 12*time.Second {
				t.Errorf("%v after Retry-After: 10", gap)
			}
		}
		x.heard.want(t, "add a")

		// The next watches: 429 without a header, with one, and nobody there.
		w.ResetRequests()
		w.fault(watches, envtest.Fault{Times: 1, Err: apierrors.NewTooManyRequests("later", 0)})
		w.fault(watches, envtest.Fault{Times: 1, Err: apierrors.NewTooManyRequests("later", 20)})
		settle(15 * time.Minute) // the stream ends meanwhile
		asked = w.asked("configmaps")
		if len(asked) < 3 {
			t.Fatalf("requests %v", asked)
		}
		for _, r := range asked[:3] {
			if rv := r.Query.Get("resourceVersion"); !watches(r) || older(rv, seen) {
				t.Errorf("a %s at %q between the watches", r.Verb, rv)
			}
		}
		if gap := asked[2].Time.Sub(asked[1].Time); gap < 20*time.Second {
			t.Errorf("%v after Retry-After: 20", gap)
		}
		w.put(newConfigMap("b"))
		synctest.Wait()
		x.heard.want(t, "add b")
		stop()
	})
}

// Case 5: the wait that the server asks for ends with the context.
func TestWaitThatTheServerAsksForEndsWithRun(t *testing.T) {
	inBothForms(t, func(t *testing.T, w *world, f form) {
		w.fault(f.list, envtest.Fault{Err: apierrors.NewTooManyRequests("later", 3600)})
		x := w.informer(configMapKind, client.Typed)
		stop := x.run()
		settle(10 * time.Second)
		if s := x.Status(); s.State != informer.BackingOff || s.LastError == nil || s.Since.IsZero() {
			t.Errorf("status %+v", s)
		}
		stop() // checks how long it takes
	})
}

// Case 7: an object that the Go type cannot hold harms no other, costs no
// request, and arrives when it is mended; so it does if it is there from the start.
func TestObjectThatTheTypeCannotHoldIsIsolated(t *testing.T) {
	for _, when := range []string{"from the start", "while watching"} {
		t.Run(when, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, w *world, f form) {
				installCronTabs(t, w.admin)
				a, b := newCronTab("a", 1), newCronTab("b", "two")
				w.put(a)
				if when == "from the start" {
					w.put(b)
				}
				x, other := w.informer(cronTabKind, client.Typed), w.informer(configMapKind, client.Typed)
				loose, metadata := w.informer(cronTabKind, client.Unstructured), w.informer(cronTabKind, client.MetadataOnly)
				for _, i := range []*watching{x, other, loose, metadata} {
					stop := i.run()
					defer stop()
				}
				settle(time.Second)
				if when == "while watching" {
					w.put(b)
				}
				settle(19 * time.Second)
				w.put(newConfigMap("c"))
				synctest.Wait()

				if !x.HasSynced() || x.names() != "a" || other.names() != "c" || loose.names() != "a b" || metadata.names() != "a b" {
					t.Errorf("typed %q, unstructured %q, metadata %q, another kind %q", x.names(), loose.names(), metadata.names(), other.names())
				}
				errs := x.reported()
				if len(errs) != 1 {
					t.Fatalf("errors %v, want one", errs)
				}
				for _, part := range []string{"CronTab", "default/b", "replicas"} {
					if !strings.Contains(errs[0].Error(), part) {
						t.Errorf("the error %q does not say %q", errs[0], part)
					}
				}
				s := x.Status()
				if s.UnreadObjects != 1 || s.Unread[0].Key != client.ObjectKeyFromObject(b) || s.Unread[0].ResourceVersion != b.GetResourceVersion() ||
					s.Unread[0].UID != b.GetUID() || s.LastError != nil || s.State != informer.Watching {
					t.Errorf("status %+v", s)
				}
				if _, unread := x.Unread(client.ObjectKeyFromObject(b)); !unread || s.ResourceVersion == "" {
					t.Error("the informer does not know that b could not be read")
				}

				w.put(newCronTab("b", 2))
				synctest.Wait()
				x.heard.want(t, "add a", "add b")
				if s := x.Status(); s.UnreadObjects != 0 || s.Unread != nil || s.StreamingLists != 1 || s.Lists+s.Watches > 2 {
					t.Errorf("status %+v after it was mended; want no further request", s)
				}
				w.remove(b)
				synctest.Wait()
				x.heard.want(t, "delete b")
			})
		})
	}
}

// Case 7, Case 10: what is deleted while it cannot be read is gone, with the last
// state that could be read.
func TestObjectThatIsDeletedWhileItCannotBeReadIsGone(t *testing.T) {
	inBothForms(t, func(t *testing.T, w *world, f form) {
		installCronTabs(t, w.admin)
		w.put(newCronTab("a", 1))
		x := w.informer(cronTabKind, client.Typed)
		stop := x.run()
		settle(time.Second)
		w.put(newCronTab("a", "two"))
		w.put(newCronTab("never", "read"))
		synctest.Wait()
		x.heard.want(t, "add a")
		if got := x.names(); got != "a" || x.Status().UnreadObjects != 2 {
			t.Errorf("the store has %q, %d are unread; want the last state of a, and 2", got, x.Status().UnreadObjects)
		}
		w.remove(newCronTab("a", nil))
		w.remove(newCronTab("never", nil))
		synctest.Wait()
		x.heard.want(t, "missed delete a")
		if s := x.Status(); s.UnreadObjects != 0 || s.Objects != 0 {
			t.Errorf("status %+v", s)
		}
		stop()
	})
}

// Case 10 (a): a bookmark moves the position, so that a quiet kind does not have
// to be listed when the history before it is forgotten.
func TestBookmarksSaveAQuietKindFromBeingListed(t *testing.T) {
	inBothForms(t, func(t *testing.T, w *world, f form) {
		w.put(newConfigMap("a"))
		x := w.informer(configMapKind, client.Typed)
		stop := x.run()
		settle(time.Second)
		before := x.Status().ResourceVersion
		w.put(newSecret("s")) // something happens elsewhere
		settle(2 * time.Minute)
		after := x.Status().ResourceVersion
		if !older(before, after) {
			t.Fatalf("the store was at %s, and is at %s: no bookmark came", before, after)
		}
		w.compact()
		settle(20 * time.Minute) // the stream ends, and the next ones
		for _, r := range w.asked("configmaps")[len(f.first):] {
			if rv := r.Query.Get("resourceVersion"); !watches(r) || rv != before && rv != after || r.Code != 200 {
				t.Errorf("%s at %q: %d, want watches only, from %s", r.Verb, rv, r.Code, after)
			}
		}
		x.heard.want(t, "add a")
		if got, errs := x.names(), x.reported(); got != "a" || len(errs) != 0 {
			t.Errorf("the store has %q, errors %v", got, errs)
		}
		stop()
	})
}

// Case 10 (c): a streaming list that never comes to its end, whether the stream
// closes, breaks or goes on, is given up, and nothing of it is taken.
func TestStreamingListThatIsNeverCompleteIsGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		fault   envtest.Fault
		streams int
	}{
		"it closes": {envtest.Fault{Break: envtest.Close, After: 2}, 2},
		"it breaks": {envtest.Fault{Break: envtest.Cut, After: 2}, 2},
		"it stalls": {envtest.Fault{Break: envtest.Stall, After: 2}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.put(newConfigMap("a"))
				w.put(newConfigMap("b"))
				w.fault(streams, tt.fault)
				x := w.informer(configMapKind, client.Typed)
				stop := x.run()
				for !x.HasSynced() {
					if s := x.Status(); s.Objects != 0 || s.ResourceVersion != "" || x.names() != "" {
						t.Fatalf("status %+v of half a list", s)
					}
					x.heard.want(t)
					settle(100 * time.Millisecond)
				}
				if s := x.Status(); s.StreamingLists != tt.streams || s.Lists != 1 {
					t.Errorf("status %+v, want %d streaming lists and a paged one", s, tt.streams)
				}
				if took := time.Since(w.asked("configmaps")[0].Time); took > 31*time.Second {
					t.Errorf("it took %v", took)
				}
				x.heard.want(t, "add a", "add b")

				// It is remembered: the next list is paged at once.
				w.fault(watches, envtest.Fault{Times: 1, Err: apierrors.NewResourceExpired("too old")})
				settle(30 * time.Minute)
				if s := x.Status(); s.StreamingLists != tt.streams || s.Lists != 2 {
					t.Errorf("status %+v, want one more paged list", s)
				}
				stop()
			})
		})
	}
}

// The error that people read says which kind, what, and why.
func TestErrorNamesKindAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Inject(envtest.Match{User: "watcher", Resource: "configmaps"},
			envtest.Fault{Err: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", fmt.Errorf("User x cannot list"))})
		x := w.informer(configMapKind, client.Typed)
		stop := x.run()
		settle(time.Second)
		err := x.Status().LastError
		for _, part := range []string{"ConfigMap", "list", "User x cannot list"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the error %v does not say %q", err, part)
			}
		}
		stop()
	})
}

// Contract 10: an answer whose bytes trickle in, or do not come at all.
func TestRunEndsInTheMiddleOfAnAnswer(t *testing.T) {
	inBothForms(t, func(t *testing.T, w *world, f form) {
		w.put(newConfigMap("a"))
		w.fault(f.list, envtest.Fault{Break: envtest.Stall, After: 0})
		x := w.informer(configMapKind, client.Typed)
		stop := x.run()
		settle(10 * time.Second)
		if s := x.Status(); s.State != informer.Streaming && s.State != informer.Listing || x.HasSynced() {
			t.Errorf("status %+v", s)
		}
		stop()
		if s := x.Status(); s.State != informer.Idle || s.Objects != 0 {
			t.Errorf("status %+v", s)
		}
	})
}
