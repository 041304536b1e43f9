package scheme

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scheme maps a GroupVersionKind to its Go type and back.
type Scheme struct{}

// New returns an empty Scheme.
func New() *Scheme { panic("skeleton") }

// Builtin returns a new Scheme that knows every built-in Kubernetes group.
func Builtin() *Scheme { panic("skeleton") }

// Install takes the AddToScheme of any existing API package.
func (s *Scheme) Install(fns ...func(*runtime.Scheme) error) error { panic("skeleton") }

// AddKnownTypes registers objects under their Go type's name.
func (s *Scheme) AddKnownTypes(gv schema.GroupVersion, objects ...runtime.Object) error {
	panic("skeleton")
}

// AddKnownTypeWithName registers an object under a kind.
func (s *Scheme) AddKnownTypeWithName(gvk schema.GroupVersionKind, object runtime.Object) error {
	panic("skeleton")
}

// AddUnversionedTypes registers types that mean the same in every version.
func (s *Scheme) AddUnversionedTypes(gv schema.GroupVersion, objects ...runtime.Object) error {
	panic("skeleton")
}

// AddTypeDefaultingFunc registers a function that fills in an object's defaults.
func (s *Scheme) AddTypeDefaultingFunc(object runtime.Object, fn func(any)) error { panic("skeleton") }

// Default fills in the defaults of an object.
func (s *Scheme) Default(object runtime.Object) { panic("skeleton") }

// New returns a new zero object of a kind.
func (s *Scheme) New(gvk schema.GroupVersionKind) (runtime.Object, error) { panic("skeleton") }

// ObjectKinds returns the kinds of an object's Go type, and whether it is unversioned.
func (s *Scheme) ObjectKinds(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	panic("skeleton")
}

// GVKForObject returns the one kind that an object has.
func (s *Scheme) GVKForObject(object runtime.Object) (schema.GroupVersionKind, error) {
	panic("skeleton")
}

// Recognizes says whether a kind is registered.
func (s *Scheme) Recognizes(gvk schema.GroupVersionKind) bool { panic("skeleton") }

// AllKnownTypes returns all registered kinds.
func (s *Scheme) AllKnownTypes() map[schema.GroupVersionKind]reflect.Type { panic("skeleton") }

// Codecs returns the serializers of this scheme: what rest.Config asks for.
func (s *Scheme) Codecs() runtime.NegotiatedSerializer { panic("skeleton") }
