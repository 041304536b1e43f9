package cache

import (
	"slices"

	"governor/client"
)

// batch is a write at work: it writes versions into slots, which nobody sees
// before the next state is published. An Indexer keeps one, since what a write
// needs on its way is garbage otherwise.
type batch struct {
	puts    []put
	said    []indexed // what each index function said, of each put in turn
	written []*slot   // those that have a version of the next state
	changes []change  // scratch
}

type put struct {
	key    client.ObjectKey
	object client.Object
}

// prepare does all that runs code of others, which may panic, before the first
// version is written.
func (b *batch) prepare(objects []client.Object, indexes []index) {
	for _, o := range objects {
		b.puts = append(b.puts, put{client.ObjectKeyFromObject(o), o})
		for i := range indexes {
			b.said = append(b.said, indexes[i].of(o))
		}
	}
}

// put writes what was prepared. Of several objects with one key it takes the last.
func (b *batch) put(next *state) {
	for n, width := len(b.puts)-1, len(next.indexes); n >= 0; n-- {
		p, said := &b.puts[n], b.said[n*width:(n+1)*width]
		hash := next.table.hash(p.key)
		s := next.table.get(p.key, hash)
		if s == nil {
			s = &slot{key: p.key, hash: hash}
			b.write(s, &version{seq: next.seq, object: p.object, values: slices.Clone(said)})
			next.table = next.table.add(s)
			continue
		}
		old := s.current.Load()
		if old.seq == next.seq {
			continue
		}
		values := old.values // shared, as long as they stay the same
		if !sameValues(values, said) {
			values = slices.Clone(said)
		}
		b.write(s, &version{seq: next.seq, object: p.object, values: values})
	}
}

func (b *batch) write(s *slot, v *version) {
	s.write(v)
	b.written = append(b.written, s)
}

// remove makes keys gone that are there and were not put.
func (b *batch) remove(next *state, keys []client.ObjectKey) {
	for _, key := range keys {
		if s := next.table.get(key, next.table.hash(key)); s != nil && s.current.Load().seq != next.seq {
			b.write(s, &version{seq: next.seq})
		}
	}
}

// removeOthers makes gone what was not put.
func (b *batch) removeOthers(next *state) {
	for e := range next.objects.all() {
		if e.slot.current.Load().seq != next.seq {
			b.write(e.slot, &version{seq: next.seq})
		}
	}
}

// reindex writes versions of the same objects with other value sets. n counts
// the objects of next, in order.
func (b *batch) reindex(next *state, values func(n int, old []indexed) []indexed) {
	n := 0
	for e := range next.objects.all() {
		old := e.slot.current.Load()
		b.write(e.slot, &version{seq: next.seq, object: old.object, values: values(n, old.values)})
		n++
	}
}

// maxScratch is how much a batch keeps for the next one.
const maxScratch = 4096

// reset makes the batch empty, so that it keeps no object in memory.
func (b *batch) reset() {
	if cap(b.puts)+cap(b.said)+cap(b.written)+cap(b.changes) > maxScratch {
		*b = batch{}
		return
	}
	clear(b.puts)
	clear(b.said)
	clear(b.written)
	clear(b.changes)
	b.puts, b.said, b.written, b.changes = b.puts[:0], b.said[:0], b.written[:0], b.changes[:0]
}
