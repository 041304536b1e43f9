package informer

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// Registration is a Handler's place at an Informer. Upstream: client-go's
// cache.ResourceEventHandlerRegistration, and behind it processorListener.
type Registration struct {
	informer *Informer
	handler  Handler
	name     string
	resync   bool

	synced  chan struct{} // closed when the initial list has been handled
	removed chan struct{} // closed by Remove
	remove  sync.Once
	running sync.WaitGroup // of the goroutine, if there is one

	// The place in the log: the next event is place.events[offset]. Only the
	// goroutine uses it; between two Runs, nobody.
	place  *segment
	offset int

	position atomic.Int64 // the same place, counted in events
	panics   atomic.Int64 // how many calls have panicked
}

func newRegistration(i *Informer, h Handler, o HandlerOptions) *Registration {
	r := &Registration{
		informer: i,
		handler:  h,
		name:     cmp.Or(o.Name, fmt.Sprintf("%T", h)),
		resync:   o.Resync,
		synced:   make(chan struct{}),
		removed:  make(chan struct{}),
	}
	var position int64
	r.place, position = i.processor.join()
	r.position.Store(position)
	return r
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
	})
	r.running.Wait()
}

// run calls the handler, event by event, until ctx ends or the handler is removed.
func (r *Registration) run(ctx context.Context) {
	for {
		select {
		case <-r.place.filled:
		case <-r.removed:
			return
		case <-ctx.Done():
			return
		}
		for r.offset < len(r.place.events) {
			if closed(r.removed) || ctx.Err() != nil {
				return
			}
			e := &r.place.events[r.offset]
			r.offset++
			r.call(ctx, e)
			r.position.Add(1)
		}
		r.place, r.offset = r.place.next, 0
	}
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
	case eventUpdate:
		r.handler.OnUpdate(e.old, e.new)
	case eventDelete:
		r.handler.OnDelete(e.old, e.flag)
	case eventResync:
		if r.resync {
			r.handler.OnUpdate(e.old, e.new)
		}
	case eventSynced:
		close(r.synced)
	}
}
