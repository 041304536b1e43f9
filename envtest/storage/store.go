package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"governor/client"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The errors of a Store.
var (
	// ErrTooOld: the resourceVersion is no longer in the history. 410 Expired.
	ErrTooOld = errors.New("too old resource version")
	// ErrTooLarge: the resourceVersion has not been reached. 504 Timeout.
	ErrTooLarge = errors.New("too large resource version")
	// ErrDropped: the resource is no longer served; its streams end.
	ErrDropped = errors.New("resource dropped")
)

// Store holds objects by resource, a rising resourceVersion, and a bounded history.
type Store struct {
	history int

	mu        sync.Mutex                      // held for moments, never while blocking
	version   uint64                          // +checklocks:mu of the last write
	compacted uint64                          // +checklocks:mu of the last CompactTo
	tables    map[schema.GroupResource]*table // +checklocks:mu
	waiting   []*waiter                       // +checklocks:mu for a version to be reached
}

// waiter waits for a version.
type waiter struct {
	version uint64
	reached chan struct{}
}

// Options tunes a Store. The zero value, and nil, are ready to use.
type Options struct {
	// History is how many changes of each resource are kept at least, for
	// watches and for lists of the past; zero means 10,000.
	History int
}

func (o *Options) history() int {
	if o == nil || o.History <= 0 {
		return 10_000
	}
	return o.History
}

// New returns an empty Store. Its resourceVersion is 1, so that 0 means none.
func New(o *Options) *Store {
	return &Store{history: o.history(), version: 1, tables: map[schema.GroupResource]*table{}}
}

// ResourceVersion is the version of the last write.
func (s *Store) ResourceVersion() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Reach waits until a resourceVersion is reached. It returns ErrTooLarge if ctx ends before.
func (s *Store) Reach(ctx context.Context, resourceVersion uint64) error {
	w := &waiter{version: resourceVersion, reached: make(chan struct{})}
	s.mu.Lock()
	if s.version >= resourceVersion {
		s.mu.Unlock()
		return nil
	}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	if s.version >= resourceVersion {
		return nil
	}
	return fmt.Errorf("%w: %d, current: %d", ErrTooLarge, resourceVersion, s.version)
}

// advanceLocked makes the next resourceVersion, and wakes those who wait for it.
//
// +checklocks:s.mu
func (s *Store) advanceLocked() {
	s.version++
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		if w.version > s.version {
			return false
		}
		close(w.reached)
		return true
	})
}

// Get returns the current version of an object, nil when there is none.
func (s *Store) Get(resource schema.GroupResource, namespace, name string) *Object {
	key := keyOf(namespace, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[resource]; t != nil {
		return t.objects.get(key)
	}
	return nil
}

// List returns one consistent state of a resource, sorted by [Object.Key], and its
// resourceVersion; namespace "" means all of them. See [Store.Snapshot].
func (s *Store) List(resource schema.GroupResource, namespace string, at uint64) ([]*Object, uint64, error) {
	snapshot, err := s.Snapshot(resource, at)
	if err != nil {
		return nil, 0, err
	}
	return slices.Collect(snapshot.From(namespace, "")), snapshot.ResourceVersion, nil
}

// Write changes one object, in one step: change gets the current version (nil
// when there is none) and returns the next value (nil to delete it; the same
// pointer as the current Value to change nothing). The Store sets the
// resourceVersion on the value, which is the Store's from then on and must be one that it has not had
// before. Writes come one at a time, and change holds up all of them: it
// must neither block nor call the Store. Write returns the new Object, for a delete
// the last state with the delete's resourceVersion, the current one when
// nothing has changed (nil when there is none).
func (s *Store) Write(resource schema.GroupResource, namespace, name string, change func(current *Object) (client.Object, error)) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(resource)
	current := t.objects.get(keyOf(namespace, name))
	value, err := change(current)
	if err != nil {
		return nil, err
	}
	switch {
	case value == nil && current == nil:
		return nil, nil
	case value == nil:
		last := current.Value.DeepCopyObject().(client.Object)
		return s.writeLocked(t, Deleted, current, &Object{Namespace: namespace, Name: name, Value: last}), nil
	case current == nil:
		return s.writeLocked(t, Added, nil, &Object{Namespace: namespace, Name: name, Value: value}), nil
	case value == current.Value:
		return current, nil
	default:
		return s.writeLocked(t, Modified, current, &Object{Namespace: namespace, Name: name, Value: value}), nil
	}
}

// writeLocked makes one step of the history.
//
// +checklocks:s.mu
func (s *Store) writeLocked(t *table, kind ChangeType, previous, next *Object) *Object {
	s.advanceLocked()
	next.Resource = t.resource
	next.ResourceVersion = s.version
	next.key = keyOf(next.Namespace, next.Name)
	next.Value.SetResourceVersion(strconv.FormatUint(s.version, 10))
	t.apply(Change{Type: kind, ResourceVersion: s.version, Object: next, Previous: previous}, s.history)
	return next
}

// +checklocks:s.mu
func (s *Store) tableLocked(resource schema.GroupResource) *table {
	t := s.tables[resource]
	if t == nil {
		t = newTable(resource, s.compacted)
		s.tables[resource] = t
	}
	return t
}

// CompactTo forgets the history up to a resourceVersion, as etcd does. One
// that has not been reached is ErrTooLarge.
func (s *Store) CompactTo(resourceVersion uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resourceVersion > s.version {
		return fmt.Errorf("compact to %d: %w: current %d", resourceVersion, ErrTooLarge, s.version)
	}
	s.compacted = max(s.compacted, resourceVersion)
	for _, t := range s.tables {
		t.forget(s.compacted)
	}
	return nil
}

// Drop removes all objects of a resource without telling watchers one by one: their
// streams end with ErrDropped. It is what happens when a CRD goes.
func (s *Store) Drop(resource schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceLocked()
	if t := s.tables[resource]; t != nil {
		t.dropped = true
		t.announce()
	}
	// What comes next under this name has no past.
	s.tables[resource] = newTable(resource, s.version)
}
