package cache

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"governor/client"
)

// table finds the slot of a key. Any number of readers may look while the one
// writer, who holds the Indexer's lock, adds and removes: no lock is needed.
//
// It is a hash table with open addressing and linear probing. Why it is right
// without a lock: a cell goes from empty to a slot to gone, and from gone to
// the slot of another key, but never back to empty; so a reader that walks from
// a key's first cell to an empty one passes the key's slot if that was there
// all the while. Where a slot comes or goes during the walk, either answer is
// that of a moment within it. A table that is full is left as it is, and another
// one becomes that of the next state.
//
// Upstream: the map of client-go tools/cache/thread_safe_store.go, behind one
// lock for all.
type table[V any] struct {
	seed  maphash.Seed
	gone  *slot[V]  // in the cell of a slot that was removed; it is no key's
	cells []cell[V] // a power of two, at most 3/4 of them not empty
	live  int       // slots; the writer's, as is used
	used  int       // live and gone
}

type cell[V any] struct {
	// hash saves most reads of slots that are another key's. It is written
	// before slot, and means nothing while that is nil or gone.
	hash atomic.Uint64
	slot atomic.Pointer[slot[V]] // nil: empty
}

const minCells = 16

// newTable returns a table with room for n slots.
func newTable[V any](n int) *table[V] {
	size := max(minCells, 1<<bits.Len(uint(n*3/2)))
	return &table[V]{seed: maphash.MakeSeed(), cells: make([]cell[V], size), gone: &slot[V]{}}
}

// hash is of both strings, one turned: the namespace "a" and the name "b" are not "b" and "a".
func (t *table[V]) hash(key client.ObjectKey) uint64 {
	return bits.RotateLeft64(maphash.String(t.seed, key.Namespace), 32) ^ maphash.String(t.seed, key.Name)
}

// get returns the slot of a key, or nil.
func (t *table[V]) get(key client.ObjectKey, hash uint64) *slot[V] {
	mask := uint64(len(t.cells) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		c := &t.cells[i]
		s := c.slot.Load()
		switch {
		case s == nil:
			return nil
		case c.hash.Load() == hash && s.key == key && s != t.gone:
			return s
		}
	}
}

// add puts a slot whose key is not there, and returns the table that has it: t,
// or, if t was full or nearly empty, another one.
func (t *table[V]) add(s *slot[V]) *table[V] {
	full, sparse := (t.used+1)*4 > len(t.cells)*3, (t.live+1)*16 < len(t.cells)
	if full || sparse && len(t.cells) > minCells {
		t = t.rebuilt(t.live + 1)
	}
	t.insert(s)
	return t
}

// withRoom returns a table of the same slots that need not grow before it has n.
func (t *table[V]) withRoom(n int) *table[V] {
	if n*4 <= len(t.cells)*3 {
		return t
	}
	return t.rebuilt(n)
}

func (t *table[V]) insert(s *slot[V]) {
	mask := uint64(len(t.cells) - 1)
	for i := s.hash & mask; ; i = (i + 1) & mask {
		c := &t.cells[i]
		switch c.slot.Load() {
		case nil:
			t.used++
		case t.gone:
		default:
			continue
		}
		t.live++
		c.hash.Store(s.hash)
		c.slot.Store(s)
		return
	}
}

// rebuilt returns a table of the same slots with room for n, and some more.
func (t *table[V]) rebuilt(n int) *table[V] {
	other := newTable[V](n)
	other.seed = t.seed
	for i := range t.cells {
		if s := t.cells[i].slot.Load(); s != nil && s != t.gone {
			other.insert(s)
		}
	}
	return other
}

// remove takes a slot out, which is there.
func (t *table[V]) remove(s *slot[V]) {
	mask := uint64(len(t.cells) - 1)
	i := s.hash & mask
	for t.cells[i].slot.Load() != s {
		i = (i + 1) & mask
	}
	t.cells[i].slot.Store(t.gone)
	t.live--
}
