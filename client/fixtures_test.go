package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"governor/client"
	"governor/envtest"
	"governor/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

var (
	podKind    = corev1.SchemeGroupVersion.WithKind("Pod")
	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// Widget is a custom resource whose Go type happens to have protobuf methods:
// the server has none for it all the same.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec `json:"spec,omitempty"`
}

type WidgetSpec struct {
	Size  int64   `json:"size,omitempty"`
	Color *string `json:"color,omitempty"`
}

func (*Widget) Unmarshal([]byte) error { return fmt.Errorf("a custom resource came as protobuf") }

func (w *Widget) DeepCopyObject() runtime.Object {
	copied := *w
	copied.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &copied
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (l *WidgetList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = append([]Widget(nil), l.Items...)
	return &copied
}

func testScheme(t testing.TB) *scheme.Scheme {
	t.Helper()
	s := scheme.Builtin()
	if err := s.AddKnownTypes(widgetKind.GroupVersion(), &Widget{}, &WidgetList{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// testMapper knows the kinds of these tests, so that no discovery is needed.
func testMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Pod", "ConfigMap", "Secret", "ServiceAccount"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), meta.RESTScopeRoot)
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	m.Add(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), meta.RESTScopeNamespace)
	m.Add(widgetKind, meta.RESTScopeNamespace)
	return m
}

// call is one request as the server saw it.
type call struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
}

// server is an API server that follows a script.
type server struct {
	*client.Direct
	mu    sync.Mutex
	calls []call // +checklocks:mu
}

// newServer returns a client whose requests go to answer.
func newServer(t testing.TB, answer http.HandlerFunc) *server {
	t.Helper()
	return newServerWith(t, &rest.Config{}, answer)
}

func newServerWith(t testing.TB, cfg *rest.Config, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	cfg.Host = "http://server"
	cfg.Transport = envtest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the body: %v", err)
		}
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method, r.URL.Path, r.URL.Query(), r.Header, body})
		s.mu.Unlock()
		answer(w, r)
	}))
	c, err := client.New(cfg, &client.Options{Scheme: testScheme(t), Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	s.Direct = c
	return s
}

// all returns the requests so far.
func (s *server) all() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// only returns the one request that there must have been.
func (s *server) only(t testing.TB) call {
	t.Helper()
	calls := s.all()
	if len(calls) != 1 {
		t.Fatalf("%d requests, want 1: %+v", len(calls), calls)
	}
	return calls[0]
}

// none fails the test if there was a request.
func (s *server) none(t testing.TB) {
	t.Helper()
	if calls := s.all(); len(calls) != 0 {
		t.Fatalf("%d requests, want none: %s %s", len(calls), calls[0].Method, calls[0].Path)
	}
}

// answer sends an object in one media type; its own TypeMeta is what goes out.
func answer(t testing.TB, mediaType string, obj runtime.Object) http.HandlerFunc {
	data := wire(t, mediaType, obj)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write(data)
	}
}

// answerJSON sends a text as it is.
func answerJSON(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// wire returns an object's bytes.
func wire(t testing.TB, mediaType string, obj runtime.Object) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Builtin().Codecs().SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no serializer for %s", mediaType)
	}
	data, err := runtime.Encode(info.Serializer, obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kindOnWire returns apiVersion, kind and name of a body, in JSON or protobuf.
func kindOnWire(t testing.TB, body []byte) (schema.GroupVersionKind, string) {
	t.Helper()
	if raw, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		var u runtime.Unknown
		if err := u.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		var named metav1.PartialObjectMetadata
		if err := named.Unmarshal(u.Raw); err != nil {
			t.Fatal(err)
		}
		return u.GroupVersionKind(), named.Name
	}
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &named); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return named.GroupVersionKind(), named.Name
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// served is a pod as a server sends it: with its kind and a resourceVersion.
func served(name, resourceVersion string) *corev1.Pod {
	p := pod(name)
	p.SetGroupVersionKind(podKind)
	p.ResourceVersion = resourceVersion
	p.Spec.NodeName = "node-of-" + name
	return p
}

func unstructuredOf(t testing.TB, obj runtime.Object, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u
}

func metadataOf(obj metav1.Object, gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	m.Namespace, m.Name, m.ResourceVersion = obj.GetNamespace(), obj.GetName(), obj.GetResourceVersion()
	return m
}

func contextWithLogger(t testing.TB, logger klog.Logger) context.Context {
	return klog.NewContext(t.Context(), logger)
}
