package cache

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"governor/client"
)

func compareKeys(a, b client.ObjectKey) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// change puts a place, or removes it.
type change struct {
	place  *place
	remove bool
}

// inOrder sorts changes.
func inOrder(changes []change) []change {
	if len(changes) > 1 {
		slices.SortFunc(changes, func(a, b change) int { return compareKeys(a.place.key, b.place.key) })
	}
	return changes
}

// A chunk of more than maxChunk places is split; one that shrinks below
// minChunk joins its neighbour. A change copies one chunk and the slice of
// chunks, at 8 bytes each: even with 200,000 in one bucket, a few kilobytes.
const (
	maxChunk = 256
	minChunk = maxChunk / 4
)

// sorted is a sequence of places in order of namespace and name, cut into
// chunks. Neither it nor its chunks ever change, so that who holds one may read
// it without a lock; apply returns another one that shares the chunks that
// stayed the same.
//
//	sorted ──► [ chunk │ chunk │ chunk ]
//	               │       └──► place < place < place …
//	               └──► place < place …                    every place < those of the next chunk
//
// Invariants, which valid checks:
//
//  1. no chunk is empty or has more than maxChunk places.
//  2. each place is less than the next, across chunks too.
type sorted []*chunk

type chunk struct{ places []*place }

// cut appends places to s as chunks of even size with room to grow.
func cut(s sorted, places []*place) sorted {
	if len(places) == 0 {
		return s
	}
	if len(places) <= maxChunk {
		return append(s, &chunk{places})
	}
	const full = maxChunk * 3 / 4
	for n := (len(places) + full - 1) / full; n > 0; n-- {
		size := (len(places) + n - 1) / n
		s = append(s, &chunk{slices.Clone(places[:size])}) // its own array: a chunk that goes frees it
		places = places[size:]
	}
	return s
}

// chunkOf returns the chunk in which key is or would be: the last one whose
// first place is not greater, or the first. s is not empty.
func (s sorted) chunkOf(key client.ObjectKey) int {
	n, _ := slices.BinarySearchFunc(s[1:], key, func(c *chunk, key client.ObjectKey) int {
		if compareKeys(c.places[0].key, key) <= 0 {
			return -1
		}
		return 1
	})
	return n
}

func find(places []*place, key client.ObjectKey) (int, bool) {
	return slices.BinarySearchFunc(places, key, func(p *place, key client.ObjectKey) int { return compareKeys(p.key, key) })
}

// has says whether p is in s.
func (s sorted) has(p *place) bool {
	found := false
	s.from(p.key, func(first *place) bool {
		found = first == p
		return false
	})
	return found
}

// from yields the places from key on, until yield returns false: then it does too.
func (s sorted) from(key client.ObjectKey, yield func(*place) bool) bool {
	if len(s) == 0 {
		return true
	}
	c := s.chunkOf(key)
	n, _ := find(s[c].places, key)
	for ; c < len(s); c, n = c+1, 0 {
		for _, p := range s[c].places[n:] {
			if !yield(p) {
				return false
			}
		}
	}
	return true
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
		at := next + s[next:].chunkOf(changes[0].place.key)
		out = append(out, s[next:at]...)
		n := len(changes)
		if at+1 < len(s) { // the rest belongs to later chunks
			border := s[at+1].places[0].key
			n, _ = slices.BinarySearchFunc(changes, border, func(c change, key client.ObjectKey) int { return compareKeys(c.place.key, key) })
		}
		out = glue(out, merge(s[at].places, changes[:n]))
		next, changes = at+1, changes[n:]
	}
	return append(out, s[next:]...)
}

// glue appends places to s as chunks of their own, or joins them with the last
// chunk if they are too few.
func glue(s sorted, places []*place) sorted {
	if len(places) == 0 {
		return s
	}
	if last := len(s) - 1; last >= 0 && len(places) < minChunk && len(s[last].places)+len(places) <= maxChunk {
		s[last] = &chunk{slices.Concat(s[last].places, places)}
		return s
	}
	return cut(s, places)
}

// merge returns a new slice of places with changes.
func merge(places []*place, changes []change) []*place {
	out := make([]*place, 0, len(places)+len(changes))
	for _, c := range changes {
		n, found := find(places, c.place.key)
		out = append(out, places[:n]...)
		if !c.remove {
			out = append(out, c.place)
		}
		if found {
			n++
		}
		places = places[n:]
	}
	return append(out, places...)
}

// len counts the places.
func (s sorted) len() int {
	n := 0
	for _, c := range s {
		n += len(c.places)
	}
	return n
}

// valid checks the invariants.
func (s sorted) valid() error {
	var last *place
	for i, c := range s {
		if len(c.places) == 0 || len(c.places) > maxChunk {
			return fmt.Errorf("chunk %d of %d has %d places", i, len(s), len(c.places))
		}
		for _, p := range c.places {
			if last != nil && compareKeys(last.key, p.key) >= 0 {
				return fmt.Errorf("%v before %v", last.key, p.key)
			}
			last = p
		}
	}
	return nil
}
