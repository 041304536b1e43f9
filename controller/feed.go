package controller

import (
	"context"
	"fmt"
	"runtime/debug"

	"governor/client"

	"k8s.io/klog/v2"
)

// feed is the way from one source's events to the queue: predicates first, then
// the handler. It implements informer.Handler.
//
// A predicate or handler that panics costs no later event. The panic is logged
// with source, event and object. A predicate's panic counts as true: a
// reconcile too many does no harm, one too few would.
type feed[K comparable] struct {
	// ctx is a field because informer.Handler's methods have no context. A feed
	// lives no longer than the Run that made it, whose context this is.
	ctx        context.Context
	source     string
	predicates Predicates
	handler    EventHandler[K]
	queue      Adder[K]
}

// OnAdd implements informer.Handler.
func (f *feed[K]) OnAdd(obj client.Object, isInInitialList bool) {
	e := CreateEvent{Object: obj, IsInInitialList: isInInitialList}
	f.pass("create", obj,
		func(p Predicate) bool { return p.Create(e) },
		func() { f.handler.Create(f.ctx, e, f.queue) })
}

// OnUpdate implements informer.Handler.
func (f *feed[K]) OnUpdate(oldObj, newObj client.Object) {
	if oldObj == nil { // an update from nothing is a create
		f.OnAdd(newObj, false)
		return
	}
	e := UpdateEvent{ObjectOld: oldObj, ObjectNew: newObj}
	f.pass("update", newObj,
		func(p Predicate) bool { return p.Update(e) },
		func() { f.handler.Update(f.ctx, e, f.queue) })
}

// OnDelete implements informer.Handler.
func (f *feed[K]) OnDelete(obj client.Object, finalStateUnknown bool) {
	e := DeleteEvent{Object: obj, DeleteStateUnknown: finalStateUnknown}
	f.pass("delete", obj,
		func(p Predicate) bool { return p.Delete(e) },
		func() { f.handler.Delete(f.ctx, e, f.queue) })
}

func (f *feed[K]) onGeneric(e GenericEvent) {
	f.pass("generic", e.Object,
		func(p Predicate) bool { return p.Generic(e) },
		func() { f.handler.Generic(f.ctx, e, f.queue) })
}

// pass lets an event through to handle when every predicate allows it.
func (f *feed[K]) pass(event string, obj client.Object, allows func(Predicate) bool, handle func()) {
	if obj == nil {
		klog.FromContext(f.ctx).Info("Event without object ignored", "source", f.source, "event", event)
		return
	}
	for _, p := range f.predicates {
		allowed := true // also when the predicate panics
		f.contain("predicate", event, obj, func() { allowed = allows(p) })
		if !allowed {
			return
		}
	}
	f.contain("handler", event, obj, handle)
}

// contain calls fn and survives its panic.
func (f *feed[K]) contain(what, event string, obj client.Object, fn func()) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(f.ctx).Error(fmt.Errorf("panic: %v", r), "Observed a panic",
				"in", what, "source", f.source, "event", event, "object", klog.KObj(obj), "stack", string(debug.Stack()))
		}
	}()
	fn()
}
