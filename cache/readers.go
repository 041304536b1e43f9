package cache

import (
	"cmp"
	"slices"
)

// acquire returns the published state, and holds it: its slots keep the versions
// that it has until release. It takes one more turn for each state that is
// published in the few nanoseconds between the two loads: without the second, a
// writer might have found the state without readers, and cut its chains.
func (x *Indexer) acquire() *state {
	for {
		st := x.state.Load()
		st.readers.Add(1)
		if x.state.Load() == st {
			return st
		}
		x.release(st)
	}
}

// release ends a hold.
func (x *Indexer) release(st *state) {
	if st.readers.Add(-1) == 0 && x.state.Load() != st {
		x.due.Store(true)
		x.tidy()
	}
}

// publishLocked makes next, for which x.batch has written, what readers see.
//
// +checklocks:x.mu
func (x *Indexer) publishLocked(next *state) {
	b := &x.batch
	old := x.state.Load()
	x.state.Store(next)
	// From here on nobody acquires old.
	for _, s := range b.written {
		v := s.current.Load()
		if v.prev.Load() != nil {
			x.links = append(x.links, v)
		}
		if v.object == nil {
			next.table.remove(s)
		}
	}
	b.reset()
	if old.readers.Load() > 0 {
		x.past = append(x.past, old)
	}
	links := x.trimLocked()
	unlink(links)
	if x.links == nil && cap(links) <= maxScratch {
		x.links = links[:0] // spares the next write an allocation
	}
}

// trimLocked takes from links what no reader needs any more, to be cut: the
// versions that the oldest state with readers has, since a reader stops there.
//
// +checklocks:x.mu
func (x *Indexer) trimLocked() []*version {
	x.past = slices.DeleteFunc(x.past, func(st *state) bool { return st.readers.Load() == 0 })
	links := x.links
	if len(x.past) == 0 {
		x.links = nil
		return links
	}
	oldest := x.past[0].seq
	n, _ := slices.BinarySearchFunc(links, oldest+1, func(v *version, seq uint64) int { return cmp.Compare(v.seq, seq) })
	x.links = links[n:]
	return links[:n:n]
}

// unlink parts versions from those before them.
func unlink(links []*version) {
	for _, v := range links {
		v.prev.Store(nil)
	}
	clear(links) // the array may live on
}

// tidy cuts what no reader needs any more, if that is due. Whoever has the lock
// instead does it, after letting go of it.
func (x *Indexer) tidy() {
	for x.due.Load() && x.mu.TryLock() {
		x.due.Store(false)
		links := x.trimLocked()
		x.mu.Unlock()
		unlink(links) // without the lock: no write waits for it
	}
}
