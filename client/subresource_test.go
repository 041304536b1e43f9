package client_test

import (
	"encoding/json"
	"testing"

	"governor/client"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

func scaleReply(t *testing.T, mediaType string) *autoscalingv1.Scale {
	t.Helper()
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "4"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	s.SetGroupVersionKind(scaleKind)
	return s
}

func TestScale(t *testing.T) {
	d := deployment()
	s := newServer(t, answer(t, protobufType, scaleReply(t, protobufType)))
	scale := &autoscalingv1.Scale{}
	if err := s.SubResource("scale").Get(t.Context(), d, scale); err != nil {
		t.Fatal(err)
	}
	if c := s.only(t); c.Method != "GET" || c.Path != "/apis/apps/v1/namespaces/default/deployments/web/scale" {
		t.Errorf("sent %s %s", c.Method, c.Path)
	}
	if scale.Spec.Replicas != 3 || scale.GroupVersionKind() != scaleKind {
		t.Errorf("got %+v", scale)
	}

	s = newServer(t, answer(t, jsonType, scaleReply(t, jsonType)))
	scale = &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if err := s.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	if gvk, _ := kindOnWire(t, s.only(t).Body); gvk != scaleKind {
		t.Errorf("sent a %v", gvk)
	}
	if scale.ResourceVersion != "4" || d.ResourceVersion != "5" {
		t.Errorf("the reply went to the wrong object: scale %q, deployment %q", scale.ResourceVersion, d.ResourceVersion)
	}
}

// A custom resource's scale is JSON, though Scale itself has protobuf.
func TestScaleOfCustomResourceIsJSON(t *testing.T) {
	s := newServer(t, answer(t, jsonType, scaleReply(t, jsonType)))
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "w"}}
	if err := s.SubResource("scale").Update(t.Context(), w, client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Fatal(err)
	}
	c := s.only(t)
	if c.Header.Get("Accept") != jsonType || c.Header.Get("Content-Type") != jsonType || !json.Valid(c.Body) {
		t.Errorf("sent %v", c.Header)
	}

	s = newServer(t, answer(t, jsonType, scaleReply(t, jsonType)))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(scaleKind)
	if err := s.SubResource("scale").Get(t.Context(), deployment(), u); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); n != 3 {
		t.Errorf("got %v", u.Object)
	}
}

// Contract 7: a bare success leaves the body as it was; an object replaces it.
func TestSubresourceCreate(t *testing.T) {
	s := newServer(t, answer(t, protobufType, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}))
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	if err := s.SubResource("eviction").Create(t.Context(), pod("a"), eviction, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	c := s.only(t)
	if c.Method != "POST" || c.Path != "/api/v1/namespaces/default/pods/a/eviction" || c.Query.Encode() != "dryRun=All" {
		t.Errorf("sent %s %s?%s", c.Method, c.Path, c.Query.Encode())
	}
	if gvk, name := kindOnWire(t, c.Body); gvk != policyv1.SchemeGroupVersion.WithKind("Eviction") || name != "a" {
		t.Errorf("sent a %v %q", gvk, name)
	}
	if eviction.Name != "a" {
		t.Errorf("the eviction has changed: %+v", eviction)
	}

	s = newServer(t, answerJSON(201, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"t"}}`))
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sa"}}
	if err := s.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	if token.Status.Token != "t" || token.Kind != "TokenRequest" {
		t.Errorf("got %+v", token)
	}
}
