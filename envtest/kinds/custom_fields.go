package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// types returns the type converter of all versions of a CRD. A schema that it does not understand is as good as none.
func (d *definition) types() managedfields.TypeConverter {
	schemas := maps.Clone(recordedSchemas())
	maps.DeleteFunc(schemas, func(name string, _ map[string]any) bool { return !strings.HasPrefix(name, metaPrefix) })
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Status.AcceptedNames.Kind}
		schemas[schemaName(gvk)] = publishedSchema(gvk, v.openAPI(), v.openAPI() == nil || d.Spec.PreserveUnknownFields)
	}
	types, err := typeConverter(schemas, d.Spec.PreserveUnknownFields)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return types
}

// typeConverter makes a type converter of schemas and those that they refer to.
func typeConverter(schemas map[string]map[string]any, preserve bool) (managedfields.TypeConverter, error) {
	parsed := make(map[string]*spec.Schema, len(schemas))
	for name, s := range schemas {
		text, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		parsed[name] = &spec.Schema{}
		if err := json.Unmarshal(text, parsed[name]); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return managedfields.NewTypeConverter(parsed, preserve)
}

// customFieldManager returns a field manager of an unstructured kind.
func customFieldManager(r *Resource, types managedfields.TypeConverter, convert convertFunc, subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) *managedfields.FieldManager {
	machinery := customMachinery{r.Rules.Default, convert}
	manager, err := managedfields.NewDefaultCRDFieldManager(types, machinery, machinery, machinery, r.GroupVersionKind, r.StorageVersion, subresource, reset)
	if err != nil {
		panic(err) // never returned
	}
	return manager
}

// customMachinery is what a field manager wants to know of an unstructured kind.
type customMachinery struct {
	setDefaults func(*unstructured.Unstructured)
	convert     convertFunc
}

// Default implements runtime.ObjectDefaulter.
func (m customMachinery) Default(object runtime.Object) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		m.setDefaults(u)
	}
}

// New implements runtime.ObjectCreater.
func (m customMachinery) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (m customMachinery) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("convert %T: not unstructured", in)
	}
	gv, ok := target.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("convert to %v: not a version", target)
	}
	return m.convert(u, gv)
}

// Convert implements runtime.ObjectConvertor; field managers do not use it.
func (m customMachinery) Convert(in, out, context any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; field managers do not
// use it.
func (m customMachinery) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// crdTypes is the type converter of CRDs themselves.
var crdTypes = sync.OnceValue(func() managedfields.TypeConverter {
	types, err := typeConverter(recordedSchemas(), false)
	if err != nil {
		panic("kinds: schemas.json: " + err.Error()) // embedded: our own mistake
	}
	return types
})
