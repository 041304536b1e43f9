package cache

import (
	"slices"

	"governor/client"
)

// batch is a write at work: it writes versions into slots, which nobody sees
// before the next state is published. An Indexer keeps one, since what a write
// needs on its way would be garbage otherwise.
type batch struct {
	next    *state
	puts    []put
	said    []indexed // what each index function said, of each put in turn
	written []*place  // those that have a version of next
	links   []link    // those of next that have one before them
	groups  []group
	groupOf map[*bucket]int
	emptied []emptied
}

// put is an object that was given.
type put struct {
	key    client.ObjectKey
	object client.Object
}

// group is what changes in one bucket.
type group struct {
	bucket  *bucket
	field   string // of the index; empty: of a namespace
	changes []change
}

// prepare does all that runs code of others, which may panic, before the first
// version is written.
func (b *batch) prepare(objects []client.Object) {
	b.puts = slices.Grow(b.puts, len(objects))
	b.said = slices.Grow(b.said, len(objects)*len(b.next.indexes))
	b.written = slices.Grow(b.written, len(objects))
	b.links = slices.Grow(b.links, len(objects))
	for _, o := range objects {
		b.puts = append(b.puts, put{client.ObjectKeyFromObject(o), o})
		for i := range b.next.indexes {
			b.said = append(b.said, b.next.indexes[i].of(o))
		}
	}
}

// put writes what was prepared. Of several objects with one key it takes the last.
func (b *batch) put() {
	b.next.table = b.next.table.withRoom(len(b.puts))
	for n, width := len(b.puts)-1, len(b.next.indexes); n >= 0; n-- {
		object, said := b.puts[n].object, b.said[n*width:(n+1)*width]
		p := b.place(b.puts[n].key)
		old := p.current.Load()
		switch {
		case old == nil:
			b.write(p, stored{object, slices.Clone(said)})
			b.next.table = b.next.table.add(p) // not before: from here on readers find it
		case old.seq == b.next.seq: // a later one of this key
		case sameValues(old.value.values, said):
			b.write(p, stored{object, old.value.values}) // shared, as long as they stay the same
		default:
			b.write(p, stored{object, slices.Clone(said)})
		}
	}
}

// place returns the place of key, or a new one, empty and not in the table.
func (b *batch) place(key client.ObjectKey) *place {
	hash := b.next.table.hash(key)
	p := b.next.table.get(key, hash)
	if p == nil {
		if n, found := b.next.space(key.Namespace); found {
			key.Namespace = b.next.spaces[n].key.Name // one string for all is compared at a glance
		}
		p = &place{key: key, hash: hash}
	}
	return p
}

// remove makes keys gone that are there and were not put.
func (b *batch) remove(keys []client.ObjectKey) {
	for _, key := range keys {
		if p := b.next.get(key); p != nil && p.current.Load().seq != b.next.seq {
			b.write(p, stored{})
		}
	}
}

// removeOthers makes gone what was not put.
func (b *batch) removeOthers() {
	for p := range b.next.all() {
		if p.current.Load().seq != b.next.seq {
			b.write(p, stored{})
		}
	}
}

// reindex gives all objects other value sets. n counts them, in order.
func (b *batch) reindex(values func(n int, old []indexed) []indexed) {
	n := 0
	for p := range b.next.all() {
		old, _ := p.last()
		b.write(p, stored{old.object, values(n, old.values)})
		n++
	}
}

func (b *batch) write(p *place, v stored) {
	b.links = p.write(b.next.seq, v, b.links)
	b.written = append(b.written, p)
}

// index brings the buckets of namespaces and indexes to what the places have now.
func (b *batch) index() {
	b.keys()
	for i := range b.next.indexes {
		b.values(i)
	}
	for n := range b.groups {
		g := &b.groups[n]
		old, _ := g.bucket.last()
		now := old.apply(inOrder(g.changes))
		b.links = g.bucket.write(b.next.seq, now, b.links)
		if len(now) == 0 && g.field != "" {
			b.emptied = append(b.emptied, emptied{b.next.seq, g.field, g.bucket})
		}
	}
	b.next.spaces = withoutEmpty(b.next.spaces)
}

// withoutEmpty returns spaces without those that have no objects.
func withoutEmpty(spaces []*bucket) []*bucket {
	empty := func(s *bucket) bool {
		now, _ := s.last()
		return len(now) == 0
	}
	if slices.ContainsFunc(spaces, empty) {
		spaces = slices.DeleteFunc(slices.Clone(spaces), empty)
	}
	return spaces
}

// keys collects what comes and goes in each namespace.
func (b *batch) keys() {
	own := false // next has spaces of its own
	for _, p := range b.written {
		now, before := p.last()
		if (now.object == nil) == (before.object == nil) {
			continue
		}
		n, found := b.next.space(p.key.Namespace)
		if !found {
			if !own {
				b.next.spaces, own = slices.Clone(b.next.spaces), true
			}
			b.next.spaces = slices.Insert(b.next.spaces, n, &bucket{key: client.ObjectKey{Name: p.key.Namespace}})
		}
		b.collect(b.next.spaces[n], "", change{p, now.object == nil})
		if now.object == nil {
			b.next.count--
		} else {
			b.next.count++
		}
	}
}

// values collects what comes and goes under each value of the i-th index.
func (b *batch) values(i int) {
	x := b.next.indexes[i]
	var failed []change
	for _, p := range b.written {
		now, before := p.last()
		is, was := now.indexed(i), before.indexed(i)
		for _, v := range was.values {
			if !slices.Contains(is.values, v) {
				b.collect(x.bucket(v), x.field, change{p, true})
			}
		}
		for _, v := range is.values {
			if !slices.Contains(was.values, v) {
				b.collect(x.add(v), x.field, change{p, false})
			}
		}
		if (is.err != nil) != (was.err != nil) {
			failed = append(failed, change{p, is.err == nil})
		}
	}
	x.failed = x.failed.apply(inOrder(failed))
	if old := &b.next.indexes[i]; x.values != old.values || len(failed) > 0 {
		b.next.indexes = slices.Clone(b.next.indexes)
		b.next.indexes[i] = x
	}
}

func (b *batch) collect(to *bucket, field string, c change) {
	n, known := b.groupOf[to]
	if !known {
		if b.groupOf == nil {
			b.groupOf = make(map[*bucket]int)
		}
		n = len(b.groups)
		b.groupOf[to] = n
		if n < cap(b.groups) {
			b.groups = b.groups[:n+1] // with its old array of changes
		} else {
			b.groups = append(b.groups, group{})
		}
		b.groups[n].bucket, b.groups[n].field = to, field
	}
	b.groups[n].changes = append(b.groups[n].changes, c)
}

// maxScratch is how much a batch keeps for the next one.
const maxScratch = 4096

// reset makes the batch empty, so that it keeps no object in memory.
func (b *batch) reset() {
	if cap(b.puts)+cap(b.said)+len(b.groups) > maxScratch || cap(b.written)+cap(b.links) > maxScratch {
		*b = batch{}
		return
	}
	clear(b.puts)
	clear(b.said)
	clear(b.written)
	clear(b.links)
	clear(b.emptied)
	for n := range b.groups {
		g := &b.groups[n]
		clear(g.changes)
		*g = group{changes: g.changes[:0]}
	}
	if len(b.groups) > 64 {
		b.groupOf = nil // to clear a large map takes longer than a small write
	}
	clear(b.groupOf)
	b.next = nil
	b.puts, b.said, b.written, b.links, b.groups = b.puts[:0], b.said[:0], b.written[:0], b.links[:0], b.groups[:0]
	b.emptied = b.emptied[:0]
}
