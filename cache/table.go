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
// without a lock: a bucket goes from empty to a slot to gone, and from gone to
// the slot of another key, but never back to empty; so a reader that walks from
// a key's first bucket to an empty one passes the key's slot if that was there
// all the while. Where a slot comes or goes during the walk, either answer is
// that of a moment within it. A table that is full is left as it is, and a
// larger one becomes that of the next state.
//
// Upstream: the map of client-go tools/cache/thread_safe_store.go, behind one
// lock for all.
type table struct {
	seed    maphash.Seed
	buckets []bucket // a power of two, at most 3/4 of them not empty
	live    int      // slots; the writer's, as is used
	used    int      // live and gone
}

type bucket struct {
	// hash saves most reads of slots that are another key's. It is written
	// before slot, and means nothing while that is nil or gone.
	hash atomic.Uint64
	slot atomic.Pointer[slot] // nil: empty
}

// gone is in the bucket of a slot that was removed. It is no key's.
var gone = &slot{}

// newTable returns a table with room for n slots.
func newTable(n int) *table {
	size := max(16, 1<<bits.Len(uint(n*3/2)))
	return &table{seed: maphash.MakeSeed(), buckets: make([]bucket, size)}
}

// hash is of both strings, one turned: the namespace "a" and the name "b" are not "b" and "a".
func (t *table) hash(key client.ObjectKey) uint64 {
	return bits.RotateLeft64(maphash.String(t.seed, key.Namespace), 32) ^ maphash.String(t.seed, key.Name)
}

// get returns the slot of a key, or nil.
func (t *table) get(key client.ObjectKey, hash uint64) *slot {
	mask := uint64(len(t.buckets) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		b := &t.buckets[i]
		s := b.slot.Load()
		switch {
		case s == nil:
			return nil
		case b.hash.Load() == hash && s.key == key && s != gone:
			return s
		}
	}
}

// add puts a slot whose key is not there, and returns the table that has it: t,
// or, if t was full, a larger one.
func (t *table) add(s *slot) *table {
	if (t.used+1)*4 > len(t.buckets)*3 {
		t = t.rebuilt()
	}
	mask := uint64(len(t.buckets) - 1)
	i := s.hash & mask
	for t.buckets[i].slot.Load() != nil && t.buckets[i].slot.Load() != gone {
		i = (i + 1) & mask
	}
	if t.buckets[i].slot.Load() == nil {
		t.used++
	}
	t.live++
	t.buckets[i].hash.Store(s.hash)
	t.buckets[i].slot.Store(s)
	return t
}

// rebuilt returns a table of the same slots with room for as many more.
func (t *table) rebuilt() *table {
	larger := newTable(2 * (t.live + 1))
	larger.seed = t.seed
	for i := range t.buckets {
		if s := t.buckets[i].slot.Load(); s != nil && s != gone {
			larger.add(s)
		}
	}
	return larger
}

// remove takes a slot out, which is there.
func (t *table) remove(s *slot) {
	mask := uint64(len(t.buckets) - 1)
	i := s.hash & mask
	for t.buckets[i].slot.Load() != s {
		i = (i + 1) & mask
	}
	t.buckets[i].slot.Store(gone)
	t.live--
}
