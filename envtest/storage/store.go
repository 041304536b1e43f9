package storage

import (
	"context"
	"errors"
	"iter"

	"governor/client"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is one version of one object. It never changes: whoever wants another
// version makes another Object.
type Object struct {
	// Resource, Namespace and Name are the object's place.
	Resource  schema.GroupResource
	Namespace string
	Name      string
	// ResourceVersion is when it was written.
	ResourceVersion uint64
	// Value is the object in its storage version, read only: typed for
	// built-in kinds, unstructured for custom ones; its metadata carries
	// ResourceVersion.
	Value client.Object
}

// Encoded returns the bytes of the object in one encoding, made once by encode
// and kept for every later reader and watcher.
func (o *Object) Encoded(encoding string, encode func() ([]byte, error)) ([]byte, error) {
	panic("skeleton")
}

// The errors of a Store.
var (
	// ErrTooOld: the resourceVersion is no longer in the history. 410 Expired.
	ErrTooOld = errors.New("too old resource version")
	// ErrTooLarge: the resourceVersion has not been reached. 504 Timeout.
	ErrTooLarge = errors.New("too large resource version")
)

// Store holds objects by resource, a rising resourceVersion, and a bounded history.
type Store struct{}

// Options tunes a Store.
type Options struct {
	// History is how many changes are kept for watches; zero means 10,000.
	History int
}

// New returns an empty Store.
func New(o *Options) *Store { panic("skeleton") }

// ResourceVersion is the version of the last write.
func (s *Store) ResourceVersion() uint64 { panic("skeleton") }

// Get returns the current version of an object, nil when there is none.
func (s *Store) Get(resource schema.GroupResource, namespace, name string) *Object { panic("skeleton") }

// List returns one consistent state of a resource, sorted by namespace and
// name, and its resourceVersion; namespace "" means all of them. at zero means
// now; otherwise the state as it was at that resourceVersion, or ErrTooOld.
func (s *Store) List(resource schema.GroupResource, namespace string, at uint64) ([]*Object, uint64, error) {
	panic("skeleton")
}

// Write changes one object, in one step: change gets the current version (nil
// when there is none) and returns the next value (nil to delete it; the same
// pointer to change nothing). The Store sets the resourceVersion on a value
// that it has not had before. Writes come one at a time. It returns the new
// Object, or for a delete the last state with the delete's resourceVersion.
func (s *Store) Write(resource schema.GroupResource, namespace, name string, change func(current *Object) (client.Object, error)) (*Object, error) {
	panic("skeleton")
}

// ChangeType says what a Change did.
type ChangeType int

// The types of a Change.
const (
	Added ChangeType = iota
	Modified
	Deleted
	// Progress: nothing changed up to its ResourceVersion; Object and Previous are nil.
	Progress
)

// Change is one step of the history.
type Change struct {
	Type            ChangeType
	ResourceVersion uint64
	// Object is the new state; for Deleted the last one, at the delete's resourceVersion.
	Object *Object
	// Previous is the state before; nil for Added.
	Previous *Object
}

// Watch yields every change of a resource after a resourceVersion, in order,
// until ctx ends. It yields ErrTooOld and ends when the history no longer
// reaches back so far. It yields Progress whenever everything so far has been
// delivered and wake is asked for through progress (bookmarks).
func (s *Store) Watch(ctx context.Context, resource schema.GroupResource, namespace string, after uint64) iter.Seq2[Change, error] {
	panic("skeleton")
}

// CompactTo forgets the history up to a resourceVersion, as etcd does.
func (s *Store) CompactTo(resourceVersion uint64) { panic("skeleton") }

// Drop removes all objects of a resource without telling watchers one by one: their
// streams end. It is what happens when a CRD goes.
func (s *Store) Drop(resource schema.GroupResource) { panic("skeleton") }
