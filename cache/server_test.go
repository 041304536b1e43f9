package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// server is an API server that lists and watches, and no more.
type server struct {
	mu       sync.Mutex // guards what follows
	version  int
	objects  map[string]*unstructured.Unstructured // by resource/namespace/name
	events   []serverEvent
	changed  chan struct{} // closed at the next change
	requests []string
	refuse   func(r *http.Request) *metav1.Status // nil: serve
	gone     int                                  // watches that have ended
}

type serverEvent struct {
	version  int
	resource string
	old, new *unstructured.Unstructured
}

func newServer() *server {
	return &server{version: 10, objects: map[string]*unstructured.Unstructured{}, changed: make(chan struct{})}
}

// put stores an object and tells the watches.
func (s *server) put(resource string, obj client.Object) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	u := &unstructured.Unstructured{Object: fields}
	u.SetResourceVersion(fmt.Sprint(s.version))
	s.changeLocked(resource, client.ObjectKeyFromObject(obj), u)
}

// remove deletes an object and tells the watches.
func (s *server) remove(resource string, key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.changeLocked(resource, key, nil)
}

func (s *server) changeLocked(resource string, key client.ObjectKey, u *unstructured.Unstructured) {
	path := resource + "/" + key.String()
	s.events = append(s.events, serverEvent{s.version, resource, s.objects[path], u})
	if u == nil {
		delete(s.objects, path)
	} else {
		s.objects[path] = u
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// refuseWith answers with f's Status, unless that is nil.
func (s *server) refuseWith(f func(r *http.Request) *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// seen returns the requests so far: "LIST /path?labelSelector=…".
func (s *server) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, verb := r.URL.Query(), "LIST "
	if query.Get("watch") != "" {
		verb = "WATCH "
	}
	line := verb + r.URL.Path
	for _, p := range []string{"labelSelector", "fieldSelector"} {
		if v := query.Get(p); v != "" {
			line += " " + p + "=" + v
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, line)
	refuse := s.refuse
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if refuse != nil {
		if status := refuse(r); status != nil {
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(int(status.Code))
			json.NewEncoder(w).Encode(status)
			return
		}
	}
	q := parseRequest(r)
	if verb == "LIST " {
		s.list(w, q)
	} else {
		s.watch(r.Context(), w, q, query.Get("resourceVersion"))
	}
}

// serverQuery is what a request selects.
type serverQuery struct {
	resource, namespace string
	labels              labels.Selector
	fields              fields.Selector
	metadataOnly        bool
}

func parseRequest(r *http.Request) serverQuery {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	q := serverQuery{resource: parts[len(parts)-1], metadataOnly: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")}
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		q.namespace = parts[i+1]
	}
	var err error
	if q.labels, err = labels.Parse(r.URL.Query().Get("labelSelector")); err != nil {
		panic(err)
	}
	if q.fields, err = fields.ParseSelector(r.URL.Query().Get("fieldSelector")); err != nil {
		panic(err)
	}
	return q
}

func (q serverQuery) matches(u *unstructured.Unstructured) bool {
	return u != nil && (q.namespace == "" || u.GetNamespace() == q.namespace) && q.labels.Matches(labels.Set(u.GetLabels())) &&
		q.fields.Matches(fields.Set{fieldName: u.GetName(), fieldNamespace: u.GetNamespace()})
}

func (q serverQuery) show(u *unstructured.Unstructured) map[string]any {
	if q.metadataOnly {
		return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": u.Object["metadata"]}
	}
	return u.Object
}

func (s *server) list(w http.ResponseWriter, q serverQuery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for path, u := range s.objects {
		if strings.HasPrefix(path, q.resource+"/") && q.matches(u) {
			items = append(items, q.show(u))
		}
	}
	json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items,
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(s.version)}})
}

func (s *server) watch(ctx context.Context, w http.ResponseWriter, q serverQuery, from string) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone++
	}()
	w.(http.Flusher).Flush()
	for next, version := 0, atoi(from); ; {
		s.mu.Lock()
		events, changed := s.events[next:], s.changed
		next = len(s.events)
		s.mu.Unlock()
		for _, e := range events {
			if e.version <= version || e.resource != q.resource {
				continue
			}
			kind, u := "MODIFIED", e.new
			switch was, is := q.matches(e.old), q.matches(e.new); {
			case is && !was:
				kind = "ADDED"
			case was && !is:
				kind, u = "DELETED", e.old.DeepCopy()
				u.SetResourceVersion(fmt.Sprint(e.version))
			case !is:
				continue
			}
			json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": q.show(u)})
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
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
func newCache(t testing.TB, s http.Handler, o *Options) *Cache {
	t.Helper()
	return newCacheWith(t, s, mapper(), o)
}

func newCacheWith(t testing.TB, s http.Handler, m meta.RESTMapper, o *Options) *Cache {
	t.Helper()
	direct, err := client.New(&rest.Config{Host: "http://server", Transport: envtest.Transport(s)}, &client.Options{Mapper: m})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(direct, o)
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
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "test"}}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			TerminationGracePeriodSeconds: new(int64(30))},
	}
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

func forbidden(resource string) *metav1.Status {
	return &metav1.Status{Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: resource + " is forbidden: no permission"}
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
