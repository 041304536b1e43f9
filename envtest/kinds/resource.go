package kinds

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Resource is one resource in one version: what a path of the API names. It
// never changes; a CRD that changes makes new ones.
type Resource struct {
	GroupVersionResource schema.GroupVersionResource
	GroupVersionKind     schema.GroupVersionKind
	ListKind, Singular   string
	ShortNames           []string
	Categories           []string
	Namespaced           bool
	// Verbs as discovery lists them; empty Verbs with Subresources is a path that
	// has nothing but subresources.
	Verbs []string
	// StorageVersion is the version in which objects are stored; zero if none
	// are, as for reviews.
	StorageVersion schema.GroupVersion
	// Storage is where they are stored: the resource itself, but for
	// events.events.k8s.io, which are the events of the core group.
	Storage schema.GroupResource
	// Subresources by name, e.g. "status", "scale".
	Subresources map[string]*Subresource
	// Custom is nil for built-in kinds. It is also nil for
	// CustomResourceDefinitions, although those are unstructured.
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
