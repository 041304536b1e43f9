package cache

import (
	"fmt"
	"slices"

	"governor/client"
)

// index is one index in a state.
type index struct {
	field  string
	fn     client.IndexerFunc
	values *table[sorted] // the bucket of each value; empty ones go with the next writes
	failed sorted         // the places of objects on which fn panicked
}

// of runs the index function; a panic becomes an error.
func (x *index) of(o client.Object) (v indexed) {
	defer func() {
		if r := recover(); r != nil {
			v = indexed{err: fmt.Errorf("the index function of field %q panicked on %s: %v",
				x.field, client.ObjectKeyFromObject(o), r)}
		}
	}()
	values := x.fn(o)
	if len(values) > 1 {
		values = slices.Compact(slices.Sorted(slices.Values(values)))
	}
	return indexed{values: values}
}

// bucket returns the bucket of a value, or nil.
func (x *index) bucket(value string) *bucket {
	key := client.ObjectKey{Name: value}
	return x.values.get(key, x.values.hash(key))
}

// add returns the bucket of a value, and makes it if there is none.
func (x *index) add(value string) *bucket {
	b := x.bucket(value)
	if b == nil {
		b = &bucket{key: client.ObjectKey{Name: value}}
		b.hash = x.values.hash(b.key)
		x.values = x.values.add(b)
	}
	return b
}

// sameValues says that no index has to change when b comes in place of a.
func sameValues(a, b []indexed) bool {
	return slices.EqualFunc(a, b, func(a, b indexed) bool {
		return a.err == nil && b.err == nil && slices.Equal(a.values, b.values)
	})
}

// valid checks that the index has as many entries, and lacks as many objects.
func (x *index) valid(seq uint64, entries, failed int) error {
	for i := range x.values.cells {
		b := x.values.cells[i].slot.Load()
		if b == nil {
			continue
		}
		s := b.at(seq)
		if err := s.valid(); err != nil {
			return fmt.Errorf("value %q: %w", b.key.Name, err)
		}
		entries -= s.len()
	}
	if f := x.failed.len(); entries != 0 || f != failed {
		return fmt.Errorf("%d entries too few, %d failed, want %d", entries, f, failed)
	}
	return x.failed.valid()
}
