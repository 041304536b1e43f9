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
	// Verbs that the path takes; without any it has nothing but subresources.
	Verbs []string
	// StorageVersion is the version in which objects are stored; zero if none
	// are, as for reviews.
	StorageVersion schema.GroupVersion
	// Storage is where they are stored: the resource itself, but for
	// events.events.k8s.io, which are the events of the core group.
	Storage schema.GroupResource
	// Subresources by name, e.g. "status", "scale".
	Subresources map[string]*Subresource
	// Rules are nil if objects have a Go type. Those of CRDs have none, nor have
	// CustomResourceDefinitions themselves.
	Rules *Rules
	// Custom is nil for built-in kinds.
	Custom *Custom
	// FieldManager tracks managedFields of this version; by subresource name, ""
	// for the object; nil if there is no such subresource. The objects that it is
	// given may be in any version of the resource; what Apply returns is in the
	// storage version.
	FieldManager func(subresource string) *managedfields.FieldManager
}

// ListedVerbs returns the verbs as discovery lists them: while its CRD is being
// deleted it leaves out those that create and change, although changes are taken
// until the end.
func (r *Resource) ListedVerbs() []string {
	if r.Custom != nil && r.Custom.Terminating {
		return terminatingVerbs
	}
	return r.Verbs
}

// Subresource is what a path below an object names.
type Subresource struct {
	Kind  schema.GroupVersionKind
	Verbs []string
}

// Rules are what unstructured objects have in place of a Go type.
type Rules struct {
	// Prune removes unknown fields, and returns their paths, sorted; metadata it
	// leaves alone. Default fills in defaults, after Prune. Both write to the
	// object that they are given.
	Prune   func(obj *unstructured.Unstructured) (unknown []string)
	Default func(obj *unstructured.Unstructured)
	// Prepare fills in, after all else and before Validate, what the server itself
	// keeps in a status beside a write to the object: a CRD's storedVersions. It is nil
	// if there is nothing.
	Prepare func(obj *unstructured.Unstructured)
	// Validate checks an object and, for an update, its old state (nil otherwise),
	// which makes it lenient: what was wrong and has not changed is passed over.
	// ValidateStatus is for writes to the status subresource.
	Validate, ValidateStatus func(obj, old *unstructured.Unstructured) field.ErrorList
	// Convert returns the object in another version (None or webhook strategy); it
	// does not write to it, and returns it as it is if there is nothing to do.
	Convert func(obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error)
}

// Custom is what a CustomResourceDefinition adds to a Resource.
type Custom struct {
	Rules
	UID string // of the CRD
	// Terminating: the CRD is being deleted, and no object may be created.
	Terminating bool
	// Scale paths, when the scale subresource is on, e.g. .spec.replicas.
	SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string
	// PrinterColumns for tables.
	PrinterColumns []Column
	// SelectableFields are what field selectors may name besides metadata.name and
	// metadata.namespace, e.g. spec.color.
	SelectableFields []string
	// Warning goes with every answer, if the version is deprecated.
	Warning string

	openAPI map[string]any // the schema as it stands in the CRD
}

// Column is an additional printer column.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}
