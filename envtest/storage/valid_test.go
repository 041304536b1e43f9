package storage

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Valid checks the invariants of tables and trees, for the tests.
func (s *Store) Valid() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if err := t.valid(); err != nil {
			return fmt.Errorf("%s: %w", t.resource, err)
		}
	}
	return nil
}

func (t *table) valid() error {
	if err := t.objects.valid(); err != nil {
		return err
	}
	last := t.floor
	for i, c := range t.changes {
		if c.ResourceVersion <= last {
			return fmt.Errorf("change %d at %d follows %d (invariant 2)", i, c.ResourceVersion, last)
		}
		last = c.ResourceVersion
	}
	there, states := t.share(), slices.Clone(t.states)
	for i := len(t.changes); ; i-- {
		from := t.floor // the states that are like this one
		if i > 0 {
			from = t.changes[i-1].ResourceVersion
		}
		for len(states) > 0 && states[len(states)-1].version >= from {
			if !slices.Equal(states[len(states)-1].objects.all(), there.all()) {
				return fmt.Errorf("the state at %d is not what it was (invariant 3)", states[len(states)-1].version)
			}
			states = states[:len(states)-1]
		}
		if i == 0 {
			break
		}
		c := t.changes[i-1]
		after := c.Object
		if c.Type == Deleted {
			after = nil
		}
		before := there.undo([]Change{c})
		if there.get(c.Object.key) != after || before.get(c.Object.key) != c.Previous {
			return fmt.Errorf("change %d is not what has happened (invariant 1)", i-1)
		}
		there = before
	}
	if len(states) > 0 || !slices.IsSortedFunc(t.states, func(a, b state) int { return cmp.Compare(a.version, b.version) }) {
		return fmt.Errorf("states %v, floor %d (invariant 3)", t.states, t.floor)
	}
	return nil
}

func (t *tree) all() (all []*Object) {
	t.from("", func(o *Object) bool {
		all = append(all, o)
		return true
	})
	return all
}

// valid checks order, ranks and sizes.
func (t *tree) valid() error {
	if t == nil {
		return nil
	}
	for _, sub := range []*tree{t.left, t.right} {
		if err := sub.valid(); err != nil {
			return err
		}
		if sub != nil && sub.rank > t.rank {
			return fmt.Errorf("%s is below %s and ranks higher", sub.object.key, t.object.key)
		}
	}
	if t.size != t.left.len()+t.right.len()+1 {
		return fmt.Errorf("size %d below %s", t.size, t.object.key)
	}
	keys := make([]string, 0, t.size)
	for _, o := range t.all() {
		keys = append(keys, o.key)
	}
	if !slices.IsSorted(keys) {
		return fmt.Errorf("keys %q", keys)
	}
	return nil
}

// Depth is how many objects a search may have to pass.
func (s *Store) Depth(resource schema.GroupResource) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[resource].objects.depth()
}

func (t *tree) depth() int {
	if t == nil {
		return 0
	}
	return 1 + max(t.left.depth(), t.right.depth())
}
