package storage

import (
	"context"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cursor is a place in the history of one resource, and moves forward. It belongs to
// one goroutine; it costs nothing while nobody asks it, and needs no closing.
type Cursor struct {
	store    *Store
	table    *table
	position uint64
}

// Cursor returns a Cursor whose Next starts after a resourceVersion. It does not fail:
// Next says whether the history reaches back so far.
func (s *Store) Cursor(resource schema.GroupResource, after uint64) *Cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Cursor{store: s, table: s.tableLocked(resource), position: after}
}

// Position is the resourceVersion up to which everything has been returned.
func (c *Cursor) Position() uint64 { return c.position }

// Next returns the changes after the cursor's position, in order, and moves
// it behind them; read them, no more. If there are none it moves to the Store's
// resourceVersion and returns a channel that is closed at the next change. It
// does not block. The errors are ErrTooOld and, once the last
// change has been returned, ErrDropped.
func (c *Cursor) Next() ([]Change, <-chan struct{}, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	changes, ok := c.table.since(c.position)
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("%w: %d (%d)", ErrTooOld, c.position, c.table.floor)
	case len(changes) > 0:
		c.position = changes[len(changes)-1].ResourceVersion
		return changes, nil, nil
	case c.table.dropped:
		return nil, nil, ErrDropped
	}
	c.position = max(c.position, c.store.version)
	return nil, c.table.next(), nil
}

// Watch yields every change of a resource in a namespace ("" means all) after a resourceVersion, in order,
// until ctx ends. Whenever it has caught up it yields Progress, then waits.
// An error (ErrTooOld, ErrDropped) is the last that it yields.
func (s *Store) Watch(ctx context.Context, resource schema.GroupResource, namespace string, after uint64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		cursor := s.Cursor(resource, after)
		for ctx.Err() == nil {
			changes, more, err := cursor.Next()
			if err != nil {
				yield(Change{}, err)
				return
			}
			for _, c := range changes {
				if (namespace == "" || c.Object.Namespace == namespace) && !yield(c, nil) {
					return
				}
			}
			if more == nil {
				continue
			}
			if !yield(Change{Type: Progress, ResourceVersion: cursor.position}, nil) {
				return
			}
			select {
			case <-ctx.Done():
			case <-more:
			}
		}
	}
}
