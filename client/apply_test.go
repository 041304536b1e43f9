package client_test

import (
	"strings"
	"testing"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func unstructuredSpec(obj client.Object) map[string]any {
	return obj.(*unstructured.Unstructured).Object["spec"].(map[string]any)
}

func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	u.SetGroupVersionKind(widgetKind)
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

// Contract 8; Case 52: owner and force are in the query, the body is what was
// given, and the configuration then is the reply.
func TestApply(t *testing.T) {
	cm := applycorev1.ConfigMap("cm", "default").WithData(map[string]string{"a": "1"})
	s := newServer(t, answerJSON(200, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"cm","namespace":"default","resourceVersion":"3"},"data":{"a":"1","b":"2"}}`))
	if err := s.Apply(t.Context(), cm, client.FieldOwner("me"), client.ForceOwnership, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	c := s.only(t)
	if c.Method != "PATCH" || c.Path != "/api/v1/namespaces/default/configmaps/cm" || c.Query.Encode() != "dryRun=All&fieldManager=me&force=true" {
		t.Errorf("sent %s %s?%s", c.Method, c.Path, c.Query.Encode())
	}
	if ct := c.Header.Get("Content-Type"); ct != "application/apply-patch+yaml" {
		t.Errorf("Content-Type %q", ct)
	}
	if want := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"cm","namespace":"default"},"data":{"a":"1"}}`; string(c.Body) != want {
		t.Errorf("body %s", c.Body)
	}
	if *cm.ResourceVersion != "3" || cm.Data["b"] != "2" {
		t.Errorf("memory is not the reply: %+v", cm)
	}
}

func TestApplyUnstructured(t *testing.T) {
	u := widget("w")
	s := newServer(t, answerJSON(200, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"default","resourceVersion":"3"},"spec":{"size":1}}`))
	if err := s.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("me")); err != nil {
		t.Fatal(err)
	}
	c := s.only(t)
	if c.Path != "/apis/example.com/v1/namespaces/default/widgets/w/status" || c.Query.Encode() != "fieldManager=me" {
		t.Errorf("sent %s?%s", c.Path, c.Query.Encode())
	}
	if gvk, _ := kindOnWire(t, c.Body); gvk != widgetKind {
		t.Errorf("body is a %v", gvk)
	}
	if u.GetResourceVersion() != "3" || unstructuredSpec(u)["size"] != int64(1) {
		t.Errorf("memory is not the reply: %v", u.Object)
	}
}

type strange struct{}

func (*strange) IsApplyConfiguration() {}

// Contract 5 and 8: what cannot work is not sent.
func TestApplyMistakes(t *testing.T) {
	me := client.FieldOwner("me")
	var none *applycorev1.ConfigMapApplyConfiguration
	tests := []struct {
		name string
		obj  runtime.ApplyConfiguration
		opts []client.ApplyOption
		text string
	}{
		{"no owner", applycorev1.ConfigMap("cm", "default"), nil, "field owner is missing"},
		{"no name", applycorev1.ConfigMap("", "default"), []client.ApplyOption{me}, "name is empty"},
		{"no namespace", applycorev1.ConfigMap("cm", ""), []client.ApplyOption{me}, "namespace is empty"},
		{"no kind", &applycorev1.ConfigMapApplyConfiguration{}, []client.ApplyOption{me}, "apiVersion or kind is missing"},
		{"no kind, unstructured", client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{}), []client.ApplyOption{me}, "SetGroupVersionKind"},
		{"nil", nil, []client.ApplyOption{me}, "nil"},
		{"nil pointer", none, []client.ApplyOption{me}, "nil"},
		{"nil unstructured", client.ApplyConfigurationFromUnstructured(nil), []client.ApplyOption{me}, "nil"},
		{"not generated", &strange{}, []client.ApplyOption{me}, "not an apply configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{}`))
			if err := s.Apply(t.Context(), tt.obj, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one with %q", err, tt.text)
			}
			s.none(t)
		})
	}
}

// Contract 4; Case 52: the server's conflict comes through with its causes.
func TestApplyConflict(t *testing.T) {
	s := newServer(t, answerJSON(409, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,
		"message":"Apply failed with 1 conflict: conflict with \"other\": .data.a","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"other\"","field":".data.a"}]}}`))
	cm := applycorev1.ConfigMap("cm", "default").WithData(map[string]string{"a": "1"})
	err := s.Apply(t.Context(), cm, client.FieldOwner("me"))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `apply ConfigMap default/cm: Apply failed with 1 conflict: conflict with "other": .data.a`) {
		t.Errorf("error %v", err)
	}
	if !apierrors.HasStatusCause(err, "FieldManagerConflict") {
		t.Errorf("the causes are lost: %v", err)
	}
	if cm.ResourceVersion != nil || cm.Data["a"] != "1" {
		t.Errorf("the configuration has changed: %+v", cm)
	}
}
