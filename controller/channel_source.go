package controller

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// Channel is the source of events from outside the cluster. What is in the
// channel already when the controller starts is handled too; a slow handler
// makes the sender wait, once the channel's own buffer is full; closing the
// channel ends the source quietly.
//
// A value that is received is gone for others: one Go channel feeds one
// controller. A source that a second controller runs at the same time is an
// error there.
//
// Upstream: source.TypedChannel, which copies events into a buffer of 1024 for
// each controller, where one full buffer stops them all.
func Channel[K comparable](events <-chan GenericEvent, h EventHandler[K], predicates ...Predicate) Source[K] {
	return &channelSource[K]{events: events, handler: h, predicates: predicates, running: new(atomic.Bool)}
}

type channelSource[K comparable] struct {
	events     <-chan GenericEvent
	handler    EventHandler[K]
	predicates Predicates
	running    *atomic.Bool // of this source and of its copies
}

// Run implements Source.
func (c *channelSource[K]) Run(ctx context.Context, q Adder[K], synced func()) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("the source is in use by another controller; give each controller a Go channel of its own")
	}
	defer c.running.Store(false)
	f := &feed[K]{ctx: ctx, source: c.String(), predicates: c.predicates, handler: c.handler, queue: q}
	synced() // what is in the channel is no initial list: there may be no end to it
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-c.events:
			if !open {
				return nil
			}
			f.onGeneric(e)
		}
	}
}

// String names the source in errors and logs.
func (c *channelSource[K]) String() string { return "channel" }

// Validate reports what is missing.
func (c *channelSource[K]) Validate() error {
	switch {
	case c.events == nil:
		return errors.New("a Channel source needs a channel, not nil")
	case c.handler == nil:
		return errors.New("a Channel source needs an event handler, not nil")
	}
	return errors.Join(validate(c.handler), c.predicates.validate())
}

// WithPredicates returns a copy that lets fewer events through.
func (c *channelSource[K]) WithPredicates(predicates ...Predicate) Source[K] {
	fewer := *c
	fewer.predicates = slices.Concat(predicates, c.predicates)
	return &fewer
}
