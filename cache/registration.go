package cache

import (
	"context"
	"fmt"

	"governor/client"
	"governor/informer"
)

// Registration is a handler's place at a KindInformer.
type Registration struct {
	kind    *KindInformer
	handler informer.Handler
	options informer.HandlerOptions

	attached chan struct{} // closed when at the informers, or removed before

	// Guarded by kind.mu; at is constant once attached is closed.
	at      []*informer.Registration // one for each of the kind's scopes
	removed bool
}

// attachLocked adds the handler to the informers of an open kind; kind.mu is held.
func (r *Registration) attachLocked(scopes []*scope) error {
	if r.removed {
		return nil
	}
	h := r.handler
	if len(scopes) > 1 {
		h = &oneAtATime{handler: h, turn: make(chan struct{}, 1)}
	}
	for _, s := range scopes {
		at, err := s.informer.AddHandler(h, &r.options)
		if err != nil {
			return err
		}
		r.at = append(r.at, at)
	}
	close(r.attached)
	return nil
}

// WaitForSync returns nil when the handler has handled the initial list;
// otherwise, when ctx ends or the kind's informer stops, a NotSyncedError.
func (r *Registration) WaitForSync(ctx context.Context) error {
	k := r.kind
	if err := k.WaitForSync(ctx); err != nil {
		return err
	}
	if err := k.wait(ctx, r.attached); err != nil {
		return k.notSynced(nil, err)
	}
	for _, at := range r.at {
		if err := k.wait(ctx, at.Synced()); err != nil {
			return k.notSynced(nil, fmt.Errorf("a handler has not handled the initial list: %w", err))
		}
	}
	return nil
}

// Remove ends the calls, and returns when the last one has returned. It must
// not be called by the handler itself. A second Remove does nothing more.
func (r *Registration) Remove() {
	r.kind.mu.Lock()
	if !r.removed && r.kind.scopes == nil {
		close(r.attached)
	}
	r.removed = true
	at := r.at
	r.kind.mu.Unlock()
	for _, a := range at {
		a.Remove()
	}
}

// oneAtATime is a handler at several informers, each of which calls it from a
// goroutine of its own.
type oneAtATime struct {
	handler informer.Handler
	// turn has room for the one whose call it is. A mutex would do, but a
	// handler that sleeps in a testing/synctest bubble would then never wake.
	turn chan struct{}
}

func (o *oneAtATime) enter() { o.turn <- struct{}{} }
func (o *oneAtATime) leave() { <-o.turn }

// OnAdd implements informer.Handler.
func (o *oneAtATime) OnAdd(obj client.Object, isInInitialList bool) {
	o.enter()
	defer o.leave()
	o.handler.OnAdd(obj, isInInitialList)
}

// OnUpdate implements informer.Handler.
func (o *oneAtATime) OnUpdate(oldObj, newObj client.Object) {
	o.enter()
	defer o.leave()
	o.handler.OnUpdate(oldObj, newObj)
}

// OnDelete implements informer.Handler.
func (o *oneAtATime) OnDelete(obj client.Object, finalStateUnknown bool) {
	o.enter()
	defer o.leave()
	o.handler.OnDelete(obj, finalStateUnknown)
}
