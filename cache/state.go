package cache

import (
	"cmp"
	"fmt"
	"slices"

	"governor/client"
)

func (st *state) get(key client.ObjectKey) *item { return st.objects.get(key.Namespace, key) }

// indexOf returns the position of the index of field, or -1.
func (st *state) indexOf(field string) int {
	return slices.IndexFunc(st.indexes, func(x index) bool { return x.field == field })
}

// complete returns an error when the i-th index lacks an object.
func (st *state) complete(i int) error {
	if failed := st.indexes[i].failed; len(failed) > 0 {
		return failed[0][0].item.values[i].err
	}
	return nil
}

// build makes a state of items, which are in order.
func build(items []*item, indexes []index, resourceVersion string) *state {
	st := &state{resourceVersion: resourceVersion, count: len(items), indexes: make([]index, len(indexes))}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = entry{value: it.key.Namespace, item: it}
	}
	st.objects = newSorted(entries)
	for i := range indexes {
		var values, failed []entry
		for _, it := range items {
			for _, v := range it.values[i].values {
				values = append(values, entry{value: v, item: it})
			}
			if it.values[i].err != nil {
				failed = append(failed, entry{value: it.key.Namespace, item: it})
			}
		}
		slices.SortFunc(values, func(a, b entry) int { return a.compare(&b) })
		st.indexes[i] = index{field: indexes[i].field, fn: indexes[i].fn, values: newSorted(values), failed: newSorted(failed)}
	}
	return st
}

// step is the change of one key: from the item that is there, to the one that
// will be; nil when there is none.
type step struct{ old, new *item }

// update returns the state after a batch.
func (st *state) update(put []client.Object, remove []client.ObjectKey, resourceVersion string) *state {
	items := make([]*item, 0, len(put)+len(remove))
	for _, key := range remove {
		items = append(items, &item{key: key}) // without an object: gone
	}
	for _, o := range put {
		items = append(items, newItem(o, st.indexes))
	}
	if len(items) > 1 {
		items = lastOfEach(items)
	}

	next := &state{resourceVersion: cmp.Or(resourceVersion, st.resourceVersion), count: st.count, indexes: slices.Clone(st.indexes)}
	steps := make([]step, 0, len(items))
	changes := make([]change, 0, len(items))
	for _, it := range items {
		old := st.get(it.key)
		switch {
		case it.object != nil:
			steps = append(steps, step{old: old, new: it})
			changes = append(changes, change{entry: entry{it.key.Namespace, it}})
			if old == nil {
				next.count++
			}
		case old != nil:
			steps = append(steps, step{old: old})
			changes = append(changes, change{entry: entry{it.key.Namespace, it}, remove: true})
			next.count--
		}
	}
	next.objects = st.objects.apply(changes)
	for i := range next.indexes {
		next.indexes[i].apply(i, steps)
	}
	return next
}

// apply brings the index, which is the i-th, through steps.
func (x *index) apply(i int, steps []step) {
	values := make([]change, 0, len(steps))
	var failed []change
	for _, s := range steps {
		var was, is indexed
		if s.old != nil {
			was = s.old.values[i]
		}
		if s.new != nil {
			is = s.new.values[i]
		}
		for _, v := range was.values {
			if !slices.Contains(is.values, v) {
				values = append(values, change{entry: entry{v, s.old}, remove: true})
			}
		}
		for _, v := range is.values {
			values = append(values, change{entry: entry{v, s.new}})
		}
		switch {
		case is.err != nil:
			failed = append(failed, change{entry: entry{s.new.key.Namespace, s.new}})
		case was.err != nil:
			failed = append(failed, change{entry: entry{s.old.key.Namespace, s.old}, remove: true})
		}
	}
	if len(values) > 1 {
		slices.SortFunc(values, func(a, b change) int { return a.compare(&b.entry) })
	}
	x.values, x.failed = x.values.apply(values), x.failed.apply(failed)
}

// valid checks the invariants.
func (st *state) valid() error {
	if err := st.objects.valid(); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	if n := st.objects.len(); n != st.count {
		return fmt.Errorf("%d objects, but the count is %d", n, st.count)
	}
	values, failed := make([]int, len(st.indexes)), make([]int, len(st.indexes))
	for _, chunk := range st.objects {
		for _, e := range chunk {
			if e.value != e.item.key.Namespace || len(e.item.values) != len(st.indexes) {
				return fmt.Errorf("%v is under %q with %d value sets", e.item.key, e.value, len(e.item.values))
			}
			for i, iv := range e.item.values {
				for _, v := range iv.values {
					if st.indexes[i].values.get(v, e.item.key) != e.item {
						return fmt.Errorf("index %q lacks %v at %q", st.indexes[i].field, e.item.key, v)
					}
				}
				values[i] += len(iv.values)
				if iv.err != nil {
					failed[i]++
				}
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
