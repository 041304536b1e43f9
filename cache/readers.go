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

// beginLocked begins a write.
//
// +checklocks:x.mu
func (x *Indexer) beginLocked() *batch {
	x.batch.reset() // an error or a panic may have left something
	x.batch.next = x.state.Load().next()
	return &x.batch
}

// publishLocked makes the state that x.batch has made what readers see.
//
// +checklocks:x.mu
func (x *Indexer) publishLocked() {
	b, old := &x.batch, x.state.Load()
	x.state.Store(b.next)
	// From here on nobody acquires old.
	for _, p := range b.written {
		if now, _ := p.last(); now.object == nil {
			b.next.table.remove(p)
		}
	}
	if len(x.links) == 0 {
		x.links, b.links = b.links, x.links[:0]
	} else {
		x.links = append(x.links, b.links...)
	}
	x.emptied = append(x.emptied, b.emptied...)
	b.reset()
	if old.readers.Load() > 0 {
		x.past = append(x.past, old)
	}
	links := x.trimLocked()
	cutAll(links)
	if x.links == nil && cap(links) <= maxScratch {
		x.links = links[:0] // spares a later write an allocation
	}
	x.dropEmptiedLocked()
}

// oldestLocked returns the seq of the oldest state that may have readers.
//
// +checklocks:x.mu
func (x *Indexer) oldestLocked() uint64 {
	if len(x.past) > 0 {
		return x.past[0].seq
	}
	return x.state.Load().seq
}

// trimLocked takes from links what no reader needs any more, to be cut: the
// versions that the oldest state with readers has, since a reader stops there.
//
// +checklocks:x.mu
func (x *Indexer) trimLocked() []link {
	x.past = slices.DeleteFunc(x.past, func(st *state) bool { return st.readers.Load() == 0 })
	oldest, links := x.oldestLocked(), x.links
	n, _ := slices.BinarySearchFunc(links, oldest+1, func(l link, seq uint64) int { return cmp.Compare(l.seq, seq) })
	x.links = links[n:]
	if n == len(links) {
		x.links = nil
	}
	return links[:n]
}

func cutAll(links []link) {
	for _, l := range links {
		l.version.cut()
	}
	clear(links) // the array may live on
}

// dropEmptiedLocked takes buckets that are empty for every reader from their indexes.
//
// +checklocks:x.mu
func (x *Indexer) dropEmptiedLocked() {
	st, oldest := x.state.Load(), x.oldestLocked()
	n := 0
	for ; n < len(x.emptied) && x.emptied[n].seq <= oldest; n++ {
		e := x.emptied[n]
		i := st.indexOf(e.field)
		still := e.bucket.current.Load().seq == e.seq // or it is the turn of a later one, or of none
		if still && i >= 0 && st.indexes[i].bucket(e.bucket.key.Name) == e.bucket {
			st.indexes[i].values.remove(e.bucket)
		}
	}
	x.emptied = slices.Delete(x.emptied, 0, n)
}

// tidy cuts what no reader needs any more, if that is due. Whoever has the lock
// instead does it, after letting go of it.
func (x *Indexer) tidy() {
	for x.due.Load() && x.mu.TryLock() {
		x.due.Store(false)
		links := x.trimLocked()
		x.mu.Unlock()
		cutAll(links) // without the lock: no write waits for it
	}
}
