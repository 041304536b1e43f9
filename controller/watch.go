package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// WatchHandle is a source's place at a controller.
//
//	       Start, or at once       all enqueued         Stop, ends, fails
//	waiting ───────────────► syncing ───────────► synced ────────────────► done
//	   │  Stop                  │  Stop, ends, fails                        ▲
//	   └────────────────────────┴───────────────────────────────────────────┘
//
// Upstream has none: a watch lasts as long as its controller.
type WatchHandle struct {
	name   string // of controller and source, for errors
	synced chan struct{}
	done   chan struct{}

	mu        sync.Mutex
	cancel    context.CancelFunc // +checklocks:mu; nil until it runs
	stopped   bool               // +checklocks:mu; cancelled by us
	abandoned bool               // +checklocks:mu; not worth waiting for
	err       error              // +checklocks:mu; what Run returned
}

// Stop ends the source and returns when it has ended: it enqueues nothing more.
// Keys that it enqueued before stay. It must not be called by the source's own
// handler or predicate, which it would wait for; a Reconciler may call it.
func (h *WatchHandle) Stop() {
	h.cut()
	<-h.done
}

// Synced is closed when all that existed at the start has been enqueued.
func (h *WatchHandle) Synced() <-chan struct{} { return h.synced }

// Done is closed when the source has ended.
func (h *WatchHandle) Done() <-chan struct{} { return h.done }

// Err is why the source ended by itself; nil while it runs, when it had no more
// events, and when it was stopped.
func (h *WatchHandle) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", h.name, h.err)
}

// cut cancels the source, or sees to it that it never runs.
func (h *WatchHandle) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopped:
	case h.cancel != nil:
		h.cancel()
	default:
		close(h.done)
	}
	h.stopped = true
}

// watch is a WatchHandle with what it is the handle of.
type watch[K comparable] struct {
	WatchHandle
	source Source[K]
}

func newWatch[K comparable](controller string, source Source[K]) *watch[K] {
	return &watch[K]{
		WatchHandle: WatchHandle{
			name:   fmt.Sprintf("controller %q: source %s", controller, nameOf(source)),
			synced: make(chan struct{}), done: make(chan struct{}),
		},
		source: source,
	}
}

// begin runs the source in a goroutine that ends with ctx or Stop, and closes
// done. It returns false when the watch was stopped before.
func (w *watch[K]) begin(ctx context.Context, q Adder[K], failed chan<- error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		err := w.run(ctx, q)
		w.finish(ctx, err)
		if err := w.Err(); err != nil {
			select {
			case failed <- err:
			default: // nobody asks, or another one was first
				klog.FromContext(ctx).Error(err, "Source failed")
			}
		}
	}()
	return true
}

// run calls the source's Run; its panic is an error.
func (w *watch[K]) run(ctx context.Context, q Adder[K]) (err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Observed a panic", "in", nameOf(w.source), "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return w.source.Run(ctx, q, sync.OnceFunc(func() { close(w.synced) }))
}

func (w *watch[K]) finish(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if ctx.Err() != nil {
		w.stopped = true // by Stop, or with its controller
	}
	w.cancel()
}

// ended says whether the source has ended.
func (w *watch[K]) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// wait waits for the end of the source, unless that is hopeless.
func (w *watch[K]) wait() {
	w.mu.Lock()
	abandoned := w.abandoned
	w.mu.Unlock()
	if !abandoned {
		<-w.done
	}
}

// stopGrace is how long a source that did not sync may take to say why.
const stopGrace = time.Second

// unsynced ends the watches that have not synced, and says which and why.
func unsynced[K comparable](watches []*watch[K], timeout time.Duration) error {
	var late []*watch[K]
	for _, w := range watches {
		select {
		case <-w.synced:
		case <-w.done:
		default:
			w.cut()
			late = append(late, w)
		}
	}
	var errs []error
	grace := time.After(stopGrace)
	for _, w := range late {
		err := fmt.Errorf("%s has not synced within %v", w.name, timeout)
		if reason := w.reason(grace); reason != nil {
			err = fmt.Errorf("%w: %w", err, reason)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reason waits for the end of a source that was cut, and returns what its Run
// returned.
func (w *watch[K]) reason(grace <-chan time.Time) error {
	select {
	case <-w.done:
	case <-grace:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended() {
		w.abandoned = true
		return errors.New("it takes no notice of the end of its context")
	}
	return w.err
}
