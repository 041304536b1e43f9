package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is any Kubernetes object: typed, unstructured or metadata-only.
type Object interface {
	metav1.Object
	runtime.Object
}

// ObjectList is any list of Kubernetes objects.
type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

// ObjectKey names an object within its kind.
type ObjectKey = types.NamespacedName

// ObjectKeyFromObject returns the key of an object.
func ObjectKeyFromObject(obj Object) ObjectKey {
	return ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Form is how an object is held in Go: one kind can be read in each of them.
type Form int

// The forms of an object.
const (
	// Typed is a Go struct that the scheme knows.
	Typed Form = iota
	// Unstructured is *unstructured.Unstructured.
	Unstructured
	// MetadataOnly is *metav1.PartialObjectMetadata.
	MetadataOnly
)

// FormOf returns the form of an object or a list.
func FormOf(obj runtime.Object) Form { panic("skeleton") }
