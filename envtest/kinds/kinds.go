package kinds

import (
	"governor/client"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Resource is one resource in one version: what a path of the API names.
type Resource struct {
	GroupVersionResource schema.GroupVersionResource
	GroupVersionKind     schema.GroupVersionKind
	ListKind, Singular   string
	ShortNames           []string
	Categories           []string
	Namespaced           bool
	Verbs                []string
	// StorageVersion is the version in which objects are stored.
	StorageVersion schema.GroupVersion
	// Subresources by name, e.g. "status", "scale".
	Subresources map[string]*Subresource
	// Custom is nil for built-in kinds.
	Custom *Custom
	// FieldManager tracks managedFields of this version; by subresource name, "" for the object.
	FieldManager func(subresource string) *managedfields.FieldManager
}

// Subresource is what a path below an object names.
type Subresource struct {
	Kind  schema.GroupVersionKind
	Verbs []string
}

// Custom is what a CustomResourceDefinition adds to a Resource.
type Custom struct {
	UID string // of the CRD
	// Prune removes unknown fields, and returns their paths; Default fills in
	// defaults; Validate checks an object and, for an update, its old state.
	Prune    func(obj *unstructured.Unstructured) (unknown []string)
	Default  func(obj *unstructured.Unstructured)
	Validate func(obj, old *unstructured.Unstructured) field.ErrorList
	// Convert returns the object in another version (None or webhook strategy).
	Convert func(obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error)
	// Scale paths, when the scale subresource is on.
	SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string
	// PrinterColumns for tables.
	PrinterColumns []Column
}

// Column is an additional printer column.
type Column struct {
	Name, Type, Format, Description, JSONPath string
	Priority                                  int32
}

// Registry knows the resources that a server serves now. Reads take no lock.
type Registry struct{}

// New returns a Registry of the built-in resources of Kubernetes 1.37 whose kinds s knows.
func New(s *scheme.Scheme) *Registry { panic("skeleton") }

// Lookup returns the resource of a path, nil when it is not served.
func (r *Registry) Lookup(gvr schema.GroupVersionResource) *Resource { panic("skeleton") }

// All returns every resource served, in the order of discovery.
func (r *Registry) All() []*Resource { panic("skeleton") }

// ForKind returns the resource of a kind, nil when it is not served.
func (r *Registry) ForKind(gvk schema.GroupVersionKind) *Resource { panic("skeleton") }

// SetCRD serves what a CustomResourceDefinition defines, in place of what it defined before; it returns
// conditions' faults (name conflicts, invalid schema) as errors.
func (r *Registry) SetCRD(crd client.Object) error { panic("skeleton") }

// RemoveCRD ends serving it.
func (r *Registry) RemoveCRD(name string) { panic("skeleton") }
