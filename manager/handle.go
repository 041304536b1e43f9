package manager

import (
	"context"
	"fmt"
)

// Handle is a Runnable's place at a Manager.
//
//	     Add         the group starts
//	──────────► queued ───────────► running ──────────► ended
//	              │                    returns, fails,   ▲
//	              │                    panics            │
//	              └──────────────────────────────────────┘
//	                  Stop, or the manager stops
type Handle struct {
	manager  *Manager
	runnable Runnable
	name     string
	kind     groupKind
	own      bool // the manager's own part, not added by a user

	ready chan struct{} // closed when the groups after it may start
	done  chan struct{} // closed when it has ended; err is set before

	// manager.mu guards the fields below.
	running bool
	stopped bool               // Stop was called: an error is its caller's
	cancel  context.CancelFunc // ends the runnable; nil unless running
	err     error
}

func newHandle(m *Manager, kind groupKind, r Runnable, name string) *Handle {
	return &Handle{
		manager: m, runnable: r, name: name, kind: kind,
		ready: make(chan struct{}), done: make(chan struct{}),
	}
}

// Stop ends the runnable and waits for it, at most until ctx ends: then it
// returns ctx's error, and the runnable may still run. Otherwise it returns what
// Err returns; that error does not stop the manager. A runnable that has not
// started yet never will. A runnable must not stop itself so: it would wait for
// itself; it returns instead.
func (h *Handle) Stop(ctx context.Context) error {
	h.manager.cancelOne(h)
	select {
	case <-h.done:
		return h.Err()
	case <-ctx.Done():
	}
	select {
	case <-h.done:
		return h.Err()
	default:
		return fmt.Errorf("stop runnable %q: %w", h.name, ctx.Err())
	}
}

// Done is closed when the runnable has ended, or can no more start.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Err is what the runnable returned, with its name. It is nil while it runs, when
// it was never started, and when all it said was that its context had ended.
func (h *Handle) Err() error {
	h.manager.mu.Lock()
	defer h.manager.mu.Unlock()
	return h.err
}
