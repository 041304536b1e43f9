package client

import (
	"errors"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// String returns the form's name, for logs.
func (f Form) String() string {
	switch f {
	case Unstructured:
		return "unstructured"
	case MetadataOnly:
		return "metadata-only"
	default:
		return "typed"
	}
}

// FormOf returns the form of an object or a list.
func FormOf(obj runtime.Object) Form {
	switch obj.(type) {
	case runtime.Unstructured:
		return Unstructured
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return MetadataOnly
	default:
		return Typed
	}
}

var errNilObject = errors.New("the object is nil: pass a pointer to a value")

// checkNotNil refuses nil and a nil pointer in an interface, so that neither
// panics deep inside a call.
func checkNotNil(obj any) error {
	if obj == nil {
		return errNilObject
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return errNilObject
	}
	return nil
}

// itemKind returns the kind of a list's items. Both spellings of an
// unstructured or metadata list, FooList and Foo, mean items of kind Foo.
func itemKind(list schema.GroupVersionKind) schema.GroupVersionKind {
	if item := strings.TrimSuffix(list.Kind, "List"); item != "" {
		list.Kind = item
	}
	return list
}
