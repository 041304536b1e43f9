package controller

import (
	"context"
	"errors"
	"fmt"
)

// Source feeds a queue. One Source value is for one controller.
//
// A Source may have these methods as well:
//
//   - String() string: its name in errors and logs; otherwise it is its Go type.
//   - Validate() error: Watch and Build return its error, so that a mistake
//     shows before anything runs.
//   - WithPredicates(...Predicate) Source[K]: a copy that lets fewer events
//     through; the builder's WithEventFilter calls it.
//
// Upstream: source.TypedSource and TypedSyncingSource, whose Start must not block.
type Source[K comparable] interface {
	// Run feeds q until ctx ends, and calls synced once, when all that existed
	// at the start has been enqueued. It returns when every goroutine that it
	// started has ended: an error when it cannot go on, nil when there will be
	// no more events. If ctx ends before synced was called, the error may say
	// what was missing.
	Run(ctx context.Context, q Adder[K], synced func()) error
}

// SourceFunc is a Source. Upstream: source.TypedFunc.
type SourceFunc[K comparable] func(ctx context.Context, q Adder[K], synced func()) error

// Run calls f.
func (f SourceFunc[K]) Run(ctx context.Context, q Adder[K], synced func()) error {
	return f(ctx, q, synced)
}

// Validate reports a nil function.
func (f SourceFunc[K]) Validate() error {
	if f == nil {
		return errors.New("the function is nil")
	}
	return nil
}

// nameOf is a source's name in errors and logs.
func nameOf(source any) string {
	if s, ok := source.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", source)
}

// validate asks anything that can tell whether it was put together well.
func validate(thing any) error {
	if v, ok := thing.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}
