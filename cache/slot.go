package cache

import (
	"sync/atomic"

	"governor/client"
)

// slot is the place of one key. Trees and the table hold slots, so that an
// update of an object, which writes a version into its slot, copies none of them.
//
//	slot{key} ──current──► version{seq 9} ──prev──► version{seq 7} ──prev──► …
//
// A reader of state 8 takes the first version that is not newer: that of 7. The
// chain is cut as soon as no reader is left that could go down it, so at rest a
// slot has one version. See Indexer.
type slot struct {
	key     client.ObjectKey
	hash    uint64
	current atomic.Pointer[version] // never nil
}

// version is what a slot holds from one state on, until the next version's. But
// for prev it never changes.
type version struct {
	seq    uint64        // of the state that it came with
	object client.Object // nil: the key is gone, and the slot is dropped
	values []indexed     // one for each index of the state, in the same order
	prev   atomic.Pointer[version]
}

// indexed is what one index function said about one object.
type indexed struct {
	values []string // each once, in order
	err    error    // the function panicked
}

// at returns the version that the state of seq has. The caller holds that state,
// which has the slot in one of its trees: so there is one.
func (s *slot) at(seq uint64) *version {
	v := s.current.Load()
	for v.seq > seq {
		v = v.prev.Load()
	}
	return v
}

// write makes v the slot's version, for the state that is to come.
func (s *slot) write(v *version) {
	v.prev.Store(s.current.Load())
	s.current.Store(v)
}

// indexed returns what the i-th index function said: nothing, if v is nil, or
// gone, or older than the index.
func (v *version) indexed(i int) (said indexed) {
	if v != nil && i < len(v.values) {
		said = v.values[i]
	}
	return said
}
