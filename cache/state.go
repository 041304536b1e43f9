package cache

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"governor/client"
)

// state is all that an Indexer holds at one moment. But for the count of its
// readers, and for slots getting versions that it does not see, it never changes.
type state struct {
	seq             uint64 // the next state has the next one
	resourceVersion string
	count           int
	table           *table[stored]
	spaces          []*bucket // one for each namespace that has objects, in order
	indexes         []index
	readers         atomic.Int64 // who may go down the chains of slots; see Indexer.acquire
}

// next returns a state like st, to be changed and published.
func (st *state) next() *state {
	return &state{seq: st.seq + 1, resourceVersion: st.resourceVersion, count: st.count,
		table: st.table, spaces: st.spaces, indexes: st.indexes}
}

// get returns the place of a key, or nil.
func (st *state) get(key client.ObjectKey) *place {
	return st.table.get(key, st.table.hash(key))
}

// space returns where the bucket of a namespace is, or would be.
func (st *state) space(namespace string) (n int, found bool) {
	return slices.BinarySearchFunc(st.spaces, namespace, func(b *bucket, namespace string) int {
		return strings.Compare(b.key.Name, namespace)
	})
}

// from yields the places from key on, in order, until yield returns false. The
// caller has acquired st, or is the writer.
func (st *state) from(key client.ObjectKey, yield func(*place) bool) {
	n, _ := st.space(key.Namespace)
	for _, b := range st.spaces[n:] {
		if !b.at(st.seq).from(key, yield) {
			return
		}
	}
}

// all yields every place. See from.
func (st *state) all() iter.Seq[*place] {
	return func(yield func(*place) bool) { st.from(client.ObjectKey{}, yield) }
}

// indexOf returns the position of the index of field, or -1.
func (st *state) indexOf(field string) int {
	return slices.IndexFunc(st.indexes, func(x index) bool { return x.field == field })
}

// complete returns an error when the i-th index lacks an object. See from.
func (st *state) complete(i int) error {
	if failed := st.indexes[i].failed; len(failed) > 0 {
		return failed[0].places[0].at(st.seq).values[i].err
	}
	return nil
}

// valid checks the invariants of the Indexer that are about one state: the
// current one, while nobody writes.
func (st *state) valid() error {
	for n, b := range st.spaces {
		s := b.at(st.seq)
		if err := s.valid(); err != nil || len(s) == 0 {
			return fmt.Errorf("namespace %q has %d chunks: %w", b.key.Name, len(s), err)
		}
		if n > 0 && st.spaces[n-1].key.Name >= b.key.Name {
			return fmt.Errorf("namespace %q before %q", st.spaces[n-1].key.Name, b.key.Name)
		}
		for _, c := range s {
			for _, p := range c.places {
				if p.key.Namespace != b.key.Name {
					return fmt.Errorf("%v is in the bucket of %q", p.key, b.key.Name)
				}
			}
		}
	}
	count, entries, failed := 0, make([]int, len(st.indexes)), make([]int, len(st.indexes))
	for p := range st.all() {
		count++
		v := p.current.Load()
		switch {
		case st.get(p.key) != p:
			return fmt.Errorf("the table lacks %v", p.key)
		case v.value.object == nil || v.seq > st.seq || len(v.value.values) != len(st.indexes):
			return fmt.Errorf("%v: %v of %d in %d, with %d value sets", p.key, v.value.object, v.seq, st.seq, len(v.value.values))
		}
		for i, said := range v.value.values {
			for _, value := range said.values {
				if b := st.indexes[i].bucket(value); b == nil || !b.at(st.seq).has(p) {
					return fmt.Errorf("index %q lacks %v at %q", st.indexes[i].field, p.key, value)
				}
			}
			entries[i] += len(said.values)
			if said.err != nil {
				failed[i]++
				if !st.indexes[i].failed.has(p) {
					return fmt.Errorf("index %q does not know that it lacks %v", st.indexes[i].field, p.key)
				}
			}
		}
	}
	if count != st.count || count != st.table.live {
		return fmt.Errorf("%d objects, but the count is %d, and the table has %d", count, st.count, st.table.live)
	}
	for i := range st.indexes {
		if err := st.indexes[i].valid(st.seq, entries[i], failed[i]); err != nil {
			return fmt.Errorf("index %q: %w", st.indexes[i].field, err)
		}
	}
	return nil
}
