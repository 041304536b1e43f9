package storage

import (
	"fmt"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot is one state of a resource. It never changes.
type Snapshot struct {
	// ResourceVersion is when it was taken.
	ResourceVersion uint64

	objects *tree
}

// Snapshot returns one state of a resource: the current one if at is zero,
// otherwise as it was at that resourceVersion, or ErrTooOld, or ErrTooLarge.
func (s *Store) Snapshot(resource schema.GroupResource, at uint64) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(resource)
	switch {
	case at == 0 || at == s.version:
		return Snapshot{ResourceVersion: s.version, objects: t.share()}, nil
	case at > s.version:
		return Snapshot{}, fmt.Errorf("%w: %d, current: %d", ErrTooLarge, at, s.version)
	}
	after, changes, ok := t.at(at)
	if !ok {
		return Snapshot{}, fmt.Errorf("%w: %d (%d)", ErrTooOld, at, t.floor)
	}
	objects := after
	if len(changes) > 0 {
		s.mu.Unlock() // it takes a while if that was long ago, and nobody else waits
		objects = after.undo(changes)
		s.mu.Lock()
		t.remember(state{at, objects})
	}
	return Snapshot{ResourceVersion: at, objects: objects}, nil
}

// Get returns an object of the snapshot, or nil.
func (s Snapshot) Get(namespace, name string) *Object { return s.objects.get(keyOf(namespace, name)) }

// From yields the objects of a namespace ("" means all) whose Key is at least key, in order.
func (s Snapshot) From(namespace, key string) iter.Seq[*Object] {
	prefix := prefixOf(namespace)
	return func(yield func(*Object) bool) {
		s.objects.from(max(prefix, key), func(o *Object) bool {
			return strings.HasPrefix(o.key, prefix) && yield(o)
		})
	}
}

// Len is how many objects From yields; it does not look at them.
func (s Snapshot) Len(namespace, key string) int {
	prefix := prefixOf(namespace)
	end := s.objects.len()
	if prefix != "" {
		end = s.objects.before(strings.TrimSuffix(prefix, "/") + "0") // '0' comes after '/'
	}
	return max(0, end-s.objects.before(max(prefix, key)))
}

// prefixOf is what the keys of a namespace begin with.
func prefixOf(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}
