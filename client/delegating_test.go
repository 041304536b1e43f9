package client_test

import (
	"context"
	"strings"
	"testing"

	"governor/client"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// readerLog is a cache that tells what it was asked for.
type readerLog []string

func (l *readerLog) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	*l = append(*l, client.FormOf(obj).String()+" get "+key.String())
	return nil
}

func (l *readerLog) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	if err := o.ApplyOptions(opts); err != nil {
		return err
	}
	*l = append(*l, client.FormOf(list).String()+" list "+o.Namespace)
	return nil
}

// Reads of every form go to the cache, unless the kind is disabled; all else
// goes to the server.
func TestDelegating(t *testing.T) {
	ctx := t.Context()
	var cached readerLog
	s := newServer(t, answerJSON(200, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","namespace":"default"}}`))
	d, err := client.NewDelegating(s.Direct, &cached, &client.DelegatingOptions{DisableFor: []client.Object{&corev1.Secret{}}})
	if err != nil {
		t.Fatal(err)
	}
	var c client.Client = d
	key := client.ObjectKey{Namespace: "default", Name: "s"}
	pods := &unstructured.UnstructuredList{}
	pods.SetGroupVersionKind(podKind)
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for _, err := range []error{
		c.Get(ctx, key, &corev1.Pod{}),
		c.Get(ctx, key, unstructuredOf(t, pod("s"), podKind)),
		c.Get(ctx, key, metadataOf(pod("s"), podKind)),
		c.List(ctx, pods, client.InNamespace("default")),
		c.Get(ctx, key, &corev1.Secret{}),
		c.Get(ctx, key, secret),
		c.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"typed get default/s", "unstructured get default/s", "metadata-only get default/s", "unstructured list default"}, []string(cached)); diff != "" {
		t.Error(diff)
	}
	var live []string
	for _, c := range s.all() {
		live = append(live, c.Method)
	}
	if diff := cmp.Diff([]string{"GET", "GET", "PUT"}, live); diff != "" {
		t.Error(diff)
	}
	if err := c.Get(ctx, key, nil); err == nil {
		t.Error("no error for nil")
	}
	if err := c.List(ctx, &unstructured.UnstructuredList{}); err == nil || !strings.Contains(err.Error(), "SetGroupVersionKind") {
		t.Errorf("error %v for a list without a kind", err)
	}
}

func TestDelegatingRefusesUnknownKinds(t *testing.T) {
	s := newServer(t, answerJSON(200, `{}`))
	_, err := client.NewDelegating(s.Direct, &readerLog{}, &client.DelegatingOptions{DisableFor: []client.Object{&unstructured.Unstructured{}}})
	if err == nil || !strings.Contains(err.Error(), "DisableFor") {
		t.Errorf("error %v", err)
	}
}
