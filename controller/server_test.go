package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"governor/client"
	"governor/envtest"
	"governor/manager"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// server is an API server in memory with just what these tests need: JSON,
// merge patches, status, finalizers, watches without end.
type server struct {
	mu       sync.Mutex // guards what follows
	version  int
	objects  map[string]map[string]any // by collection path + "/" + name
	events   []serverEvent
	changed  chan struct{}                          // closed at the next change
	dropped  chan struct{}                          // closed to end all watches
	requests []string                               // "PUT /api/v1/…"
	deflt    func(obj map[string]any)               // fills in defaults
	expired  int                                    // watches from before this version are answered 410
	refuse   func(verb, path string) *metav1.Status // nil: serve
	before   map[string]func(verb, path string)     // called once before a request, by verb
}

type serverEvent struct {
	version int
	path    string
	kind    string
	object  map[string]any
}

// served are the kinds that there are.
var served = []struct {
	group, version, kind, resource string
	namespaced                     bool
}{
	{"", "v1", "Pod", "pods", true},
	{"", "v1", "ConfigMap", "configmaps", true},
	{"", "v1", "Secret", "secrets", true},
	{"", "v1", "Node", "nodes", false},
	{"apps", "v1", "Deployment", "deployments", true},
	{"apps", "v1", "ReplicaSet", "replicasets", true},
}

func newServer() *server {
	return &server{version: 100, objects: map[string]map[string]any{}, changed: make(chan struct{}), dropped: make(chan struct{})}
}

func (s *server) config() *rest.Config {
	c := &rest.Config{Host: "http://server", Transport: envtest.Transport(s), QPS: -1}
	c.ContentType = "application/json"
	return c
}

func (s *server) client(t testing.TB) *client.Direct {
	t.Helper()
	c, err := client.New(s.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *server) manager(t testing.TB) *manager.Manager {
	t.Helper()
	m, err := manager.New(s.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// writes returns the requests so far that are no reads.
func (s *server) writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool {
		return strings.HasPrefix(r, "GET ") || strings.HasPrefix(r, "WATCH ")
	})
}

// change changes the server's ways.
func (s *server) change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// dropWatches ends all watches that there are.
func (s *server) dropWatches() {
	s.change(func() { close(s.dropped); s.dropped = make(chan struct{}) })
}

// vanish deletes an object without telling anybody: watches that began before
// will never hear of it.
func (s *server) vanish(path string) {
	s.change(func() { s.version++; delete(s.objects, path) })
}

// put creates an object without telling anybody.
func (s *server) put(collection string, obj client.Object) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err)
	}
	s.change(func() {
		s.storeLocked(collection+"/"+obj.GetName(), nil, fields)
		s.events = s.events[:len(s.events)-1]
	})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api" || r.URL.Path == "/apis" {
		s.discover(w, r)
		return
	}
	verb := r.Method
	if r.URL.Query().Get("watch") != "" {
		verb = "WATCH"
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+r.URL.Path)
	refuse, before := s.refuse, s.before[verb]
	delete(s.before, verb)
	s.mu.Unlock()
	if before != nil {
		before(verb, r.URL.Path)
	}
	if refuse != nil {
		if status := refuse(verb, r.URL.Path); status != nil {
			reply(w, int(status.Code), status)
			return
		}
	}
	if verb == "WATCH" {
		s.watch(w, r)
		return
	}
	var body map[string]any
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			panic(err)
		}
	}
	s.mu.Lock()
	code, answer := s.answerLocked(verb, r.URL.Path, body)
	s.mu.Unlock()
	if list, ok := answer.(map[string]any); ok && metadataOnly(r) {
		for i, item := range list["items"].([]any) {
			list["items"].([]any)[i] = metadataOf(item.(map[string]any))
		}
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	reply(w, code, answer)
}

func reply(w http.ResponseWriter, code int, answer any) {
	if status, ok := answer.(*metav1.Status); ok {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func failure(code int, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason)}
}

// answerLocked does all but watch.
func (s *server) answerLocked(verb, path string, body map[string]any) (int, any) {
	path, subresource := splitSubresource(path)
	old := s.objects[path]
	switch {
	case verb == http.MethodPost:
		u := &unstructured.Unstructured{Object: body}
		path += "/" + u.GetName()
		if s.objects[path] != nil {
			return http.StatusConflict, failure(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		}
		delete(body, "status")
		return http.StatusCreated, s.storeLocked(path, nil, body)
	case verb == http.MethodGet && isCollection(path):
		return http.StatusOK, s.listLocked(path)
	case old == nil:
		return http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound)
	case verb == http.MethodGet:
		return http.StatusOK, old
	case verb == http.MethodDelete:
		s.deleteLocked(path, old)
		return http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}
	case verb == http.MethodPatch:
		body = merge(runtime.DeepCopyJSON(old), body)
	}
	if rv := (&unstructured.Unstructured{Object: body}).GetResourceVersion(); rv != "" && rv != version(old) {
		return http.StatusConflict, failure(http.StatusConflict, metav1.StatusReasonConflict)
	}
	kept := runtime.DeepCopyJSON(old)
	if subresource == "status" {
		kept["status"] = body["status"]
		body = kept
	} else if delete(body, "status"); kept["status"] != nil {
		body["status"] = kept["status"]
	}
	return http.StatusOK, s.storeLocked(path, old, body)
}

// storeLocked returns what is stored now.
func (s *server) storeLocked(path string, old, obj map[string]any) map[string]any {
	if s.deflt != nil {
		s.deflt(obj)
	}
	u := &unstructured.Unstructured{Object: obj}
	if old == nil {
		u.SetUID(types.UID(fmt.Sprint("uid-", s.version)))
		u.SetGeneration(1)
	} else {
		was := &unstructured.Unstructured{Object: old}
		u.SetUID(was.GetUID())
		u.SetGeneration(was.GetGeneration())
		u.SetResourceVersion(was.GetResourceVersion())
		if reflect.DeepEqual(old, obj) {
			return old // nothing changed, so no new version
		}
		if !reflect.DeepEqual(old["spec"], obj["spec"]) {
			u.SetGeneration(was.GetGeneration() + 1)
		}
	}
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		s.removeLocked(path, obj)
		return obj
	}
	s.objects[path] = obj
	kind := "MODIFIED"
	if old == nil {
		kind = "ADDED"
	}
	s.tellLocked(serverEvent{s.version, path, kind, obj})
	return obj
}

func (s *server) deleteLocked(path string, old map[string]any) {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(old)}
	if len(u.GetFinalizers()) > 0 {
		now := metav1.Now()
		u.SetDeletionTimestamp(&now)
		s.storeLocked(path, old, u.Object)
		return
	}
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
	s.removeLocked(path, u.Object)
}

func (s *server) removeLocked(path string, obj map[string]any) {
	delete(s.objects, path)
	s.tellLocked(serverEvent{s.version, path, "DELETED", obj})
}

func (s *server) tellLocked(e serverEvent) {
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) listLocked(collection string) map[string]any {
	items := []any{}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if inCollection(path, collection) {
			items = append(items, s.objects[path])
		}
	}
	apiVersion, kind := kindOf(collection)
	return map[string]any{"apiVersion": apiVersion, "kind": kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items}
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		panic(fmt.Sprintf("watch from %q", r.URL.Query().Get("resourceVersion")))
	}
	s.mu.Lock()
	dropped, expired := s.dropped, from < s.expired
	s.mu.Unlock()
	if expired {
		reply(w, http.StatusGone, failure(http.StatusGone, metav1.StatusReasonExpired))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for next := 0; ; {
		s.mu.Lock()
		events, changed := s.events[next:], s.changed
		next = len(s.events)
		s.mu.Unlock()
		for _, e := range events {
			if e.version > from && inCollection(e.path, r.URL.Path) {
				object := e.object
				if metadataOnly(r) {
					object = metadataOf(object)
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": object})
			}
		}
		select {
		case <-changed:
		case <-dropped:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) discover(w http.ResponseWriter, r *http.Request) {
	groups := map[string]*discoveryv2.APIGroupDiscovery{}
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}}
	for _, k := range served {
		if (k.group == "") != (r.URL.Path == "/api") {
			continue
		}
		if groups[k.group] == nil {
			groups[k.group] = &discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: k.group},
				Versions: []discoveryv2.APIVersionDiscovery{{Version: k.version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}}}
		}
		scope := discoveryv2.ScopeCluster
		if k.namespaced {
			scope = discoveryv2.ScopeNamespace
		}
		version := &groups[k.group].Versions[0]
		version.Resources = append(version.Resources, discoveryv2.APIResourceDiscovery{
			Resource: k.resource, Scope: scope, SingularResource: strings.ToLower(k.kind),
			ResponseKind: &metav1.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind},
			Verbs:        []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		list.Items = append(list.Items, *groups[name])
	}
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	_ = json.NewEncoder(w).Encode(list)
}

// metadataOnly says whether a list or watch asks for metadata only.
func metadataOnly(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func metadataOf(obj map[string]any) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj["metadata"]}
}

func splitSubresource(path string) (string, string) {
	if rest, ok := strings.CutSuffix(path, "/status"); ok {
		return rest, "status"
	}
	return path, ""
}

func isCollection(path string) bool {
	last := path[strings.LastIndex(path, "/")+1:]
	for _, k := range served {
		if k.resource == last {
			return true
		}
	}
	return false
}

// inCollection says whether an object's path is in a collection, also in that
// of all namespaces.
func inCollection(path, collection string) bool {
	dir, _, _ := cutLast(path)
	if dir == collection {
		return true
	}
	root, resource, _ := cutLast(collection)
	return strings.HasPrefix(dir, root+"/namespaces/") && strings.HasSuffix(dir, "/"+resource)
}

func cutLast(path string) (dir, last string, ok bool) {
	i := strings.LastIndex(path, "/")
	return path[:i], path[i+1:], i >= 0
}

func kindOf(collection string) (apiVersion, kind string) {
	_, resource, _ := cutLast(collection)
	for _, k := range served {
		if k.resource == resource {
			return strings.TrimPrefix(k.group+"/"+k.version, "/"), k.kind
		}
	}
	panic(collection)
}

func version(obj map[string]any) string {
	return (&unstructured.Unstructured{Object: obj}).GetResourceVersion()
}

// merge applies a JSON merge patch, RFC 7386.
func merge(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range patch {
		if value == nil {
			delete(target, key)
		} else if p, ok := value.(map[string]any); ok {
			t, _ := target[key].(map[string]any)
			target[key] = merge(t, p)
		} else {
			target[key] = value
		}
	}
	return target
}

// exampleServer returns the address of a server that has one ConfigMap, and a
// context that keeps logs off the screen.
func exampleServer() (*rest.Config, context.Context) {
	s := newServer()
	s.put("/api/v1/namespaces/default/configmaps", &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
	})
	ctx, _ := logContext()
	return s.config(), ctx
}
