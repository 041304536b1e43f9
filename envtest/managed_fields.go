package envtest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"governor/client"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// managerName says who makes a change: what the option fieldManager says, or
// else the client's program, as its User-Agent begins.
func managerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	program, _, _ := strings.Cut(userAgent, "/")
	name := make([]byte, 0, len(program))
	for _, r := range program {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(name)+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		name = utf8.AppendRune(name, r)
	}
	return string(name)
}

// fieldManager tracks who owns which fields of the object, or of what the path names below it.
func (c *call) fieldManager() *managedfields.FieldManager {
	return c.resource.FieldManager(c.attributes.Subresource)
}

// track writes into next's managedFields who owns what after a change from live to
// next that is not an apply: the manager owns what it has changed. live is nil for
// a create. next is written to, live is not; both may be in any version of the resource, and have
// their kind. Upstream: FieldManager.UpdateNoErrors.
func (s *Server) track(c *call, live, next client.Object, manager string) (client.Object, error) {
	if live == nil {
		empty, err := s.empty(c)
		if err != nil {
			return nil, err
		}
		live = empty
	}
	tracked := c.fieldManager().UpdateNoErrors(live, next, manager)
	object, ok := tracked.(client.Object)
	if !ok {
		return nil, fmt.Errorf("managed fields: %T has no metadata", tracked)
	}
	return object, nil
}

// empty returns a new object of the call's kind.
func (s *Server) empty(c *call) (client.Object, error) {
	kind := c.kind()
	if !s.scheme.Recognizes(kind) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	created, err := s.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	object, ok := created.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", created)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, nil
}

// unchanged says whether an update from old to next is none: nothing differs but
// times in managedFields and the resourceVersion. Both are in the storage version;
// next's managedFields and resourceVersion are old's afterwards if it returns true, and otherwise what they were.
func unchanged(old, next client.Object) bool {
	before, version := next.GetManagedFields(), next.GetResourceVersion()
	if !sameButTimes(old.GetManagedFields(), before) {
		return false
	}
	next.SetManagedFields(old.GetManagedFields())
	next.SetResourceVersion(old.GetResourceVersion())
	same := false
	if _, custom := next.(*unstructured.Unstructured); custom {
		// An empty map is not the same JSON as none.
		same = equality.Semantic.DeepEqualWithNilDifferentFromEmpty(old, next)
	} else {
		same = equality.Semantic.DeepEqual(old, next)
	}
	if !same {
		next.SetManagedFields(before)
		next.SetResourceVersion(version)
	}
	return same
}

// sameButTimes says whether two lists of managers are the same but for times.
func sameButTimes(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		x.Time, y.Time = nil, nil
		if !equality.Semantic.DeepEqual(x, y) {
			return false
		}
	}
	return true
}
