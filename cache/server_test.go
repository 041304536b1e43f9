package cache

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// server is an API server in memory. Its cache is a user of its own, so that what a
// test writes is neither among the requests seen nor forbidden.
type server struct {
	*envtest.Server
	t      testing.TB
	admin  *client.Direct
	config *rest.Config // of the cache
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := envtest.NewServer(nil)
	admin, err := client.New(s.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &server{Server: s, t: t, admin: admin, config: s.AddUser("cache")}
}

// put creates or updates an object, in a namespace that is made for it if need be.
func (s *server) put(obj client.Object) {
	s.t.Helper()
	ctx, obj := s.t.Context(), obj.DeepCopyObject().(client.Object)
	err := s.admin.Create(ctx, obj)
	if apierrors.IsNotFound(err) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obj.GetNamespace()}}
		if err = s.admin.Create(ctx, namespace); err == nil {
			err = s.admin.Create(ctx, obj)
		}
	}
	if apierrors.IsAlreadyExists(err) {
		err = s.admin.Update(ctx, obj)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// removePod deletes a pod at once, as no kubelet would confirm that it has ended. A watch
// sees the pod with its deletionTimestamp, and then no more.
func (s *server) removePod(namespace, name string) {
	s.t.Helper()
	if err := s.admin.Delete(s.t.Context(), pod(namespace, name, "", ""), client.GracePeriodSeconds(0)); err != nil {
		s.t.Fatal(err)
	}
}

// version is the resourceVersion of the last write.
func (s *server) version() string {
	s.t.Helper()
	var list corev1.PodList
	if err := s.admin.List(s.t.Context(), &list); err != nil {
		s.t.Fatal(err)
	}
	return list.ResourceVersion
}

// forbid refuses the cache these requests.
func (s *server) forbid(m envtest.Match) (permit func()) {
	m.User = "cache"
	return s.Inject(m, envtest.Fault{Err: apierrors.NewForbidden(schema.GroupResource{Resource: m.Resource}, "", errors.New("no permission"))})
}

// endedWatches counts the watches that are over.
func (s *server) endedWatches() (n int) {
	for _, r := range s.Requests() {
		if r.Verb == "watch" && !r.Ended.IsZero() {
			n++
		}
	}
	return n
}

// seen returns the cache's requests so far: "LIST /path labelSelector=…". A
// streaming list is a STREAM.
func (s *server) seen() (lines []string) {
	for _, r := range s.Requests() {
		if r.User.Name != "cache" {
			continue
		}
		line := strings.ToUpper(r.Verb) + " " + r.Path
		if r.Query.Get("sendInitialEvents") != "" {
			line = "STREAM " + r.Path
		}
		for _, p := range []string{"labelSelector", "fieldSelector"} {
			if v := r.Query.Get(p); v != "" {
				line += " " + p + "=" + v
			}
		}
		lines = append(lines, line)
	}
	return lines
}

var (
	podGVK    = corev1.SchemeGroupVersion.WithKind("Pod")
	secretGVK = corev1.SchemeGroupVersion.WithKind("Secret")
	nodeGVK   = corev1.SchemeGroupVersion.WithKind("Node")
	widgetGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"} // not in the scheme
)

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(podGVK, meta.RESTScopeNamespace)
	m.Add(secretGVK, meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	m.Add(nodeGVK, meta.RESTScopeRoot)
	m.Add(widgetGVK, meta.RESTScopeNamespace)
	return m
}

// hooked is a RESTMapper that calls hook at each question.
type hooked struct {
	meta.RESTMapper
	hook func() error
}

func (h *hooked) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if err := h.hook(); err != nil {
		return nil, err
	}
	return h.RESTMapper.RESTMapping(gk, versions...)
}

// newCache returns a Cache of s, which is not started.
func newCache(t testing.TB, s *server, o *Options) *Cache {
	t.Helper()
	return newCacheWith(t, s, mapper(), o)
}

// testTier is the tier of the caches that tests make and do not give one.
var testTier Tier

func newCacheWith(t testing.TB, s *server, m meta.RESTMapper, o *Options) *Cache {
	t.Helper()
	if o = new(o.orZero()); o.DefaultTier == "" {
		o.DefaultTier = testTier
	}
	direct, err := client.New(s.config, &client.Options{Mapper: m})
	if err != nil {
		t.Fatal(err)
	}
	detect := o.orZero()
	if _, measured := t.(*testing.B); !measured && detect.DetectMutations == nil {
		detect.DetectMutations = func(m *Mutation) { t.Error(m) }
	}
	c, err := New(direct, &detect)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts c until the test ends, or the function returned is called.
func start(t testing.TB, c *Cache) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	<-c.started
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// pod is a Pod with a label app, on a node.
func pod(namespace, name, app, node string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			TerminationGracePeriodSeconds: new(int64(30))},
	}
}

// widgetCRD is the definition of widgetGVK.
func widgetCRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com",
			"scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

func unstructuredOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

func metadataFor(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// within returns a context of the test that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// names of a list's items as namespace/name.
func names(t testing.TB, list client.ObjectList) []string {
	t.Helper()
	out := []string{}
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, client.ObjectKeyFromObject(o.(client.Object)).String())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func byNodeName(o client.Object) []string {
	return []string{cmp.Or(o.(*corev1.Pod).Spec.NodeName, "none")}
}
