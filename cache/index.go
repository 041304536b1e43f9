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
	values sorted // by value, namespace, name
	failed sorted // the slots of objects on which fn panicked, by namespace, name
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

// sameValues says that no index has to change when b comes in place of a.
func sameValues(a, b []indexed) bool {
	return slices.EqualFunc(a, b, func(a, b indexed) bool {
		return a.err == nil && b.err == nil && slices.Equal(a.values, b.values)
	})
}

// indexChanges appends what written slots change in the i-th index to values,
// and returns what they change among those that it lacks.
func indexChanges(i int, written []*slot, values []change) (_, failed []change) {
	for _, s := range written {
		now := s.current.Load()
		before := now.prev.Load()
		was, is := before.indexed(i), now.indexed(i)
		for _, v := range was.values {
			if !slices.Contains(is.values, v) {
				values = append(values, change{entry: entry{v, s}, remove: true})
			}
		}
		for _, v := range is.values {
			if !slices.Contains(was.values, v) {
				values = append(values, change{entry: entry{v, s}})
			}
		}
		if (was.err != nil) != (is.err != nil) {
			failed = append(failed, change{entry: entry{s.key.Namespace, s}, remove: is.err == nil})
		}
	}
	return values, failed
}
