package storage

import (
	"fmt"

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
