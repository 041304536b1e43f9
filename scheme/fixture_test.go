package scheme_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	v1     = schema.GroupVersion{Group: "example.dev", Version: "v1"}
	v2     = schema.GroupVersion{Group: "example.dev", Version: "v2"}
	other1 = schema.GroupVersion{Group: "other.dev", Version: "v1"}
)

// Widget is a custom resource.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              int64  `json:"size,omitempty"`
	Colour            string `json:"colour,omitempty"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Widget `json:"items"`
}

func (l *WidgetList) DeepCopyObject() runtime.Object { c := *l; return &c }

// Gadget is another custom resource, without a list.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (g *Gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

// AllowList is an item whose name ends like a list's, and that has Items.
type AllowList struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Items             []string `json:"items"`
}

func (g *AllowList) DeepCopyObject() runtime.Object { c := *g; return &c }

// DenyList is such an item without a list.
type DenyList struct{ AllowList }

func (g *DenyList) DeepCopyObject() runtime.Object { c := *g; return &c }

// AllowListList is the list of AllowLists.
type AllowListList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []AllowList `json:"items"`
}

func (l *AllowListList) DeepCopyObject() runtime.Object { c := *l; return &c }

// byValue implements runtime.Object without being a pointer.
type byValue struct{}

func (byValue) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (v byValue) DeepCopyObject() runtime.Object { return v }

// addWidgets is the AddToScheme of an API package, as generated code has it.
func addWidgets(s *runtime.Scheme) error {
	s.AddKnownTypes(v1, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(s, v1)
	return nil
}
