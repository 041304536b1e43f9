package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a Reflector does after each kind of failure: the whole of it.
func TestStepNext(t *testing.T) {
	gr := schema.GroupResource{Resource: "pods"}
	// After a paged list has had to do, all lists are paged.
	list, newest, watch := step{state: Listing, paged: true}, step{state: Listing, newest: true, paged: true}, step{state: Watching, paged: true}
	later := func(s step) step { s.backOff = true; return s }
	after := func(s step, d time.Duration) step { s.backOff, s.atLeast = true, d; return s }
	refused := &url.Error{Op: "Get", URL: "http://x", Err: syscall.ECONNREFUSED}

	for _, tt := range []struct {
		name   string
		done   step
		err    error
		lasted time.Duration
		want   step
	}{
		// Listing.
		{"list, fine", list, nil, 0, watch},
		{"newest list, fine", newest, nil, 0, watch},
		{"list, expired", list, expired(), 0, newest},                                              // Case 1
		{"list, gone", list, goneByStatus(), 0, newest},                                            // Case 1
		{"list, wrapped", list, fmt.Errorf("list pods: %w", expired()), 0, newest},                 // Case 1
		{"list, went back in time", list, errWentBack, 0, newest},                                  // Contract 1
		{"newest list, expired", newest, expired(), 0, later(newest)},                              // once, or it would loop
		{"newest list, unavailable", newest, apierrors.NewInternalError(io.EOF), 0, later(newest)}, // the need stays
		{"list, 500", list, apierrors.NewInternalError(io.EOF), 0, later(list)},
		{"list, forbidden", list, apierrors.NewForbidden(gr, "", nil), 0, later(list)},
		{"list, missing", list, apierrors.NewNotFound(gr, ""), 0, later(list)},                  // Case 12
		{"list, 429 with Retry-After", list, tooManyRequests(7), 0, after(list, 7*time.Second)}, // Case 5
		{"list, refused", list, refused, 0, later(list)},
		{"list, cut", list, io.ErrUnexpectedEOF, time.Hour, later(list)},
		{"list, an object without a name", list, &client.DecodeError{Err: io.EOF}, 0, later(list)},
		{"list, silent", list, errSilent, time.Hour, later(list)},

		// Watching.
		{"watch, ended", watch, nil, 5 * time.Minute, watch},
		{"watch, ended at once", watch, nil, 50 * time.Millisecond, later(watch)}, // Case 4
		{"watch, cut", watch, io.ErrUnexpectedEOF, time.Minute, watch},
		{"watch, cut, wrapped", watch, fmt.Errorf("watch: %w", io.ErrUnexpectedEOF), time.Minute, watch},
		{"watch, reset", watch, &url.Error{Op: "Get", URL: "http://x", Err: errors.New("read: connection reset by peer")}, time.Minute, watch},
		{"watch, cut at once", watch, io.ErrUnexpectedEOF, 0, later(watch)},
		{"watch, refused", watch, refused, 30 * time.Second, later(watch)}, // Case 5
		{"watch, dial timeout", watch, context.DeadlineExceeded, time.Minute, later(watch)},
		{"watch, expired", watch, expired(), time.Hour, later(list)},                               // Case 1
		{"watch, gone", watch, goneByStatus(), 0, later(list)},                                     // Case 1
		{"watch, 429", watch, tooManyRequests(0), 0, later(watch)},                                 // Case 5
		{"watch, 429 with Retry-After", watch, tooManyRequests(2), 0, after(watch, 2*time.Second)}, // Case 5
		{"watch, 500", watch, apierrors.NewInternalError(io.EOF), time.Hour, later(watch)},
		{"watch, forbidden", watch, apierrors.NewForbidden(gr, "", nil), 0, later(watch)}, // Case 4
		{"watch, unauthorized", watch, apierrors.NewUnauthorized(""), 0, later(watch)},    // Case 11
		{"watch, an object without a name", watch, &client.DecodeError{Err: io.EOF}, time.Hour, later(list)},
		{"watch, silent", watch, errSilent, silence, watch},
		{"watch, time to transform again", watch, errRetry, time.Second, list},
		{"watch, time to transform again at once", watch, errRetry, 0, later(list)},
		{"watch, refused by the store", watch, &ObjectError{Op: "store", Err: io.EOF}, time.Hour, later(list)},

		// Too large: three shapes, and one that is not.
		{"too large by cause type", list, timeoutError("x", metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}), 0, newest}, // Case 2
		{"too large by cause text", list, timeoutError("x", metav1.StatusCause{Message: "Too large resource version"}), 0, newest},         // Case 2
		{"too large by text", list, timeoutError("Timeout: Too large resource version: 5000, current: 4200"), 0, newest},                   // Case 2
		{"another timeout", list, timeoutError("etcd is slow"), 0, later(list)},                                                            // Case 2
		{"too large in another error", list, apierrors.NewBadRequest("Too large resource version"), 0, later(list)},
		{"watch, too large", watch, timeoutError("Too large resource version"), 0, later(newest)},
		{"watch, another timeout", watch, timeoutError("etcd is slow"), 0, later(watch)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.done.next(outcome{err: tt.err, lasted: tt.lasted}); got != tt.want {
				t.Errorf("next is %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The same for streaming lists, which are where it begins.
func TestStepNextOfAStreamingList(t *testing.T) {
	gr := schema.GroupResource{Resource: "pods"}
	stream, newest, watch := step{state: Streaming}, step{state: Streaming, newest: true}, step{state: Watching}
	list, newestList := step{state: Listing, paged: true}, step{state: Listing, paged: true, newest: true}
	later := func(s step) step { s.backOff = true; return s }
	tried := func(s step) step { s.tries++; return s }
	refused := &url.Error{Op: "Get", URL: "http://x", Err: syscall.ECONNREFUSED}

	for _, tt := range []struct {
		name string
		done step
		o    outcome
		want step
	}{
		// Complete: it is a watch, and what may follow a watch follows it.
		{"ended well", stream, outcome{listed: true, lasted: time.Minute}, watch},
		{"ended at once", stream, outcome{listed: true}, later(watch)},                         // Case 4
		{"cut", tried(newest), outcome{listed: true, err: io.EOF, lasted: time.Minute}, watch}, // all is forgotten
		{"then expired", stream, outcome{listed: true, err: expired()}, later(stream)},         // Case 1
		{"then too large", stream, outcome{listed: true, err: timeoutError("Too large resource version")}, later(newest)},
		{"then refused by the store", stream, outcome{listed: true, err: &ObjectError{Op: "store"}}, later(stream)},
		{"then to transform again", stream, outcome{listed: true, err: errRetry, lasted: time.Second}, stream},
		{"then forbidden", stream, outcome{listed: true, err: apierrors.NewForbidden(gr, "", nil)}, later(watch)},

		// Not complete.
		{"gone", stream, outcome{err: goneByStatus()}, newest},                                             // Case 1
		{"too large", stream, outcome{err: timeoutError("Too large resource version")}, newest},            // Case 2
		{"went back in time", stream, outcome{err: errWentBack}, newest},                                   // Contract 1
		{"newest, and gone", newest, outcome{err: expired()}, later(tried(newest))},                        // once, or it would loop
		{"unknown to the server", stream, outcome{err: noStreaming()}, list},                               // and no time is lost
		{"unknown, newest", newest, outcome{err: apierrors.NewBadRequest("what?")}, newestList},            // the need stays
		{"forbidden", stream, outcome{err: apierrors.NewForbidden(gr, "", nil)}, list},                     // to watch; perhaps not to list
		{"without an end", stream, outcome{err: errNoEnd, lasted: time.Minute}, list},                      // another minute would not help
		{"too soon", stream, outcome{err: errPremature, lasted: time.Minute}, later(tried(stream))},        // Case 10 (c)
		{"too soon again", tried(stream), outcome{err: errPremature, lasted: time.Minute}, later(list)},    // Case 10 (c)
		{"cut", tried(newest), outcome{err: io.ErrUnexpectedEOF}, later(newestList)},                       // Case 10 (c)
		{"500", stream, outcome{err: apierrors.NewInternalError(io.EOF)}, later(tried(stream))},            // perhaps a list fares better
		{"refused", tried(stream), outcome{err: refused}, later(tried(stream))},                            // nobody is there
		{"429", tried(stream), outcome{err: tooManyRequests(0)}, later(tried(stream))},                     // Case 5
		{"missing", tried(stream), outcome{err: apierrors.NewNotFound(gr, "")}, later(tried(stream))},      // Case 12
		{"unauthorized", tried(stream), outcome{err: apierrors.NewUnauthorized("")}, later(tried(stream))}, // Case 11
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.done.next(tt.o); got != tt.want {
				t.Errorf("next is %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Whatever happens, and however often: no storm, no dead end, and the newest
// state is asked for at most once in a row without a wait (contract 3).
func TestStepsNeitherStormNorGetStuck(t *testing.T) {
	errs := []error{
		nil, io.ErrUnexpectedEOF, expired(), timeoutError("Too large resource version"), noStreaming(), errNoEnd, errPremature,
		errSilent, errRetry, errWentBack, tooManyRequests(0), &ObjectError{Op: "store"}, &client.DecodeError{}, errors.New("other"),
	}
	seen := map[step]bool{}
	var visit func(s step)
	visit = func(s step) {
		s.backOff, s.atLeast = false, 0
		if seen[s] {
			return
		}
		seen[s] = true
		wantWayOut(t, s)
		wantNoStorm(t, s, errs, 0)
		for _, err := range errs {
			for _, listed := range []bool{false, true} {
				for _, lasted := range []time.Duration{0, time.Hour} {
					visit(s.next(outcome{err: err, listed: listed, lasted: lasted}))
				}
			}
		}
	}
	visit(step{state: Streaming})
	if len(seen) < 8 || len(seen) > 20 {
		t.Errorf("there are %d steps: %+v", len(seen), seen)
	}
}

// wantNoStorm follows all steps that take no time and come without a wait.
func wantNoStorm(t *testing.T, s step, errs []error, requests int) {
	if requests > 4 {
		t.Fatalf("%d requests in a row without a wait, the last for %+v", requests, s)
	}
	for _, err := range errs {
		for _, listed := range []bool{false, true} {
			then := s.next(outcome{err: err, listed: listed})
			if s.newest && !listed && then.newest && !then.backOff && diagnose(err) != unsupported {
				t.Fatalf("after %+v and %v comes %+v: the newest state twice in a row", s, err, then)
			}
			if !then.backOff {
				wantNoStorm(t, then, errs, requests+1)
			}
		}
	}
}

// wantWayOut lets all go well from here on: that must lead to a watch.
func wantWayOut(t *testing.T, s step) {
	from := s
	for range 3 {
		if s = s.next(outcome{listed: true, lasted: time.Hour}); s.state == Watching && !s.backOff {
			return
		}
	}
	t.Errorf("from %+v no way leads to %v", from, Watching)
}

// A 410 counts by its code too, whatever its reason.
func TestDiagnoseGoneByCodeAlone(t *testing.T) {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone}}
	if got := diagnose(err); got != unavailable {
		t.Errorf("diagnosis %v, want %v", got, unavailable)
	}
}

// Contract 3: each wait is longer than the one before could be at least, none
// is longer than 30 s, and a healthy spell begins anew.
func TestBackoffGrowsIsBoundedAndResets(t *testing.T) {
	var b backoff
	now := time.Unix(0, 0)
	base := firstDelay
	for n := range 20 {
		wait := b.next(now)
		if wait < base || wait > 2*base || wait > 30*time.Second {
			t.Fatalf("wait %d is %v, want %v to %v", n, wait, base, 2*base)
		}
		now = now.Add(wait + time.Minute) // a spell, but not a healthy one
		base = min(2*base, lastDelay)
	}
	now = now.Add(healthySpell)
	if wait := b.next(now); wait > 2*firstDelay {
		t.Errorf("the wait after a healthy spell is %v, want at most %v", wait, 2*firstDelay)
	}
}

func TestBackoffIsJittered(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 10 {
		seen[(&backoff{}).next(time.Unix(0, 0))] = true
	}
	if len(seen) < 2 {
		t.Error("ten clients wait equally long")
	}
}
