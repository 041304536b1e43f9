package scheme

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	_ runtime.ObjectTyper     = (*Scheme)(nil)
	_ runtime.ObjectCreater   = (*Scheme)(nil)
	_ runtime.ObjectDefaulter = (*Scheme)(nil)
)

// Scheme maps kinds to Go types and back. It is made by New or Builtin, grows
// by Install and the Add methods, and never shrinks. All methods are safe for
// concurrent use. Upstream: apimachinery's runtime.Scheme.
type Scheme struct {
	mu    sync.Mutex            // one registration at a time
	state atomic.Pointer[table] // never nil; what it points to never changes

	codecs *codecs // of this scheme; never changes
}

// New returns a Scheme that knows what every API server speaks, whatever its
// groups: metadata-only objects, Status, discovery, watch events and the option
// types of requests in version v1.
func New() *Scheme { return newScheme(base()) }

// Builtin returns a new Scheme that knows every group that Kubernetes itself
// serves. It is cheap: schemes start from one immutable table. Upstream:
// client-go's kubernetes/scheme.Scheme, which is one for the whole process.
func Builtin() *Scheme { return newScheme(builtin()) }

func newScheme(t *table) *Scheme {
	s := &Scheme{}
	s.state.Store(t)
	s.codecs = newCodecs(s)
	return s
}

// AddKnownTypes registers objects in gv, each under the name of its Go type.
// The objects are pointers to structs. It returns a *ConflictError if a kind has
// another type already.
func (s *Scheme) AddKnownTypes(gv schema.GroupVersion, objects ...runtime.Object) error {
	return s.update(func(t *table) error {
		t.observe(gv)
		for _, object := range objects {
			if err := t.addUnderOwnName(gv, object); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddKnownTypeWithName registers an object, a pointer to a struct, under a kind.
// It returns a *ConflictError if the kind has another type already.
func (s *Scheme) AddKnownTypeWithName(gvk schema.GroupVersionKind, object runtime.Object) error {
	return s.update(func(t *table) error { return t.add(gvk, object) })
}

// AddUnversionedTypes registers objects that mean the same in every version,
// such as Status: New makes them for any group and version, ObjectKinds says
// that they are unversioned, GVKForObject refuses them.
func (s *Scheme) AddUnversionedTypes(gv schema.GroupVersion, objects ...runtime.Object) error {
	return s.update(func(t *table) error {
		t.observe(gv)
		for _, object := range objects {
			if err := t.addUnderOwnName(gv, object); err != nil {
				return err
			}
			if err := t.setUnversioned(reflect.TypeOf(object).Elem()); err != nil {
				return err
			}
		}
		return nil
	})
}

// update changes the table by a copy, so that an error leaves no trace and
// lookups go on meanwhile.
func (s *Scheme) update(change func(*table) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.state.Load().clone()
	if err := change(t); err != nil {
		return fmt.Errorf("scheme: %w", err)
	}
	s.state.Store(t)
	return nil
}

// New returns a new zero object of a kind, without its TypeMeta. The error for an
// unknown kind satisfies runtime.IsNotRegisteredError: Install the package that
// has it.
func (s *Scheme) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	t := s.state.Load()
	goType, ok := t.goTypes[gvk]
	if !ok {
		goType, ok = t.unversionedKinds[gvk.Kind]
	}
	if !ok {
		return nil, runtime.NewNotRegisteredErrForKind(name, gvk)
	}
	return newObject(goType), nil
}

// Recognizes says whether a kind is registered.
func (s *Scheme) Recognizes(gvk schema.GroupVersionKind) bool {
	_, ok := s.state.Load().goTypes[gvk]
	return ok
}

// AllKnownTypes returns all registered kinds. The map is the caller's.
func (s *Scheme) AllKnownTypes() map[schema.GroupVersionKind]reflect.Type {
	all := s.state.Load().goTypes
	result := make(map[schema.GroupVersionKind]reflect.Type, len(all))
	for gvk, goType := range all {
		result[gvk] = goType
	}
	return result
}

// KnownTypes returns the kinds of one version by name. The map is the caller's.
func (s *Scheme) KnownTypes(gv schema.GroupVersion) map[string]reflect.Type {
	result := map[string]reflect.Type{}
	for gvk, goType := range s.state.Load().goTypes {
		if gvk.GroupVersion() == gv {
			result[gvk.Kind] = goType
		}
	}
	return result
}

// name stands in apimachinery's "not registered" errors as the scheme's name: it
// tells the reader what to do, since those errors cannot be wrapped (see
// runtime.IsNotRegisteredError).
const name = "governor: Scheme.Install adds a package's types"
