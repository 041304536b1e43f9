package storage

import (
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
	state, last := t.base, t.floor
	for i, c := range t.changes {
		if c.ResourceVersion <= last {
			return fmt.Errorf("change %d at %d follows %d (invariant 2)", i, c.ResourceVersion, last)
		}
		if c.Type == Deleted {
			state = state.without(c.Object.key)
		} else {
			state = state.with(c.Object)
		}
		if !slices.Equal(state.all(), c.after.all()) {
			return fmt.Errorf("change %d does not lead to its state (invariant 3)", i)
		}
		state, last = c.after, c.ResourceVersion
	}
	if state != t.objects {
		return fmt.Errorf("the current state is not that after the last change (invariant 1)")
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
func (s *Store) Depth(resource schema.GroupResource) int { return s.current(resource).depth() }

func (t *tree) depth() int {
	if t == nil {
		return 0
	}
	return 1 + max(t.left.depth(), t.right.depth())
}
