package scheme_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"governor/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Case 54; Contract 5. Widget is registered as example.dev/v1 and other.dev/v1
// Widget, and internally; Gadget internally only.
func TestGVKForObject(t *testing.T) {
	widget := func(apiVersion, kind string) *Widget {
		return &Widget{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	}
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	unstruct := func(gvk schema.GroupVersionKind) runtime.Object {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u
	}
	metadata := func(gvk schema.GroupVersionKind) runtime.Object {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(gvk)
		return m
	}
	tests := []struct {
		name   string
		object runtime.Object
		want   schema.GroupVersionKind
		errors []string
	}{
		{"one kind", &corev1.Pod{}, pod, nil},
		{"one kind, TypeMeta says another", &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v9", Kind: "Pot"}}, pod, nil},
		{"two kinds, TypeMeta names the first", widget("example.dev/v1", "Widget"), v1.WithKind("Widget"), nil},
		{"two kinds, TypeMeta names the second", widget("other.dev/v1", "Widget"), other1.WithKind("Widget"), nil},
		{"two kinds, no TypeMeta", widget("", ""), schema.GroupVersionKind{},
			[]string{"*scheme_test.Widget", "example.dev/v1 Widget", "other.dev/v1 Widget", "set its TypeMeta"}},
		{"two kinds, TypeMeta names a third", widget("third.dev/v1", "Widget"), schema.GroupVersionKind{},
			[]string{"example.dev/v1 Widget", "other.dev/v1 Widget", "third.dev/v1 Widget"}},
		{"two kinds, TypeMeta names the internal one", widget("example.dev/__internal", "Widget"), schema.GroupVersionKind{},
			[]string{"example.dev/v1 Widget", "__internal"}},
		{"internal version only", &Gadget{}, schema.GroupVersionKind{}, []string{"internal"}},
		{"option type", &metav1.ListOptions{}, schema.GroupVersionKind{}, []string{"ListOptions", "others"}},
		{"unversioned", &metav1.Status{}, schema.GroupVersionKind{}, []string{"unversioned"}},
		{"not registered", &AllowList{}, schema.GroupVersionKind{}, []string{"no kind is registered", "AllowList", "Install"}},
		{"unstructured", unstruct(v1.WithKind("Anything")), v1.WithKind("Anything"), nil},
		{"unstructured without kind", unstruct(v1.WithKind("")), schema.GroupVersionKind{}, []string{"Kind", "SetGroupVersionKind"}},
		{"unstructured without version", unstruct(schema.GroupVersionKind{Kind: "Anything"}), schema.GroupVersionKind{}, []string{"apiVersion", "Anything"}},
		{"unstructured list", &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "PodList"}},
			schema.GroupVersionKind{Version: "v1", Kind: "PodList"}, nil},
		{"metadata", metadata(pod), pod, nil},
		{"metadata of the kind of metadata", metadata(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")), schema.GroupVersionKind{},
			[]string{"PartialObjectMetadata", "SetGroupVersionKind"}},
		{"metadata without kind", metadata(schema.GroupVersionKind{}), schema.GroupVersionKind{}, []string{"Kind"}},
		{"metadata list without kind", &metav1.PartialObjectMetadataList{}, schema.GroupVersionKind{}, []string{"Kind"}},
		{"nil", nil, schema.GroupVersionKind{}, []string{"nil"}},
		{"nil pointer", (*corev1.Pod)(nil), schema.GroupVersionKind{}, []string{"nil *v1.Pod"}},
		{"nil unstructured", (*unstructured.Unstructured)(nil), schema.GroupVersionKind{}, []string{"nil"}},
		{"not a pointer", byValue{}, schema.GroupVersionKind{}, []string{"not a pointer"}},
	}
	s := scheme.Builtin()
	internal := schema.GroupVersion{Group: "example.dev", Version: runtime.APIVersionInternal}
	for _, gv := range []schema.GroupVersion{internal, v1, other1} {
		if err := s.AddKnownTypes(gv, &Widget{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddKnownTypes(internal, &Gadget{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.GVKForObject(tt.object)
			if got != tt.want || (err == nil) != (tt.errors == nil) {
				t.Fatalf("got %v, %v; want %v", got, err, tt.want)
			}
			for _, part := range tt.errors {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

// A library that registers one of our types under a group of its own does not
// make the kind of any other type doubtful. Case 54; Contract 5.
func TestAnotherGroupDoesNotConfuse(t *testing.T) {
	s := scheme.Builtin()
	if err := s.Install(addWidgets, func(rs *runtime.Scheme) error {
		rs.AddKnownTypeWithName(other1.WithKind("CopiedDeployment"), &appsv1.Deployment{})
		metav1.AddToGroupVersion(rs, other1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, object := range []runtime.Object{&corev1.Pod{}, &appsv1.DeploymentList{}, &Widget{}} {
		if _, err := s.GVKForObject(object); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.GVKForObject(&appsv1.Deployment{}); err == nil {
		t.Error("the doubtful one is not refused")
	}
}

// What client-go's scheme has, ours has, both ways.
func TestBuiltinHasAllOfClientGo(t *testing.T) {
	s := scheme.Builtin()
	for gvk, goType := range clientgoscheme.Scheme.AllKnownTypes() {
		object, err := s.New(gvk)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := reflect.TypeOf(object).Elem(); got != goType {
			t.Errorf("%v is a %s, want %s", gvk, got, goType)
		}
		kinds, unversioned, err := s.ObjectKinds(object)
		if err != nil || !slices.Contains(kinds, gvk) {
			t.Errorf("kinds of %s are %v, %v; want %v among them", goType, kinds, err, gvk)
		}
		if want, _ := clientgoscheme.Scheme.IsUnversioned(object); unversioned != want {
			t.Errorf("%v is unversioned: %v, want %v", gvk, unversioned, want)
		}
		if _, ok := object.(metav1.Object); ok {
			if got, err := s.GVKForObject(object); got != gvk {
				t.Errorf("the kind of a new %v is %v, %v", gvk, got, err)
			}
		}
	}
	for _, gv := range clientgoscheme.Scheme.PrioritizedVersionsAllGroups() {
		want := clientgoscheme.Scheme.PrioritizedVersionsForGroup(gv.Group)
		if got := s.PrioritizedVersionsForGroup(gv.Group); !slices.Equal(got, want) {
			t.Errorf("versions of %q are %v, want %v", gv.Group, got, want)
		}
	}
}

func TestUnversionedTypesInEveryGroup(t *testing.T) {
	s := scheme.New()
	if err := s.AddUnversionedTypes(v1, &Gadget{}); err != nil {
		t.Fatal(err)
	}
	if object, err := s.New(other1.WithKind("Gadget")); err != nil || reflect.TypeOf(object) != reflect.TypeFor[*Gadget]() {
		t.Errorf("New in another group: %T, %v", object, err)
	}
	if _, unversioned, err := s.ObjectKinds(&Gadget{}); !unversioned || err != nil {
		t.Errorf("unversioned is %v, %v", unversioned, err)
	}
	// A versioned type of that name goes before it in its own group.
	if err := s.AddKnownTypeWithName(other1.WithKind("Gadget"), &Widget{}); err != nil {
		t.Fatal(err)
	}
	if object, _ := s.New(other1.WithKind("Gadget")); reflect.TypeOf(object) != reflect.TypeFor[*Widget]() {
		t.Errorf("the versioned type is hidden by %T", object)
	}
}

// Case 54: "list kind = kind + List, missing → clear error".
func TestNewList(t *testing.T) {
	s := withWidgets(t)
	if err := s.AddKnownTypes(v1, &Gadget{}, &AllowList{}, &AllowListList{}, &DenyList{}); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ kind, want string }{
		{"Widget", "WidgetList"},
		{"WidgetList", "WidgetList"},
		{"AllowList", "AllowListList"},
		{"AllowListList", "AllowListList"},
		{"DenyList", ""},
		{"Gadget", ""},
		{"Unknown", ""},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			list, err := s.NewList(v1.WithKind(tt.kind))
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), tt.kind) {
					t.Fatalf("got %T and the error %v", list, err)
				}
				return
			}
			if err != nil || reflect.TypeOf(list).Elem().Name() != tt.want {
				t.Errorf("got a %T, %v", list, err)
			}
		})
	}
	_, err := s.NewList(v1.WithKind("Gadget"))
	if err == nil || !strings.Contains(err.Error(), "register example.dev/v1 GadgetList") {
		t.Errorf("error %v does not say what to do", err)
	}
}

// The errors satisfy what apimachinery's serializers ask them.
func TestErrorsOfUnknownKinds(t *testing.T) {
	s := scheme.New()
	if _, err := s.New(v1.WithKind("Widget")); !runtime.IsNotRegisteredError(err) {
		t.Errorf("New: %v", err)
	}
	if _, _, err := s.ObjectKinds(&Widget{}); !runtime.IsNotRegisteredError(err) {
		t.Errorf("ObjectKinds: %v", err)
	}
	if _, err := s.GVKForObject(&Widget{}); !runtime.IsNotRegisteredError(err) {
		t.Errorf("GVKForObject: %v", err)
	}
	if _, err := s.NewList(v1.WithKind("Widget")); !runtime.IsNotRegisteredError(err) {
		t.Errorf("NewList: %v", err)
	}
	if _, _, err := s.ObjectKinds(&unstructured.Unstructured{}); !runtime.IsMissingKind(err) {
		t.Errorf("unstructured: %v", err)
	}
}
