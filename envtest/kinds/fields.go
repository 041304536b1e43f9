package kinds

import (
	"fmt"
	"sync"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaleKind is the kind of every scale subresource.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// fieldManagers returns the FieldManager function of a resource: it makes each
// manager when it is first asked for, and keeps it.
func fieldManagers(r *Resource, create func(subresource string) *managedfields.FieldManager) func(string) *managedfields.FieldManager {
	managers := map[string]func() *managedfields.FieldManager{
		"": sync.OnceValue(func() *managedfields.FieldManager { return create("") }),
	}
	for name := range r.Subresources {
		managers[name] = sync.OnceValue(func() *managedfields.FieldManager { return create(name) })
	}
	return func(subresource string) *managedfields.FieldManager {
		if manager := managers[subresource]; manager != nil {
			return manager()
		}
		return nil
	}
}

// typedFields is what the field managers of the built-in kinds share.
type typedFields struct {
	scheme *scheme.Scheme
	// types are the schemas of all kinds, which take a moment to parse.
	types func() managedfields.TypeConverter
}

func newTypedFields(s *scheme.Scheme) *typedFields {
	return &typedFields{scheme: s, types: sync.OnceValue(func() managedfields.TypeConverter {
		machinery := runtime.NewScheme()
		for gvk := range s.AllKnownTypes() {
			if object, err := s.New(gvk); err == nil {
				machinery.AddKnownTypeWithName(gvk, object)
			}
		}
		return applyconfigurations.NewTypeConverter(machinery)
	})}
}

// manager returns the field manager of one subresource of a built-in resource.
func (f *typedFields) manager(r *Resource, subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) *managedfields.FieldManager {
	kind, hub := r.GroupVersionKind, r.StorageVersion
	if sub := r.Subresources[subresource]; sub != nil && sub.Kind != kind {
		kind, hub = sub.Kind, sub.Kind.GroupVersion()
	}
	if hub.Empty() {
		hub = kind.GroupVersion() // never stored: reviews
	}
	manager, err := managedfields.NewDefaultFieldManager(f.typesFor(kind), typedConvertor{f.scheme}, f.scheme, f.scheme, kind, hub, subresource, reset)
	if err != nil {
		panic(err) // only for a nil type converter
	}
	return manager
}

// typesFor returns the type converter for a kind. One that has no schema, as no
// object of it is ever stored, is taken as it comes: its lists are atomic.
func (f *typedFields) typesFor(kind schema.GroupVersionKind) managedfields.TypeConverter {
	probe := &unstructured.Unstructured{}
	probe.SetGroupVersionKind(kind)
	if _, err := f.types().ObjectToTyped(probe); err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return f.types()
}

// typedConvertor converts built-in objects, typed or unstructured, into typed
// objects of another version. It never writes to what it is given.
type typedConvertor struct{ scheme *scheme.Scheme }

var _ runtime.ObjectConvertor = typedConvertor{}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c typedConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := target.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("convert to %v: not a version", target)
	}
	gvk, err := c.scheme.GVKForObject(in)
	if err != nil {
		return nil, fmt.Errorf("convert to %v: %w", gv, err)
	}
	if from, ok := in.(runtime.Unstructured); ok {
		if in, err = c.scheme.New(gvk); err != nil {
			return nil, err // IsMissingVersionError asks for it as it is
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.UnstructuredContent(), in); err != nil {
			return nil, fmt.Errorf("convert %v: %w", gvk, err)
		}
	}
	if in.GetObjectKind().GroupVersionKind() != gvk {
		in = in.DeepCopyObject()
		in.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return convertTyped(in, gvk, gv)
}

// Convert implements runtime.ObjectConvertor; field managers do not use it.
func (c typedConvertor) Convert(in, out, context any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; field managers do not
// use it.
func (c typedConvertor) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return "", "", fmt.Errorf("field label not supported: %s", label)
}
