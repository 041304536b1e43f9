package kinds

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Registry knows the resources that a server serves now. It is made by New; all
// methods are safe for concurrent use, and reads take no lock.
type Registry struct {
	served   atomic.Pointer[served]
	builtins *served
	typed    *typedFields
	webhook  CallWebhook

	mu          sync.Mutex             // one CRD changes at a time
	definitions map[string]*definition // +checklocks:mu every CRD, by name
	custom      map[string][]*Resource // +checklocks:mu what of it is served
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

// has says whether a resource's path or kind is taken.
func (s *served) has(r *Resource) bool {
	return s.byPath[r.GroupVersionResource] != nil || s.byKind[r.GroupVersionKind] != nil
}

// Options tunes a Registry. The zero value, and nil, are ready to use.
type Options struct {
	// Webhook calls conversion webhooks; without it a conversion by one is an error.
	Webhook CallWebhook
}

// New returns a Registry of the built-in resources of Kubernetes 1.37 whose kinds
// s knows, and of CustomResourceDefinitions, which need no Go type: they are
// unstructured.
func New(s *scheme.Scheme, o *Options) *Registry {
	r := &Registry{typed: newTypedFields(s), definitions: map[string]*definition{}, custom: map[string][]*Resource{}}
	if o != nil {
		r.webhook = o.Webhook
	}
	r.builtins = newServed(builtinResources(s, r.typed))
	r.served.Store(r.builtins)
	return r
}

// Lookup returns the resource of a path, nil when it is not served.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) *Resource {
	return r.served.Load().byPath[gvr]
}

// All returns every resource served, in the order of discovery: built-in ones,
// then those of CRDs. The slice is not to be changed.
func (r *Registry) All() []*Resource { return r.served.Load().all }

// ForKind returns the resource of a kind, nil when it is not served.
func (r *Registry) ForKind(gvk schema.GroupVersionKind) *Resource {
	return r.served.Load().byKind[gvk]
}

// SetCRD serves what a CustomResourceDefinition defines, in place of what it
// defined before, under the names that its status says are accepted. One whose
// status says nothing of names is judged as by AcceptNames first. It is not served
// while its names are not accepted, unless it is established: a *NameConflict if
// they are in conflict. A built-in resource is not replaced. A schema that makes no sense is an error, and what is
// served stays as it was.
func (r *Registry) SetCRD(crd *unstructured.Unstructured) error {
	d, err := parseDefinition(crd)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.condition(namesAccepted) == nil {
		d.acceptNames(slices.Collect(maps.Values(r.definitions)))
	}
	var resources []*Resource
	if d.is(namesAccepted) || d.is(established) {
		if resources, err = r.customResources(d); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", d.Name, err)
		}
	}
	r.definitions[d.Name], r.custom[d.Name] = d, resources
	r.publishLocked()
	if c := d.condition(namesAccepted); c.Status != "True" {
		return &NameConflict{c.Reason, c.Message}
	}
	return nil
}

// RemoveCRD ends serving it, and frees its names.
func (r *Registry) RemoveCRD(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.definitions, name)
	delete(r.custom, name)
	r.publishLocked()
}

// publishLocked makes what the CRDs define visible to readers, in one step.
// +checklocks:r.mu
func (r *Registry) publishLocked() {
	var custom []*Resource
	for _, resources := range r.custom {
		for _, resource := range resources {
			if !r.builtins.has(resource) {
				custom = append(custom, resource)
			}
		}
	}
	slices.SortFunc(custom, compareResources)
	r.served.Store(newServed(append(slices.Clip(r.builtins.all), custom...)))
}
