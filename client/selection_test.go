package client_test

import (
	"net/url"
	"strings"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selecting is an option of List and of DeleteAllOf.
type selecting interface {
	client.ListOption
	client.DeleteAllOfOption
}

func raw(t *testing.T, text string) labels.Selector {
	t.Helper()
	sel, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// Contract 6; Case 47: options combine as AND, in any order.
func TestSelectionsCombine(t *testing.T) {
	in := client.InNamespace("default")
	tests := []struct {
		name string
		opts []selecting
		want string
	}{
		{"nothing said", nil, ""},
		{"empty labels select everything", []selecting{client.MatchingLabels{}}, ""},
		{"labels", []selecting{client.MatchingLabels{"a": "1"}}, "labelSelector=a=1"},
		{"labels, has", []selecting{client.MatchingLabels{"a": "1"}, client.HasLabels{"b"}}, "labelSelector=a=1,b"},
		{"has, labels", []selecting{client.HasLabels{"b"}, client.MatchingLabels{"a": "1"}}, "labelSelector=a=1,b"},
		{"raw between", []selecting{client.HasLabels{"b"}, client.MatchingLabelsSelector{Selector: raw(t, "c in (x,y)")}, client.MatchingLabels{"a": "1"}}, "labelSelector=a=1,b,c in (x,y)"},
		{"everything adds nothing", []selecting{client.MatchingLabels{"a": "1"}, client.MatchingLabelsSelector{Selector: labels.Everything()}}, "labelSelector=a=1"},
		{"the same label twice", []selecting{client.MatchingLabels{"a": "1"}, client.MatchingLabels{"a": "2"}}, "labelSelector=a=1,a=2"},
		{"fields", []selecting{client.MatchingFields{"metadata.name": "x"}, client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("spec.nodeName", "n")}}, "fieldSelector=metadata.name=x,spec.nodeName!=n"},
		{"namespace twice", []selecting{in, client.InNamespace("")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, del := []client.ListOption{in}, []client.DeleteAllOfOption{in}
			for _, o := range tt.opts {
				list, del = append(list, o), append(del, o)
			}
			s := newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","items":[]}`))
			if err := s.List(t.Context(), &corev1.PodList{}, list...); err != nil {
				t.Fatal(err)
			}
			d := newServer(t, answerJSON(200, `{"kind":"Status","apiVersion":"v1","status":"Success"}`))
			if err := d.DeleteAllOf(t.Context(), &corev1.Pod{}, del...); err != nil {
				t.Fatal(err)
			}
			for verb, got := range map[string]call{"GET": s.only(t), "DELETE": d.only(t)} {
				query, err := url.QueryUnescape(got.Query.Encode())
				if err != nil {
					t.Fatal(err)
				}
				if got.Method != verb || got.Path != "/api/v1/namespaces/default/pods" || query != tt.want {
					t.Errorf("sent %s %s?%s, want %s", got.Method, got.Path, query, tt.want)
				}
			}
		})
	}
}

// Contract 6; Case 47: what cannot be right is an error, and no request.
func TestSelectionMistakes(t *testing.T) {
	long := strings.Repeat("x", 64)
	tests := []struct {
		name string
		opts []selecting
		text string
	}{
		{"label value of 64 characters", []selecting{client.MatchingLabels{"a": long}}, "MatchingLabels"},
		{"label value of two quotes", []selecting{client.MatchingLabels{"a": `""`}}, "MatchingLabels"},
		{"label key", []selecting{client.MatchingLabels{"a b": "1"}}, "MatchingLabels"},
		{"has key", []selecting{client.HasLabels{"-"}}, "HasLabels"},
		{"an error is not mended by what follows", []selecting{client.MatchingLabels{"a": long}, client.MatchingLabels{"b": "1"}}, "MatchingLabels"},
		{"nil label selector", []selecting{client.MatchingLabelsSelector{}}, "nil"},
		{"nil field selector", []selecting{client.MatchingFieldsSelector{}}, "nil"},
		{"two namespaces", []selecting{client.InNamespace("a"), client.InNamespace("b")}, "two namespaces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","items":[]}`))
			list, del := []client.ListOption{}, []client.DeleteAllOfOption{}
			for _, o := range tt.opts {
				list, del = append(list, o), append(del, o)
			}
			var watched error
			for _, watched = range s.Watch(t.Context(), &corev1.PodList{}, list...) {
			}
			errs := map[string]error{
				"list":          s.List(t.Context(), &corev1.PodList{}, list...),
				"watch":         watched,
				"delete all of": s.DeleteAllOf(t.Context(), &corev1.Pod{}, append(del, client.InNamespace(""))...),
			}
			for verb, err := range errs {
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: error %v, want one with %q", verb, err, tt.text)
				}
			}
			s.none(t)
			var o client.ListOptions
			if err := o.ApplyOptions(list); err == nil || o.LabelSelector.Matches(labels.Set{"a": "1", "b": "1"}) {
				t.Errorf("error %v, and the selection is %v: want nothing", err, o.LabelSelector)
			}
		})
	}
}

// Contract 6: "nothing" cannot be said in the server's syntax, where it looks
// like "everything". Upstream sends it.
func TestNothingIsNotEverything(t *testing.T) {
	for name, opts := range map[string][]selecting{
		"labels":             {client.MatchingLabelsSelector{Selector: labels.Nothing()}},
		"fields":             {client.MatchingFieldsSelector{Selector: fields.Nothing()}},
		"labels and more":    {client.MatchingLabels{"a": "1"}, client.MatchingLabelsSelector{Selector: labels.Nothing()}},
		"more and labels":    {client.MatchingLabelsSelector{Selector: labels.Nothing()}, client.MatchingLabels{"a": "1"}},
		"fields, then more":  {client.MatchingFieldsSelector{Selector: fields.Nothing()}, client.MatchingFields{"a": "1"}},
		"more, then nothing": {client.MatchingFields{"a": "1"}, client.MatchingFieldsSelector{Selector: fields.Nothing()}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, answerJSON(200, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`))
			list := &corev1.PodList{Items: []corev1.Pod{*pod("stale")}}
			lo, do := []client.ListOption{}, []client.DeleteAllOfOption{client.InNamespace("default")}
			for _, o := range opts {
				lo, do = append(lo, o), append(do, o)
			}
			if err := s.List(t.Context(), list, lo...); err != nil || len(list.Items) != 0 || list.Kind != "PodList" {
				t.Errorf("list: error %v, %d items, kind %q", err, len(list.Items), list.Kind)
			}
			if err := s.DeleteAllOf(t.Context(), &corev1.Pod{}, do...); err != nil {
				t.Error(err)
			}
			s.none(t)
		})
	}
}

// Contract 6: a namespace is never dropped, nor guessed.
func TestNamespaceIsNotWidened(t *testing.T) {
	s := newServer(t, answerJSON(200, `{"kind":"ClusterRoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[]}`))
	inOther := pod("a") // its namespace is not a selection
	for what, err := range map[string]error{
		"does not live in namespaces":  s.DeleteAllOf(t.Context(), &rbacv1.ClusterRole{}, client.InNamespace("default")),
		"lives in namespaces":          s.DeleteAllOf(t.Context(), inOther),
		"does not live in namespaces ": s.List(t.Context(), &rbacv1.ClusterRoleList{}, client.InNamespace("default")),
	} {
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	s.none(t)
}
