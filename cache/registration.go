package cache

import (
	"context"
	"fmt"
	"slices"

	"governor/client"
	"governor/informer"
)

// Registration is a handler's place at a KindInformer. It outlives the kind's
// informers: after RemoveInformer, and when the kind has been asked for again, the
// handler goes on with the next.
type Registration struct {
	kind    *KindInformer
	handler informer.Handler
	options informer.HandlerOptions

	// Guarded by kind.mu.
	at      []post // at the informers that the kind has, and at those that are ending
	removed bool
}

// post is a handler at one of the kind's informers.
type post struct {
	*informer.Registration
	scope *scope
}

// moveLocked adds the handler to the informers of scopes at which it is not yet. It is
// called by these when it has heard the end of those that it leaves. kind.mu is held.
func (r *Registration) moveLocked(scopes []*scope) {
	o := r.options
	for _, p := range r.at {
		if !slices.Contains(scopes, p.scope) {
			o.After = append(o.After, p.Retired())
		}
	}
	for _, s := range scopes {
		if slices.ContainsFunc(r.at, func(p post) bool { return p.scope == s }) {
			continue
		}
		// The informer refuses a nil handler only, and AddHandler did before.
		p, _ := s.informer.AddHandler(r.handler, &o)
		r.at = append(r.at, post{p, s})
	}
}

// WaitForSync returns nil when the handler has handled the initial list;
// otherwise, when ctx ends or the kind's informer stops, a NotSyncedError.
func (r *Registration) WaitForSync(ctx context.Context) error {
	k := r.kind
	for {
		if err := k.WaitForSync(ctx); err != nil {
			return err
		}
		k.mu.Lock()
		l, at := k.life.Load(), slices.Clone(r.at)
		lay := l.layout.Load()
		k.mu.Unlock()
		if lay == nil {
			continue // it has begun anew, or ended
		}
		moved := false
		for _, p := range at {
			if !slices.Contains(lay.scopes, p.scope) {
				continue
			}
			switch err := l.wait(ctx, p.Synced(), p.Retired()); {
			case err == errLeft:
				moved = true
			case err != nil:
				return k.notSynced(l, nil, fmt.Errorf("a handler has not handled the initial list: %w", err))
			}
		}
		if !moved {
			return nil
		}
		k.mu.Lock()
		removed := r.removed
		k.mu.Unlock()
		if removed {
			return nil
		}
	}
}

// Remove ends the calls, and returns when the last one has returned. It must
// not be called by the handler itself. A second Remove does nothing more.
func (r *Registration) Remove() {
	k := r.kind
	k.mu.Lock()
	r.removed = true
	at := r.at
	r.at = nil
	k.registrations = slices.DeleteFunc(k.registrations, func(x *Registration) bool { return x == r })
	k.mu.Unlock()
	for _, p := range at {
		p.Remove()
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
