package workqueue

import (
	"context"
	"errors"
	"fmt"
)

// ErrShutDown is what Get returns when the queue is shut down and nothing in it
// is ready: the worker ends.
var ErrShutDown = errors.New("workqueue is shut down")

// ShutDown ends the queue: nothing more comes in, and what is delayed is dropped.
// Workers still get what is ready; then Get returns [ErrShutDown]. A key that was
// added while a worker has it comes out after its Done, so a worker calls Get
// again after Done. Shutting down twice is harmless.
func (q *Queue[K]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expireLocked(q.nowLocked(false))
	q.shut = true
	q.disarmLocked()
	for q.waiters.first != nil {
		q.waiters.wakeFirst()
	}
	q.drainedLocked()
}

// ShutDownWithDrain is ShutDown, and then waits until workers have taken all that
// is ready and are done with all that they have. It returns nil then, or, when
// ctx ends first, an error that says how many keys were left and wraps ctx's. In
// that case the queue is shut down all the same.
//
// Upstream's namesake does not wait for what is ready.
func (q *Queue[K]) ShutDownWithDrain(ctx context.Context) error {
	q.ShutDown()
	select {
	case <-q.drained:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries.m) == 0 {
		return nil
	}
	return fmt.Errorf("drain workqueue %q: %d keys left: %w", q.name, len(q.entries.m), ctx.Err())
}

// drainedLocked tells ShutDownWithDrain when nothing is left. Once that is so it
// stays so, because nothing comes in.
//
// +checklocks:q.mu
func (q *Queue[K]) drainedLocked() {
	if !q.shut || len(q.entries.m) > 0 {
		return
	}
	select {
	case <-q.drained:
	default:
		close(q.drained)
	}
}
