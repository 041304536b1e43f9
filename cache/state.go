package cache

import (
	"fmt"
	"slices"
	"sync/atomic"

	"governor/client"
)

// state is all that an Indexer holds at one moment. But for the count of its
// readers, and for slots getting versions that it does not see, it never changes.
type state struct {
	seq             uint64 // the next state has the next one
	resourceVersion string
	count           int
	table           *table
	objects         sorted // by namespace, name
	indexes         []index
	readers         atomic.Int64 // who may go down the chains of slots; see Indexer.acquire
}

// next returns a state like st, to be changed and published.
func (st *state) next() *state {
	return &state{seq: st.seq + 1, resourceVersion: st.resourceVersion, count: st.count,
		table: st.table, objects: st.objects, indexes: st.indexes}
}

// indexOf returns the position of the index of field, or -1.
func (st *state) indexOf(field string) int {
	return slices.IndexFunc(st.indexes, func(x index) bool { return x.field == field })
}

// complete returns an error when the i-th index lacks an object.
func (st *state) complete(i int) error {
	if failed := st.indexes[i].failed; len(failed) > 0 {
		return failed[0].entries[0].slot.at(st.seq).values[i].err
	}
	return nil
}

// objectsOf returns the objects that entries of the value have, in the namespace
// unless that is empty. The caller has acquired st.
func (st *state) objectsOf(i int, value, namespace string) (out []client.Object) {
	st.indexes[i].values.from(value, client.ObjectKey{Namespace: namespace}, func(e *entry) bool {
		if e.value != value || namespace != "" && e.slot.key.Namespace != namespace {
			return false
		}
		out = append(out, e.slot.at(st.seq).object)
		return true
	})
	return out
}

// follow brings the trees of st, which is not published yet, to what the slots
// have that b has written for it.
func (st *state) follow(b *batch) {
	changes := b.changes
	for _, s := range b.written {
		v := s.current.Load()
		switch is, was := v.object != nil, v.prev.Load() != nil; {
		case is && !was:
			st.count++
			changes = append(changes, change{entry: entry{s.key.Namespace, s}})
		case was && !is:
			st.count--
			changes = append(changes, change{entry: entry{s.key.Namespace, s}, remove: true})
		}
	}
	st.objects = st.objects.apply(inOrder(changes))
	shared := true // st.indexes, with the state before
	for i := range st.indexes {
		var failed []change
		changes, failed = indexChanges(i, b.written, changes[:0])
		if len(changes) == 0 && len(failed) == 0 {
			continue
		}
		if shared {
			st.indexes, shared = slices.Clone(st.indexes), false
		}
		x := &st.indexes[i]
		x.values, x.failed = x.values.apply(inOrder(changes)), x.failed.apply(inOrder(failed))
	}
	b.changes = changes
}

// valid checks the invariants of the Indexer that are about one state: the
// current one, while nobody writes.
func (st *state) valid() error {
	if err := st.objects.valid(); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	if n := st.objects.len(); n != st.count || n != st.table.live {
		return fmt.Errorf("%d objects, but the count is %d, and the table has %d", n, st.count, st.table.live)
	}
	values, failed := make([]int, len(st.indexes)), make([]int, len(st.indexes))
	for e := range st.objects.all() {
		if st.table.get(e.slot.key, st.table.hash(e.slot.key)) != e.slot {
			return fmt.Errorf("the table lacks %v", e.slot.key)
		}
		v := e.slot.current.Load()
		if v.object == nil || v.seq > st.seq || e.value != e.slot.key.Namespace || len(v.values) != len(st.indexes) {
			return fmt.Errorf("%v is under %q with %d value sets: %v of %d in %d", e.slot.key, e.value, len(v.values), v.object, v.seq, st.seq)
		}
		for p := v; p.prev.Load() != nil; p = p.prev.Load() {
			if p.prev.Load().seq >= p.seq {
				return fmt.Errorf("%v: version of %d before that of %d", e.slot.key, p.prev.Load().seq, p.seq)
			}
		}
		for i, iv := range v.values {
			for _, value := range iv.values {
				if st.indexes[i].values.get(value, e.slot.key) != e.slot {
					return fmt.Errorf("index %q lacks %v at %q", st.indexes[i].field, e.slot.key, value)
				}
			}
			values[i] += len(iv.values)
			if iv.err != nil {
				failed[i]++
			}
		}
	}
	for i, x := range st.indexes {
		if err := x.values.valid(); err != nil {
			return fmt.Errorf("index %q: %w", x.field, err)
		}
		if v, f := x.values.len(), x.failed.len(); v != values[i] || f != failed[i] {
			return fmt.Errorf("index %q has %d entries, want %d; %d failed, want %d", x.field, v, values[i], f, failed[i])
		}
	}
	return nil
}
