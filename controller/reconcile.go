package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request names the object to reconcile. It says nothing about what happened
// to the object: a Reconciler compares what is with what should be.
//
// Upstream: reconcile.Request.
type Request struct {
	// NamespacedName is the object's key; the namespace of a cluster-scoped
	// object is empty.
	types.NamespacedName
}

// Result says what to do next with a key. The zero Result says: nothing, until
// the next event. When Reconcile returns an error too, only Priority counts.
//
// Upstream: reconcile.Result, without the deprecated Requeue.
type Result struct {
	// RequeueAfter reconciles the key again when this time has passed, or
	// earlier if there is an event. Zero and negative mean: not by itself.
	RequeueAfter time.Duration
	// Priority of the requeue, after an error too; higher comes first. Nil
	// keeps the priority with which the key came out of the queue.
	Priority *int
}

// IsZero says whether the Result asks for nothing.
func (r Result) IsZero() bool { return r == Result{} }

// Reconciler brings the world to what an object asks for. The controller never
// calls it twice at once for one key. What follows a call:
//
//	returned                   back-off   queued again
//	─────────────────────────────────────────────────────────────────────
//	err (not terminal), panic  grows      after the rate limiter's delay
//	TerminalError(err)         forgotten  not before the next event
//	RequeueAfter > 0           forgotten  after RequeueAfter
//	the zero Result            forgotten  not before the next event
//
// Upstream: reconcile.TypedReconciler.
type Reconciler[K comparable] interface {
	// Reconcile must return soon after ctx ends: the controller waits for it.
	Reconcile(ctx context.Context, key K) (Result, error)
}

// Func is a Reconciler. Upstream: reconcile.TypedFunc.
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f Func[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// TerminalError marks an error that no retry can mend: the key is logged,
// counted and left alone until its next event, which starts without back-off.
//
// errors.Is(err, TerminalError(nil)) finds a terminal error at any depth;
// errors.Is and errors.As see through it. Upstream: reconcile.TerminalError.
func TerminalError(err error) error { return &terminalError{err} }

type terminalError struct{ err error }

func (t *terminalError) Error() string {
	if t.err == nil {
		return "terminal error"
	}
	return "terminal error: " + t.err.Error()
}

func (t *terminalError) Unwrap() error { return t.err }

// Is makes every terminal error match every other, whatever it wraps.
func (t *terminalError) Is(target error) bool {
	_, ok := target.(*terminalError)
	return ok
}

func isTerminal(err error) bool { return errors.Is(err, &terminalError{}) }
