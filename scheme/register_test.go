package scheme_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A registration that cannot be is an error that says what is wrong, and
// leaves the scheme as it was. Case 54; Contracts 1 and 2.
func TestFailedRegistrationChangesNothing(t *testing.T) {
	tests := []struct {
		name string
		do   func(*scheme.Scheme) error
		want []string // in the error's text
	}{
		{"kind of another type", func(s *scheme.Scheme) error {
			return s.AddKnownTypeWithName(v1.WithKind("Widget"), &Gadget{})
		}, []string{"example.dev/v1 Widget", "scheme_test.Widget", "scheme_test.Gadget"}},
		{"second of two", func(s *scheme.Scheme) error {
			return s.AddKnownTypes(v1, &Gadget{}, byValue{})
		}, []string{"byValue", "not a pointer"}},
		{"option type's kind taken by an object", func(s *scheme.Scheme) error {
			return s.AddKnownTypeWithName(v1.WithKind("ListOptions"), &Gadget{})
		}, []string{"ListOptions", "meta/v1.ListOptions", "scheme_test.Gadget"}},
		{"unversioned kind taken", func(s *scheme.Scheme) error {
			return s.AddUnversionedTypes(other1, &Gadget{}, &Status{})
		}, []string{"unversioned kind Status", "meta/v1.Status"}},
		{"no version", func(s *scheme.Scheme) error {
			return s.AddKnownTypes(schema.GroupVersion{Group: "example.dev"}, &Gadget{})
		}, []string{"needs a version", "Gadget"}},
		{"no kind", func(s *scheme.Scheme) error {
			return s.AddKnownTypeWithName(v1.WithKind(""), &Gadget{})
		}, []string{"needs a version and a name", "Gadget"}},
		{"nil object", func(s *scheme.Scheme) error {
			return s.AddKnownTypes(v2, nil)
		}, []string{"nil"}},
		{"not a pointer", func(s *scheme.Scheme) error {
			return s.AddKnownTypeWithName(v2.WithKind("Value"), byValue{})
		}, []string{"byValue", "not a pointer to a struct"}},
		{"install: conflict with what is there", func(s *scheme.Scheme) error {
			return s.Install(func(rs *runtime.Scheme) error {
				rs.AddKnownTypes(v2, &Gadget{})
				rs.AddKnownTypeWithName(v1.WithKind("Widget"), &Gadget{})
				return nil
			})
		}, []string{"example.dev/v1 Widget", "scheme_test.Widget", "scheme_test.Gadget"}},
		{"install: conflict between two functions", func(s *scheme.Scheme) error {
			return s.Install(addOther(&Widget{}), addOther(&Gadget{}))
		}, []string{"function 2 of 2", "panic", "scheme_test.Widget", "scheme_test.Gadget"}},
		{"install: function panics on a value", func(s *scheme.Scheme) error {
			return s.Install(addOther(byValue{}))
		}, []string{"panic", "pointers to structs"}},
		{"install: function fails", func(s *scheme.Scheme) error {
			return s.Install(addOther(&Gadget{}), func(*runtime.Scheme) error { return errors.New("no luck") })
		}, []string{"function 2 of 2", "no luck"}},
		{"install: function is nil", func(s *scheme.Scheme) error {
			return s.Install(addOther(&Gadget{}), nil)
		}, []string{"function 2 of 2", "nil"}},
		{"defaulting function is nil", func(s *scheme.Scheme) error {
			return s.AddTypeDefaultingFunc(&Widget{}, nil)
		}, []string{"Widget", "nil"}},
		{"priority of two groups", func(s *scheme.Scheme) error {
			return s.SetVersionPriority(v2, other1)
		}, []string{"example.dev/v2", "other.dev/v1"}},
		{"priority of nothing", func(s *scheme.Scheme) error {
			return s.SetVersionPriority()
		}, []string{"no version"}},
		{"priority of the internal version", func(s *scheme.Scheme) error {
			return s.SetVersionPriority(v2, schema.GroupVersion{Group: "example.dev", Version: runtime.APIVersionInternal})
		}, []string{"__internal"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := withWidgets(t)
			types, versions := s.AllKnownTypes(), s.PrioritizedVersionsAllGroups()
			err := tt.do(s)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if !maps.Equal(s.AllKnownTypes(), types) {
				t.Error("types were registered all the same")
			}
			if got := s.PrioritizedVersionsAllGroups(); !slices.Equal(got, versions) {
				t.Errorf("versions changed from %v to %v", versions, got)
			}
		})
	}
}

// Status is called like metav1.Status.
type Status struct{ Gadget }

// Case 54; Contract 2.
func TestTheSameTwiceIsOnce(t *testing.T) {
	s := withWidgets(t)
	before := s.AllKnownTypes()
	if err := s.Install(addWidgets, addWidgets); err != nil {
		t.Fatal(err)
	}
	if err := s.AddKnownTypes(v1, &Widget{}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(s.AllKnownTypes(), before) {
		t.Error("the second time added kinds")
	}
	if kinds, _, err := s.ObjectKinds(&Widget{}); len(kinds) != 1 || err != nil {
		t.Errorf("kinds are %v, %v", kinds, err)
	}
}

// Contract 4.
func TestSchemesShareNothing(t *testing.T) {
	a, b := scheme.Builtin(), scheme.Builtin()
	if err := a.Install(addWidgets); err != nil {
		t.Fatal(err)
	}
	if err := a.AddTypeDefaultingFunc(&corev1.Pod{}, func(o any) { o.(*corev1.Pod).Name = "changed" }); err != nil {
		t.Fatal(err)
	}
	if b.Recognizes(v1.WithKind("Widget")) {
		t.Error("one scheme's kind is in the other")
	}
	var pod corev1.Pod
	b.Default(&pod)
	if pod.Name != "" {
		t.Error("one scheme's defaulting function runs in the other")
	}
	// The kinds of a type that has many are no shared slice either.
	mustAdd(t, a, v1.WithKind("OptionsA"), &metav1.ListOptions{})
	mustAdd(t, b, v1.WithKind("OptionsB"), &metav1.ListOptions{})
	if kinds, _, _ := a.ObjectKinds(&metav1.ListOptions{}); slices.Contains(kinds, v1.WithKind("OptionsB")) {
		t.Error("one scheme has a kind of the other")
	}
	delete(a.AllKnownTypes(), v1.WithKind("Widget"))
	delete(a.KnownTypes(v1), "Widget")
	if _, err := a.New(v1.WithKind("Widget")); err != nil {
		t.Errorf("the maps given out are the scheme's own: %v", err)
	}
}

// Case 54; Contract 3: with the race detector.
func TestAddBesideLookup(t *testing.T) {
	s := scheme.New()
	var wg sync.WaitGroup
	for _, gv := range []schema.GroupVersion{v1, v2, other1} {
		wg.Go(func() {
			for range 50 {
				if err := s.AddKnownTypes(gv, &Widget{}, &WidgetList{}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				// Whole or not at all: with the item there is the list.
				if s.Recognizes(gv.WithKind("Widget")) && !s.Recognizes(gv.WithKind("WidgetList")) {
					t.Error("half a registration was seen")
				}
				_, _, _ = s.ObjectKinds(&Widget{})
				_ = s.AllKnownTypes()
				_ = s.PrioritizedVersionsAllGroups()
			}
		})
	}
	wg.Wait()
	if kinds, _, _ := s.ObjectKinds(&Widget{}); len(kinds) != 3 {
		t.Errorf("kinds are %v, want three", kinds)
	}
}

func TestVersionPriority(t *testing.T) {
	three := []schema.GroupVersion{v1, v2, {Group: "example.dev", Version: "v3"}}
	s := scheme.New()
	for _, gv := range three {
		if err := s.AddKnownTypes(gv, &Widget{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want ...schema.GroupVersion) {
		t.Helper()
		if got := s.PrioritizedVersionsForGroup("example.dev"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("in order of registration", three...)
	if err := s.SetVersionPriority(v2); err != nil {
		t.Fatal(err)
	}
	check("the named one first", v2, v1, three[2])
	if err := s.Install(func(rs *runtime.Scheme) error {
		rs.AddKnownTypes(schema.GroupVersion{Group: "example.dev", Version: "v0"}, &Widget{})
		return rs.SetVersionPriority(three[2], v1)
	}); err != nil {
		t.Fatal(err)
	}
	check("what Install brings", three[2], v1, v2, schema.GroupVersion{Group: "example.dev", Version: "v0"})
	if got := s.PrioritizedVersionsForGroup("unknown"); len(got) != 0 {
		t.Errorf("an unknown group has versions %v", got)
	}
}

func TestDefault(t *testing.T) {
	size := func(n int64) func(any) {
		return func(o any) {
			if w := o.(*Widget); w.Size == 0 {
				w.Size = n
			}
		}
	}
	installed := func(n int64) func(*runtime.Scheme) error {
		return func(rs *runtime.Scheme) error {
			rs.AddTypeDefaultingFunc(&Widget{}, size(n))
			return nil
		}
	}
	s := withWidgets(t)
	check := func(what string, want int64) {
		t.Helper()
		var w Widget
		if s.Default(&w); w.Size != want {
			t.Errorf("%s: size %d, want %d", what, w.Size, want)
		}
	}
	check("no function", 0)
	if err := s.Install(installed(1)); err != nil {
		t.Fatal(err)
	}
	check("installed apart from its type", 1)
	if err := s.Install(installed(2)); err != nil {
		t.Fatal(err)
	}
	check("the latest Install", 2)
	if err := s.AddTypeDefaultingFunc(&Widget{}, size(3)); err != nil {
		t.Fatal(err)
	}
	check("one of ours", 3)
	s.Default(nil)
	s.Default(byValue{})
	s.Default(&Gadget{})
}

// An error stays harmless whatever comes after it.
func TestRegisterAfterConflict(t *testing.T) {
	s := withWidgets(t)
	if err := s.AddKnownTypeWithName(v1.WithKind("Widget"), &Gadget{}); err == nil {
		t.Fatal("no conflict")
	}
	if err := s.AddKnownTypes(v1, &Gadget{}); err != nil {
		t.Fatal(err)
	}
	if gvk, err := s.GVKForObject(&Gadget{}); gvk != v1.WithKind("Gadget") {
		t.Errorf("kind is %v, %v", gvk, err)
	}
}

// New starts with what a client of any server needs, and no more.
func TestNewKnowsTheMachinery(t *testing.T) {
	s := scheme.New()
	for _, gvk := range []schema.GroupVersionKind{
		metav1.Unversioned.WithKind("Status"),
		metav1.Unversioned.WithKind("DeleteOptions"),
		metav1.Unversioned.WithKind("WatchEvent"),
		metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"),
	} {
		if !s.Recognizes(gvk) {
			t.Errorf("%v is missing", gvk)
		}
	}
	if s.Recognizes(corev1.SchemeGroupVersion.WithKind("Pod")) {
		t.Error("Pods are in an empty scheme")
	}
}

func withWidgets(t *testing.T) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	if err := s.Install(addWidgets); err != nil {
		t.Fatal(err)
	}
	return s
}

func mustAdd(t *testing.T, s *scheme.Scheme, gvk schema.GroupVersionKind, object runtime.Object) {
	t.Helper()
	if err := s.AddKnownTypeWithName(gvk, object); err != nil {
		t.Fatal(err)
	}
}

func addOther(object runtime.Object) func(*runtime.Scheme) error {
	return func(rs *runtime.Scheme) error {
		rs.AddKnownTypes(other1, &Widget{})
		rs.AddKnownTypeWithName(other1.WithKind("Thing"), object)
		return nil
	}
}
