package scheme

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table is what a Scheme knows. It is filled by one goroutine and, once
// published, never changes: a registration works on a clone.
//
// Invariants, which valid checks:
//
//  1. goTypes and kinds are each other's inverse.
//  2. An unversioned type is in kinds.
//  3. Every version of goTypes but the internal one is in versions, once.
type table struct {
	goTypes          map[schema.GroupVersionKind]reflect.Type
	kinds            map[reflect.Type][]schema.GroupVersionKind // in order of registration
	unversionedKinds map[string]reflect.Type
	unversioned      map[reflect.Type]bool
	versions         map[string][]string // versions of a group, best first
	defaulters       map[reflect.Type]func(any)
	installed        []*runtime.Scheme // throw-away schemes, for their defaulting functions
}

func newTable() *table {
	return &table{
		goTypes:          map[schema.GroupVersionKind]reflect.Type{},
		kinds:            map[reflect.Type][]schema.GroupVersionKind{},
		unversionedKinds: map[string]reflect.Type{},
		unversioned:      map[reflect.Type]bool{},
		versions:         map[string][]string{},
		defaulters:       map[reflect.Type]func(any){},
	}
}

// clone copies the maps, not the slices in them: those are only ever replaced.
func (t *table) clone() *table {
	return &table{
		goTypes:          maps.Clone(t.goTypes),
		kinds:            maps.Clone(t.kinds),
		unversionedKinds: maps.Clone(t.unversionedKinds),
		unversioned:      maps.Clone(t.unversioned),
		versions:         maps.Clone(t.versions),
		defaulters:       maps.Clone(t.defaulters),
		installed:        t.installed,
	}
}

func (t *table) addUnderOwnName(gv schema.GroupVersion, object runtime.Object) error {
	goType, err := structOf(object)
	if err != nil {
		return err
	}
	return t.add(gv.WithKind(goType.Name()), object)
}

func (t *table) add(gvk schema.GroupVersionKind, object runtime.Object) error {
	goType, err := structOf(object)
	if err != nil {
		return err
	}
	if gvk.Version == "" || gvk.Kind == "" {
		return fmt.Errorf("register %s: a kind needs a version and a name, got %q and %q",
			typeName(goType), gvk.Version, gvk.Kind)
	}
	if holder, taken := t.goTypes[gvk]; taken {
		if holder != goType {
			return &ConflictError{Kind: gvk, Registered: holder, Refused: goType}
		}
		return nil
	}
	t.observe(gvk.GroupVersion())
	t.goTypes[gvk] = goType
	t.kinds[goType] = appended(t.kinds[goType], gvk)
	return nil
}

// setUnversioned marks a type that add has registered under its own name.
func (t *table) setUnversioned(goType reflect.Type) error {
	kind := goType.Name()
	if holder, taken := t.unversionedKinds[kind]; taken && holder != goType {
		return &ConflictError{Kind: schema.GroupVersionKind{Kind: kind}, Registered: holder, Refused: goType}
	}
	t.unversionedKinds[kind] = goType
	t.unversioned[goType] = true
	return nil
}

// observe puts a version that is new to its group behind the others.
func (t *table) observe(gv schema.GroupVersion) {
	if gv.Version == "" || gv.Version == runtime.APIVersionInternal {
		return
	}
	if versions := t.versions[gv.Group]; !slices.Contains(versions, gv.Version) {
		t.versions[gv.Group] = appended(versions, gv.Version)
	}
}

// appended appends to a copy, since the slice may belong to a published table.
func appended[T any](s []T, v T) []T { return append(slices.Clip(s), v) }

// structOf returns the struct type that an object points to.
func structOf(object runtime.Object) (reflect.Type, error) {
	if object == nil {
		return nil, fmt.Errorf("the object is nil: give a pointer to a struct")
	}
	goType := reflect.TypeOf(object)
	if goType.Kind() != reflect.Pointer || goType.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a pointer to a struct", goType)
	}
	return goType.Elem(), nil
}

// newObject makes an object of a registered type.
func newObject(goType reflect.Type) runtime.Object {
	return reflect.New(goType).Interface().(runtime.Object)
}

// typeName is a Go type's name with its whole package path.
func typeName(goType reflect.Type) string {
	return goType.PkgPath() + "." + goType.Name()
}

// ConflictError says that a kind is taken: nothing was registered, and the
// program has to give one of the two types another kind. A Kind with a name only
// is an unversioned one.
type ConflictError struct {
	// Kind that both types claim.
	Kind schema.GroupVersionKind
	// Registered is the type that has the kind and keeps it.
	Registered reflect.Type
	// Refused is the type that came second.
	Refused reflect.Type
}

// Error names the kind and both types.
func (e *ConflictError) Error() string {
	what := "kind " + kindName(e.Kind)
	if e.Kind.Version == "" {
		what = "unversioned kind " + e.Kind.Kind
	}
	return fmt.Sprintf("%s belongs to %s and cannot be %s as well", what, typeName(e.Registered), typeName(e.Refused))
}

// kindName is "apps/v1 Deployment".
func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}
