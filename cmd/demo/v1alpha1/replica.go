package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of Replica.
var GroupVersion = schema.GroupVersion{Group: "replicator.governor.dev", Version: "v1alpha1"}

// AddToScheme registers Replica, in the form that every generated API package
// has, so that scheme.Install takes it.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Replica{}, &ReplicaList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Replica asks for a copy of one ConfigMap or Secret of its own namespace in
// other namespaces.
type Replica struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReplicaSpec   `json:"spec"`
	Status ReplicaStatus `json:"status,omitempty"`
}

// ReplicaList is a list of Replicas.
type ReplicaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Replica `json:"items"`
}

// ReplicaSpec says what to copy, and where to.
type ReplicaSpec struct {
	// Source is what is copied. It lives in the Replica's own namespace, so
	// that a Replica never hands out what its author may not read.
	Source Source `json:"source"`
	// NamespaceSelector picks the namespaces by their labels. Nil picks none;
	// an empty selector picks all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespaces picks further namespaces by name, whether they exist yet or not.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Source names the object that is copied.
type Source struct {
	// Kind is ConfigMap or Secret.
	Kind string `json:"kind"`
	// Name of the source, and of each copy.
	Name string `json:"name"`
}

// The kinds of a Source.
const (
	KindConfigMap = "ConfigMap"
	KindSecret    = "Secret"
)

// ConditionReady says whether every chosen namespace has a true copy.
const ConditionReady = "Ready"

// Reasons of ConditionReady.
const (
	ReasonCopied           = "Copied"           // all copies are true
	ReasonInvalidSource    = "InvalidSource"    // the spec names no ConfigMap or Secret
	ReasonInvalidSelector  = "InvalidSelector"  // the namespace selector makes no sense
	ReasonInvalidNamespace = "InvalidNamespace" // a name that no namespace can have
	ReasonSourceMissing    = "SourceMissing"    // copies are kept as they are
	ReasonSourceTooLarge   = "SourceTooLarge"   // copies are kept as they are
	ReasonForeignObject    = "ForeignObject"    // something else has the copy's name
	ReasonWaiting          = "Waiting"          // a namespace is missing or on its way out
	ReasonCopyFailed       = "CopyFailed"       // the server refused a copy
)

// ReplicaStatus says how far the copies are.
type ReplicaStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has ConditionReady.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Wanted is how many namespaces were chosen, Copied how many have a true copy.
	Wanted int `json:"wanted"`
	Copied int `json:"copied"`
	// Namespaces has an entry for each chosen namespace, those in trouble
	// first, then by name; at most MaxNamespaceStatuses.
	Namespaces []NamespaceStatus `json:"namespaces,omitempty"`
}

// MaxNamespaceStatuses keeps the status of a Replica that goes to thousands of
// namespaces within what the server stores.
const MaxNamespaceStatuses = 1000

// NamespaceStatus says how one copy is.
type NamespaceStatus struct {
	Namespace string `json:"namespace"`
	// State is Copied, or the reason why not: ForeignObject, Waiting, CopyFailed.
	State string `json:"state"`
	// Message explains any State but Copied.
	Message string `json:"message,omitempty"`
}
