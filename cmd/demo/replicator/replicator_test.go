package replicator

import (
	"strings"
	"testing"

	"governor/cmd/demo/v1alpha1"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestContentComparesWhatACopyTakesOver(t *testing.T) {
	base := content{text: map[string]string{"a": "1"}, bytes: map[string][]byte{"b": {2}}, secretType: corev1.SecretTypeOpaque}
	tests := []struct {
		name  string
		other content
		equal bool
	}{
		{"same", content{text: map[string]string{"a": "1"}, bytes: map[string][]byte{"b": {2}}, secretType: corev1.SecretTypeOpaque}, true},
		{"other text", content{text: map[string]string{"a": "x"}, bytes: base.bytes, secretType: base.secretType}, false},
		{"other bytes", content{text: base.text, bytes: map[string][]byte{"b": {3}}, secretType: base.secretType}, false},
		{"a key less", content{bytes: base.bytes, secretType: base.secretType}, false},
		{"other type", content{text: base.text, bytes: base.bytes, secretType: corev1.SecretTypeTLS}, false},
	}
	for _, tt := range tests {
		if got := base.equal(tt.other); got != tt.equal {
			t.Errorf("%s: equal = %v, want %v", tt.name, got, tt.equal)
		}
	}
	if !(content{}).equal(content{text: map[string]string{}, bytes: map[string][]byte{}}) {
		t.Error("nil and empty differ: a source without data would be applied for ever")
	}
}

func TestContentTellsSurplusKeysAndSize(t *testing.T) {
	want := content{text: map[string]string{"a": "1"}}
	text, bytes := want.surplus(content{text: map[string]string{"a": "x", "more": "y"}, bytes: map[string][]byte{"b": nil}})
	if diff := cmp.Diff([][]string{{"more"}, {"b"}}, [][]string{text, bytes}); diff != "" {
		t.Error(diff)
	}
	if got, want := (content{text: map[string]string{"key": "12345"}, bytes: map[string][]byte{"k": {1, 2}}}).size(), 9+5+3+2; got != want {
		t.Errorf("size %d, want %d", got, want)
	}
}

func TestChooseSaysWhatIsWrong(t *testing.T) {
	tests := []struct {
		name            string
		spec            v1alpha1.ReplicaSpec
		reason, message string
	}{
		{"unknown operator", v1alpha1.ReplicaSpec{NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Sometimes"}}}},
			v1alpha1.ReasonInvalidSelector, "Sometimes"},
		{"not a label", v1alpha1.ReplicaSpec{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "!"}}},
			v1alpha1.ReasonInvalidSelector, "spec.namespaceSelector"},
		{"not a namespace", v1alpha1.ReplicaSpec{Namespaces: []string{"fine", "Not/Fine"}},
			v1alpha1.ReasonInvalidNamespace, `spec.namespaces[1]: "Not/Fine"`},
	}
	for _, tt := range tests {
		chosen, trouble := choose(&v1alpha1.Replica{Spec: tt.spec})
		if chosen != nil || trouble == nil || trouble.reason != tt.reason || !strings.Contains(trouble.message, tt.message) {
			t.Errorf("%s: %+v, %+v; want reason %s with %q", tt.name, chosen, trouble, tt.reason, tt.message)
		}
	}
}

func TestChoice(t *testing.T) {
	labelled := metav1.LabelSelector{MatchLabels: map[string]string{"copies": "wanted"}}
	tests := []struct {
		name      string
		spec      v1alpha1.ReplicaSpec
		namespace string
		want      bool
	}{
		{"no selector picks none", v1alpha1.ReplicaSpec{}, "labelled", false},
		{"an empty one picks all", v1alpha1.ReplicaSpec{NamespaceSelector: &metav1.LabelSelector{}}, "other", true},
		{"by label", v1alpha1.ReplicaSpec{NamespaceSelector: &labelled}, "labelled", true},
		{"not by label", v1alpha1.ReplicaSpec{NamespaceSelector: &labelled}, "other", false},
		{"by name", v1alpha1.ReplicaSpec{Namespaces: []string{"other"}}, "other", true},
		{"never its own", v1alpha1.ReplicaSpec{NamespaceSelector: &metav1.LabelSelector{}, Namespaces: []string{"own"}}, "own", false},
	}
	for _, tt := range tests {
		chosen, trouble := choose(&v1alpha1.Replica{ObjectMeta: metav1.ObjectMeta{Namespace: "own"}, Spec: tt.spec})
		if trouble != nil {
			t.Fatalf("%s: %+v", tt.name, trouble)
		}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tt.namespace}}
		if tt.namespace == "labelled" {
			ns.Labels = labelled.MatchLabels
		}
		if got := chosen.includes(ns); got != tt.want {
			t.Errorf("%s: includes %s = %v, want %v", tt.name, tt.namespace, got, tt.want)
		}
	}
}

func TestStatusPutsTroubleFirstAndIsBounded(t *testing.T) {
	copies := []v1alpha1.NamespaceStatus{
		{Namespace: "a", State: v1alpha1.ReasonCopied},
		{Namespace: "b", State: v1alpha1.ReasonWaiting, Message: "gone"},
		{Namespace: "c", State: v1alpha1.ReasonForeignObject, Message: "theirs"},
	}
	for range v1alpha1.MaxNamespaceStatuses {
		copies = append(copies, v1alpha1.NamespaceStatus{Namespace: "z", State: v1alpha1.ReasonCopied})
	}
	var status v1alpha1.ReplicaStatus
	summarize(&status, copies)
	if status.Wanted != len(copies) || status.Copied != len(copies)-2 || len(status.Namespaces) != v1alpha1.MaxNamespaceStatuses {
		t.Errorf("%d wanted, %d copied, %d listed", status.Wanted, status.Copied, len(status.Namespaces))
	}
	if got := []string{status.Namespaces[0].Namespace, status.Namespaces[1].Namespace}; !cmp.Equal(got, []string{"c", "b"}) {
		t.Errorf("first are %v, want c and b", got)
	}
	want := &problem{v1alpha1.ReasonForeignObject, "namespace c: theirs (and 1 more, see status.namespaces)"}
	if got := firstTrouble(copies); got == nil || *got != *want {
		t.Errorf("trouble %+v, want %+v", got, want)
	}
	if got := firstTrouble(copies[2:]); got != nil {
		t.Errorf("trouble %+v where there is none", got)
	}
}

// Contract 5: a refused Secret is explained without the server's words.
func TestExplainQuotesNoSecret(t *testing.T) {
	quoting := &quotingError{}
	for kind, quoted := range map[string]bool{v1alpha1.KindSecret: false, v1alpha1.KindConfigMap: true} {
		c := &copier{replica: &v1alpha1.Replica{Spec: v1alpha1.ReplicaSpec{Source: v1alpha1.Source{Kind: kind}}}}
		if got := strings.Contains(c.explain(quoting), "hunter2"); got != quoted {
			t.Errorf("%s: quoted = %v, want %v", kind, got, quoted)
		}
	}
}

type quotingError struct{}

func (*quotingError) Error() string { return `data["password"]: "hunter2" is invalid` }
