package informer

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// Registration is a Handler's place at an Informer. Upstream: client-go's
// cache.ResourceEventHandlerRegistration, and behind it processorListener.
type Registration struct {
	informer *Informer
	handler  Handler
	name     string

	synced  chan struct{} // closed when the initial list has been handled
	removed chan struct{} // closed by Remove
	remove  sync.Once
	running sync.WaitGroup // of the goroutine, if there is one

	cursor *cursor // its place in the log

	// What it has read of the log, and not yet been called for, is batch[done:].
	// Only the goroutine uses these two; between two Runs, nobody.
	batch []event
	done  int

	unheard atomic.Int64 // how many that are
	calling atomic.Int64 // when the oldest of them was appended: a time.Duration since the log's birth
	panics  atomic.Int64 // how many calls have panicked
}

// batchSize is how many events a handler reads at once. Coalescing does not
// reach them any more.
const batchSize = 64

func newRegistration(i *Informer, h Handler, o HandlerOptions) *Registration {
	return &Registration{
		informer: i,
		handler:  h,
		name:     cmp.Or(o.Name, fmt.Sprintf("%T", h)),
		synced:   make(chan struct{}),
		removed:  make(chan struct{}),
		cursor:   i.processor.join(o.Coalesce, o.Resync),
	}
}

// Synced is closed when the handler has handled the initial list.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced says whether Synced is closed.
func (r *Registration) HasSynced() bool { return closed(r.synced) }

// Remove ends the calls, and returns when the last one has returned. It must not
// be called by the handler itself. A second Remove does nothing more.
func (r *Registration) Remove() {
	r.remove.Do(func() {
		r.informer.forget(r)
		close(r.removed)
		r.informer.processor.log.leave(r.cursor)
	})
	r.running.Wait()
}

// run calls the handler, event by event, until ctx ends or the handler is removed.
func (r *Registration) run(ctx context.Context) {
	for {
		for ; r.done < len(r.batch); r.done++ {
			if closed(r.removed) || ctx.Err() != nil {
				return
			}
			e := &r.batch[r.done]
			r.calling.Store(int64(e.at))
			r.call(ctx, e)
			*e = event{}
			r.unheard.Add(-1)
		}
		if r.read() {
			continue
		}
		select {
		case <-r.cursor.wake:
		case <-r.removed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read gets the next events, and says whether there are any.
func (r *Registration) read() bool {
	if cap(r.batch) == 0 {
		r.batch = make([]event, 0, batchSize)
	}
	r.batch, r.done = r.cursor.read(r.batch), 0
	if len(r.batch) > 0 {
		r.calling.Store(int64(r.batch[0].at))
	}
	r.unheard.Store(int64(len(r.batch)))
	return len(r.batch) > 0
}

// lag returns how many events the handler has still to hear of, and how old the
// oldest of them is.
func (r *Registration) lag() (events int, age time.Duration) {
	unheard := int(r.unheard.Load())
	events, oldest := r.cursor.left()
	if unheard > 0 {
		oldest = time.Duration(r.calling.Load())
	}
	if events += unheard; events == 0 {
		return 0, 0
	}
	return events, time.Since(r.cursor.log.born) - oldest
}

// call tells the handler of one event. A panic ends this call, and no other.
func (r *Registration) call(ctx context.Context, e *event) {
	defer func() {
		if p := recover(); p != nil {
			r.panics.Add(1)
			klog.FromContext(ctx).Error(nil, "A handler panicked, the event is lost to it",
				"informer", r.informer.options.name(), "handler", r.name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	switch e.kind {
	case eventAdd:
		r.handler.OnAdd(e.new, e.flag)
	case eventUpdate, eventResync:
		r.handler.OnUpdate(e.old, e.new)
	case eventDelete:
		r.handler.OnDelete(e.old, e.flag)
	case eventSynced:
		close(r.synced)
	}
}
