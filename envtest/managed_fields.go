package envtest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"governor/client"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// fieldManager tracks who owns which fields of what a write changes: the object, or
// what the path names below it.
func (w *write) fieldManager() *managedfields.FieldManager {
	return w.resource.FieldManager(w.subresource)
}

// track fills in next's defaults, and writes into its managedFields who owns what after a write, which is no
// apply, from live (nil: there was nothing) to next: w.manager owns what it has changed. live is not written to.
// Both have their kind.
func (s *Server) track(w *write, live, next client.Object) error {
	setDefaults(next)
	var of shape
	if live == nil {
		var known bool
		if of, known = s.shapes.recall(w, next); known {
			return nil
		}
		var err error
		if live, err = s.empty(next.GetObjectKind().GroupVersionKind()); err != nil {
			return err
		}
	}
	if _, err := w.fieldManager().Update(live, next, w.manager); err != nil {
		// The object does not fit its schema, as whoever validates it will say.
		next.SetManagedFields(live.GetManagedFields())
		return nil
	}
	s.shapes.remember(of, next)
	return nil
}

// empty returns an object of a kind, with its kind: in the form in which the
// server holds it, which for a custom kind is not the Go type that the scheme may
// have for it.
func (s *Server) empty(kind schema.GroupVersionKind) (client.Object, error) {
	resource := s.kinds.ForKind(kind)
	if resource != nil && unstructuredKind(resource) || !s.scheme.Recognizes(kind) {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		if kind == definitionKind { // what its Go type always has is not its creator's
			u.Object["spec"] = map[string]any{"group": "", "names": map[string]any{"plural": "", "kind": ""}, "scope": "", "versions": nil}
		}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	obj, err := s.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj.(client.Object), nil
}

// managerName is who owns the fields that a request sets: who the client says it
// is, or the printable beginning of its user agent.
func managerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	first, _, _ := strings.Cut(userAgent, "/")
	var name strings.Builder
	for _, r := range first {
		if !unicode.IsPrint(r) {
			continue
		}
		if name.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		name.WriteRune(r)
	}
	return name.String()
}

// ignoreTimestamps takes back the new times of managed fields when they are all
// that a write has changed: it is no write then.
func ignoreTimestamps(obj, live client.Object) {
	before, after := live.GetManagedFields(), obj.GetManagedFields()
	if len(after) == 0 || !slices.EqualFunc(before, after, equalButTime) {
		return
	}
	obj.SetManagedFields(before)
	if !sameObject(obj, live) {
		obj.SetManagedFields(after)
	}
}

func equalButTime(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}
