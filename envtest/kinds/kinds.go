package kinds

import (
	"sync"
	"sync/atomic"

	"governor/client"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Registry knows the resources that a server serves now. It is made by New; all
// methods are safe for concurrent use, and reads take no lock.
type Registry struct {
	served  atomic.Pointer[served]
	builtin []*Resource

	mu sync.Mutex // one SetCRD or RemoveCRD at a time
}

// served is one state of a Registry; it never changes.
type served struct {
	all    []*Resource
	byPath map[schema.GroupVersionResource]*Resource
	byKind map[schema.GroupVersionKind]*Resource
}

func newServed(all []*Resource) *served {
	s := &served{
		all:    all,
		byPath: make(map[schema.GroupVersionResource]*Resource, len(all)),
		byKind: make(map[schema.GroupVersionKind]*Resource, len(all)),
	}
	for _, r := range all {
		s.byPath[r.GroupVersionResource] = r
		s.byKind[r.GroupVersionKind] = r
	}
	return s
}

// New returns a Registry of the built-in resources of Kubernetes 1.37 whose kinds
// s knows, and of CustomResourceDefinitions, which need no Go type: they are
// unstructured.
func New(s *scheme.Scheme) *Registry {
	r := &Registry{builtin: builtinResources(s)}
	r.served.Store(newServed(r.builtin))
	return r
}

// Lookup returns the resource of a path, nil when it is not served.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) *Resource {
	return r.served.Load().byPath[gvr]
}

// All returns every resource served, in the order of discovery. The slice is not
// to be changed.
func (r *Registry) All() []*Resource { return r.served.Load().all }

// ForKind returns the resource of a kind, nil when it is not served.
func (r *Registry) ForKind(gvk schema.GroupVersionKind) *Resource {
	return r.served.Load().byKind[gvk]
}

// SetCRD serves what a CustomResourceDefinition defines, in place of what it defined before; it returns
// conditions' faults (name conflicts, invalid schema) as errors.
func (r *Registry) SetCRD(crd client.Object) error { panic("skeleton") }

// RemoveCRD ends serving it.
func (r *Registry) RemoveCRD(name string) { panic("skeleton") }
