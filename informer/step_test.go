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
	list, newest, watch := step{state: Listing}, step{state: Listing, newest: true}, step{state: Watching}
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
		{"list, bad object", list, &client.DecodeError{Err: io.EOF}, 0, later(list)}, // Case 7
		{"list, transform", list, &ObjectError{Op: "transform", Err: expired()}, 0, later(list)},

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
		{"watch, bad object", watch, &client.DecodeError{Err: io.EOF}, time.Hour, later(list)},
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
			if got := tt.done.next(tt.err, tt.lasted); got != tt.want {
				t.Errorf("next is %+v, want %+v", got, tt.want)
			}
		})
	}
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
