package scheme

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ObjectKinds returns the kinds of an object's Go type in order of
// registration, and whether the type is unversioned. The kind of an
// unstructured object is the one that it carries. The slice is shared: do not
// write to it. For a type that is not registered the error satisfies
// runtime.IsNotRegisteredError. Use GVKForObject to know the one kind of an
// object; this method serves apimachinery's serializers.
func (s *Scheme) ObjectKinds(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if isNil(object) {
		return nil, false, errNil(object)
	}
	if _, ok := object.(runtime.Unstructured); ok {
		gvk, err := carried(object)
		if err != nil {
			return nil, false, err
		}
		return []schema.GroupVersionKind{gvk}, false, nil
	}
	return s.kindsOf(object)
}

// kindsOf looks only at the Go type.
func (s *Scheme) kindsOf(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	goType, err := structOf(object)
	if err != nil {
		return nil, false, err
	}
	t := s.state.Load()
	kinds, ok := t.kinds[goType]
	if !ok {
		return nil, false, runtime.NewNotRegisteredErrForType(name, goType)
	}
	return kinds, t.unversioned[goType], nil
}

// GVKForObject returns the one kind that an object has:
//
//   - of an unstructured or metadata-only object, the kind that it carries; it is
//     an error if it carries none;
//   - of any other, the kind of its Go type; of several kinds that the type has,
//     the one that the object's TypeMeta names; it is an error that lists them if
//     it names none of them.
//
// Unversioned types (Status) have no kind of their own: an error. For a type that
// is not registered the error satisfies runtime.IsNotRegisteredError. Upstream:
// apiutil.GVKForObject.
func (s *Scheme) GVKForObject(object runtime.Object) (schema.GroupVersionKind, error) {
	if isNil(object) {
		return schema.GroupVersionKind{}, errNil(object)
	}
	switch object.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return carried(object)
	}
	kinds, unversioned, err := s.kindsOf(object)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	if unversioned {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is an unversioned type: it is no object with a kind of its own", object)
	}
	return choose(object, kinds)
}

// choose picks the kind of a typed object among those of its Go type.
func choose(object runtime.Object, kinds []schema.GroupVersionKind) (schema.GroupVersionKind, error) {
	kinds = served(kinds)
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	if len(kinds) == 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is registered in internal versions only, which no server speaks", object)
	}
	own := object.GetObjectKind().GroupVersionKind()
	switch {
	case slices.Contains(kinds, own):
		return own, nil
	case own.Empty():
		return schema.GroupVersionKind{}, fmt.Errorf("%T may be %s: set its TypeMeta to say which", object, oneOf(kinds))
	default:
		return schema.GroupVersionKind{}, fmt.Errorf("%T may be %s, but its TypeMeta says %s", object, oneOf(kinds), kindName(own))
	}
}

// served returns the kinds without those of internal versions; mostly there are none.
func served(kinds []schema.GroupVersionKind) []schema.GroupVersionKind {
	internal := func(gvk schema.GroupVersionKind) bool { return gvk.Version == runtime.APIVersionInternal }
	if !slices.ContainsFunc(kinds, internal) {
		return kinds
	}
	return slices.DeleteFunc(slices.Clone(kinds), internal)
}

// oneOf lists kinds. Types that are in every group are cut short.
func oneOf(kinds []schema.GroupVersionKind) string {
	const most = 6
	var names []string
	for _, gvk := range kinds[:min(most, len(kinds))] {
		names = append(names, kindName(gvk))
	}
	text := strings.Join(names, " or ")
	if rest := len(kinds) - most; rest > 0 {
		text += fmt.Sprintf(" or one of %d others", rest)
	}
	return text
}

// carried returns the kind that an object carries. The errors for a missing
// part satisfy runtime.IsMissingKind and runtime.IsMissingVersion.
func carried(object runtime.Object) (schema.GroupVersionKind, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	switch {
	case gvk.Kind == "":
		return schema.GroupVersionKind{}, runtime.NewMissingKindErr(fmt.Sprintf("%T: call SetGroupVersionKind", object))
	case gvk.Version == "":
		return schema.GroupVersionKind{}, runtime.NewMissingVersionErr(fmt.Sprintf("%T of kind %s: call SetGroupVersionKind", object, gvk.Kind))
	case gvk.Group == metav1.GroupName && strings.HasPrefix(gvk.Kind, "PartialObjectMetadata"):
		return schema.GroupVersionKind{}, fmt.Errorf("%T carries the kind %s, not that of the objects it stands for: call SetGroupVersionKind", object, kindName(gvk))
	}
	return gvk, nil
}

// NewList returns a new empty list of the objects of a kind. The list's kind is
// the object's with "List" behind it; a kind that is a list's already serves as
// well. If the scheme has no such list type the error says what to register.
func (s *Scheme) NewList(gvk schema.GroupVersionKind) (runtime.Object, error) {
	t := s.state.Load()
	list := gvk
	list.Kind += "List"
	switch {
	case t.isList(list):
		return newObject(t.goTypes[list]), nil
	case t.isList(gvk):
		return newObject(t.goTypes[gvk]), nil
	case t.goTypes[gvk] == nil:
		return nil, runtime.NewNotRegisteredErrForKind(name, gvk)
	}
	return nil, fmt.Errorf("%s has no list type: register %s beside it, or use an unstructured list", kindName(gvk), kindName(list))
}

func (t *table) isList(gvk schema.GroupVersionKind) bool {
	goType, ok := t.goTypes[gvk]
	if !ok {
		return false
	}
	object := newObject(goType)
	_, ok = object.(metav1.ListInterface) // an item may have a field Items too
	return ok && meta.IsListType(object)
}

// isNil also finds a nil pointer within the interface, on which GetObjectKind
// would panic.
func isNil(object runtime.Object) bool {
	if object == nil {
		return true
	}
	v := reflect.ValueOf(object)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func errNil(object runtime.Object) error {
	if object == nil {
		return fmt.Errorf("the object is nil")
	}
	return fmt.Errorf("the object is a nil %T", object)
}
