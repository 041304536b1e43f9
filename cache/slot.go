package cache

import (
	"sync/atomic"

	"governor/client"
)

// slot holds the versions of one value: of the object of a key (a place), or of
// the objects under a value of an index or in a namespace (a bucket). States
// share slots, so that who changes one copies nothing around it.
//
//	slot{key} ──current──► version{seq 9} ──prev──► version{seq 7} ──prev──► …
//
// A reader of state 8 takes the first version that is not newer: that of 7. The
// chain is cut as soon as no reader is left that could go down it, so at rest a
// slot has one version. See Indexer.
type slot[V any] struct {
	key     client.ObjectKey // of a bucket, Name has the namespace or the value
	hash    uint64           // of key, in the table that has the slot
	current atomic.Pointer[version[V]]
}

// version is what a slot holds from one state on, until the next version's. But
// for prev it never changes.
type version[V any] struct {
	seq   uint64 // of the state that it came with
	value V
	prev  atomic.Pointer[version[V]]
}

type (
	place  = slot[stored]
	bucket = slot[sorted]
)

// stored is an object with what is known of it. Without an object, it is gone.
type stored struct {
	object client.Object
	values []indexed // one for each index of the state, in the same order
}

// indexed is what one index function said about one object.
type indexed struct {
	values []string // each once, in order
	err    error    // the function panicked
}

// at returns the value that the state of seq has; the zero value, if the slot
// is newer. The caller has acquired that state.
func (s *slot[V]) at(seq uint64) (value V) {
	v := s.current.Load()
	for v != nil && v.seq > seq {
		v = v.prev.Load()
	}
	if v != nil {
		value = v.value
	}
	return value
}

// last returns the newest value, and before what was before it in its chain:
// for the writer only.
func (s *slot[V]) last() (value, before V) {
	if v := s.current.Load(); v != nil {
		value = v.value
		if p := v.prev.Load(); p != nil {
			before = p.value
		}
	}
	return value, before
}

// write gives the slot a version for the state that is to come, and appends it
// to links if it has to be cut later.
func (s *slot[V]) write(seq uint64, value V, links []link) []link {
	v := &version[V]{seq: seq, value: value}
	if prev := s.current.Load(); prev != nil {
		v.prev.Store(prev)
		links = append(links, link{seq, v})
	}
	s.current.Store(v)
	return links
}

// link is a version that may have another one before it.
type link struct {
	seq     uint64
	version interface{ cut() }
}

func (v *version[V]) cut() { v.prev.Store(nil) }

// indexed returns what the i-th index function said: nothing, if the object is
// gone, or older than the index.
func (s *stored) indexed(i int) (said indexed) {
	if i < len(s.values) {
		said = s.values[i]
	}
	return said
}
