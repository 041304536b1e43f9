package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeepCopySharesNothing(t *testing.T) {
	build := func() *ReplicaList {
		return &ReplicaList{Items: []Replica{{
			ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: map[string]string{"a": "b"}},
			Spec: ReplicaSpec{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Namespaces:        []string{"a"},
			},
			Status: ReplicaStatus{
				Conditions: []metav1.Condition{{Type: ConditionReady}},
				Namespaces: []NamespaceStatus{{Namespace: "a"}},
			},
		}}}
	}
	original := build()
	copied := original.DeepCopyObject().(*ReplicaList)
	if diff := cmp.Diff(original, copied); diff != "" {
		t.Fatalf("the copy differs: %s", diff)
	}
	r := &copied.Items[0]
	r.Labels["a"], r.Spec.NamespaceSelector.MatchLabels["a"] = "x", "x"
	r.Spec.Namespaces[0], r.Status.Conditions[0].Type, r.Status.Namespaces[0].Namespace = "x", "x", "x"
	if diff := cmp.Diff(build(), original); diff != "" {
		t.Errorf("changing the copy changed the original: %s", diff)
	}
}
