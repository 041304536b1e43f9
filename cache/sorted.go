package cache

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"governor/client"
)

// entry places a slot under a value: in the tree of objects the value is the
// namespace, in the tree of an index one of the values of the object.
type entry struct {
	value string
	slot  *slot
}

// compare orders entries by value, namespace, name.
func (e *entry) compare(o *entry) int { return e.compareTo(o.value, o.slot.key) }

func (e *entry) compareTo(value string, key client.ObjectKey) int {
	if c := strings.Compare(e.value, value); c != 0 {
		return c
	}
	return compareKeys(e.slot.key, key)
}

func compareKeys(a, b client.ObjectKey) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// change puts an entry, or removes the one in its place.
type change struct {
	entry
	remove bool
}

// A chunk of more than maxChunk entries is split; one that shrinks below
// minChunk joins its neighbour. A change copies one chunk, of 24 bytes an entry,
// and the slice of chunks, of 8 bytes each: 128 suits 20,000 objects and 200,000.
const (
	maxChunk = 128
	minChunk = maxChunk / 4
)

// sorted is a sequence of entries in order, cut into chunks. Neither it nor
// its chunks ever change, so that who holds one may read it without a lock;
// apply returns another one that shares the chunks that stayed the same.
//
//	sorted ──► [ chunk │ chunk │ chunk ]
//	               │       └──► entry < entry < entry …
//	               └──► entry < entry …                    every entry < those of the next chunk
//
// Invariants, which valid checks:
//
//  1. no chunk is empty or has more than maxChunk entries.
//  2. each entry is less than the next, across chunks too.
type sorted []*chunk

type chunk struct{ entries []entry }

// cut appends entries to s as chunks of even size with room to grow.
func cut(s sorted, entries []entry) sorted {
	if len(entries) == 0 {
		return s
	}
	if len(entries) <= maxChunk {
		return append(s, &chunk{entries})
	}
	const full = maxChunk * 3 / 4
	for n := (len(entries) + full - 1) / full; n > 0; n-- {
		size := (len(entries) + n - 1) / n
		s = append(s, &chunk{slices.Clone(entries[:size])}) // its own array: a chunk that goes frees it
		entries = entries[size:]
	}
	return s
}

// chunkOf returns the chunk in which value, key is or would be: the last one
// whose first entry is not greater, or the first. s is not empty.
func (s sorted) chunkOf(value string, key client.ObjectKey) int {
	lo, hi := 1, len(s)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); s[mid].entries[0].compareTo(value, key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// seek returns the place of the first entry that is not less than value, key:
// chunk and position within it. It is the end if chunk is len(s).
func (s sorted) seek(value string, key client.ObjectKey) (chunk, pos int) {
	if len(s) == 0 {
		return 0, 0
	}
	chunk = s.chunkOf(value, key)
	entries := s[chunk].entries
	lo, hi := 0, len(entries)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); entries[mid].compareTo(value, key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(entries) {
		return chunk + 1, 0
	}
	return chunk, lo
}

// get returns the slot at value, key, or nil.
func (s sorted) get(value string, key client.ObjectKey) *slot {
	c, p := s.seek(value, key)
	if c == len(s) {
		return nil
	}
	if e := &s[c].entries[p]; e.compareTo(value, key) == 0 {
		return e.slot
	}
	return nil
}

// from yields the entries from value, key on, until yield returns false.
func (s sorted) from(value string, key client.ObjectKey, yield func(*entry) bool) {
	c, p := s.seek(value, key)
	for ; c < len(s); c, p = c+1, 0 {
		for i := range s[c].entries[p:] {
			if !yield(&s[c].entries[p+i]) {
				return
			}
		}
	}
}

// all yields every entry.
func (s sorted) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) { s.from("", client.ObjectKey{}, yield) }
}

// inOrder sorts changes.
func inOrder(changes []change) []change {
	if len(changes) > 1 {
		slices.SortFunc(changes, func(a, b change) int { return a.compare(&b.entry) })
	}
	return changes
}

// apply returns s with changes, which are in order and have no place twice.
func (s sorted) apply(changes []change) sorted {
	if len(changes) == 0 {
		return s
	}
	if len(s) == 0 {
		return cut(nil, merge(nil, changes))
	}
	out := make(sorted, 0, len(s)+2*len(changes)/maxChunk+1)
	next := 0 // the first chunk of s that is not in out
	for len(changes) > 0 {
		at := next + s[next:].chunkOf(changes[0].value, changes[0].slot.key)
		out = append(out, s[next:at]...)
		n := len(changes)
		if at+1 < len(s) { // the rest belongs to later chunks
			border := &s[at+1].entries[0]
			n, _ = slices.BinarySearchFunc(changes, border, func(c change, e *entry) int { return c.compare(e) })
		}
		out = glue(out, merge(s[at].entries, changes[:n]))
		next, changes = at+1, changes[n:]
	}
	return append(out, s[next:]...)
}

// glue appends entries to s as chunks of their own, or joins them with the
// last chunk if they are too few.
func glue(s sorted, entries []entry) sorted {
	if len(entries) == 0 {
		return s
	}
	if last := len(s) - 1; last >= 0 && len(entries) < minChunk && len(s[last].entries)+len(entries) <= maxChunk {
		s[last] = &chunk{slices.Concat(s[last].entries, entries)}
		return s
	}
	return cut(s, entries)
}

// merge returns a new slice of entries with changes.
func merge(entries []entry, changes []change) []entry {
	out := make([]entry, 0, len(entries)+len(changes))
	for i := range changes {
		c := &changes[i]
		n, found := slices.BinarySearchFunc(entries, c, func(e entry, c *change) int { return e.compare(&c.entry) })
		out = append(out, entries[:n]...)
		if !c.remove {
			out = append(out, c.entry)
		}
		if found {
			n++
		}
		entries = entries[n:]
	}
	return append(out, entries...)
}

// len counts the entries.
func (s sorted) len() int {
	n := 0
	for _, c := range s {
		n += len(c.entries)
	}
	return n
}

// valid checks the invariants.
func (s sorted) valid() error {
	var last *entry
	for i, c := range s {
		if len(c.entries) == 0 || len(c.entries) > maxChunk {
			return fmt.Errorf("chunk %d of %d has %d entries", i, len(s), len(c.entries))
		}
		for j := range c.entries {
			if e := &c.entries[j]; last != nil && last.compare(e) >= 0 {
				return fmt.Errorf("%q %v before %q %v", last.value, last.slot.key, e.value, e.slot.key)
			}
			last = &c.entries[j]
		}
	}
	return nil
}
