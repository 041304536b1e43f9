package informer

import "governor/client"

// Handler hears of every change, after the store has it. Calls for one Handler
// come one at a time, in order. Objects are shared: read them only. Upstream:
// client-go's cache.ResourceEventHandler.
//
// A slow Handler delays nobody else: it falls behind, and what it has still to
// hear of stays in memory, see HandlerOptions.Coalesce. One that panics loses that one call: the panic is
// logged and counted in Status, and the next event follows. A Handler that never
// returns keeps Run from returning.
type Handler interface {
	// OnAdd gets an object that the Handler has not heard of, or that it has
	// heard deleted. isInInitialList says that it was there before the Handler,
	// or before the Informer.
	OnAdd(obj client.Object, isInInitialList bool)
	// OnUpdate gets an object's last state that the Handler has heard of, and
	// its new one. Both have the same UID. On a resync they are the same object.
	OnUpdate(oldObj, newObj client.Object)
	// OnDelete gets the last known state. finalStateUnknown says that the
	// delete itself was missed, so that the state may be older than the last.
	OnDelete(obj client.Object, finalStateUnknown bool)
}

// HandlerFuncs is a Handler of functions; those that are nil are not called.
// Upstream: client-go's cache.ResourceEventHandlerDetailedFuncs.
type HandlerFuncs struct {
	AddFunc    func(obj client.Object, isInInitialList bool)
	UpdateFunc func(oldObj, newObj client.Object)
	DeleteFunc func(obj client.Object, finalStateUnknown bool)
}

// OnAdd implements Handler.
func (f HandlerFuncs) OnAdd(obj client.Object, isInInitialList bool) {
	if f.AddFunc != nil {
		f.AddFunc(obj, isInInitialList)
	}
}

// OnUpdate implements Handler.
func (f HandlerFuncs) OnUpdate(oldObj, newObj client.Object) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete implements Handler.
func (f HandlerFuncs) OnDelete(obj client.Object, finalStateUnknown bool) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(obj, finalStateUnknown)
	}
}

// HandlerOptions tunes a Handler's place at an Informer. The zero value, and
// nil, are ready to use.
type HandlerOptions struct {
	// Name is used in logs and Status. Empty means the Handler's Go type.
	Name string
	// Resync asks for an OnUpdate(obj, obj) for every object each
	// Options.ResyncPeriod.
	Resync bool
	// Coalesce is for a Handler to which it only matters which objects are not
	// as it last heard, not each state that they passed through: one that puts
	// the objects' keys into a queue. If it falls far behind, by more than 1024
	// events and one for each object, then what it has still to hear of is
	// merged, object by object: several updates are one, from the oldest state to
	// the newest; an add and its updates are one add; a delete stays a delete. So
	// its backlog is bounded by the number of objects, and its story stays
	// legal, though objects may overtake one another.
	//
	// It is not for one that computes something else from each state, such as an
	// owner: nobody would hear of the owner that came and went.
	//
	// Without it a slow Handler hears of each event, in order, and its backlog,
	// two states of an object for each event, has no bound: HandlerStatus tells.
	Coalesce bool
}

func (o *HandlerOptions) orZero() HandlerOptions {
	if o == nil {
		return HandlerOptions{}
	}
	return *o
}
