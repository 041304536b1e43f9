package client_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"governor/client"
	"governor/envtest"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// discoveryServer serves discovery documents that the test changes.
type discoveryServer struct {
	mu       sync.Mutex
	groups   []discoveryv2.APIGroupDiscovery // the core group included
	legacy   bool                            // answer in the old form
	fail     map[string]int                  // path → status instead of an answer
	body     map[string]string               // path → bytes instead of an answer
	requests []string
	// gates hold the answer to a path back, once it has been made up, until they
	// are closed or the client goes.
	gates map[string]chan struct{}
}

func (d *discoveryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer, gate := d.answer(r)
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (d *discoveryServer) answer(r *http.Request) (int, []byte, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r.URL.Path)
	gate := d.gates[r.URL.Path]
	if status, ok := d.fail[r.URL.Path]; ok {
		return status, []byte("broken on purpose"), gate
	}
	if body, ok := d.body[r.URL.Path]; ok {
		return http.StatusOK, []byte(body), gate
	}
	document, ok := d.document(r)
	if !ok {
		return http.StatusNotFound, nil, gate
	}
	answer, err := json.Marshal(document)
	if err != nil {
		return http.StatusInternalServerError, []byte(err.Error()), gate
	}
	return http.StatusOK, answer, gate
}

func (d *discoveryServer) document(r *http.Request) (any, bool) {
	aggregated := !d.legacy && strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	switch path := r.URL.Path; {
	case (path == "/api" || path == "/apis") && aggregated:
		list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
		for _, g := range d.groups {
			if (g.Name == "") == (path == "/api") {
				list.Items = append(list.Items, g)
			}
		}
		return list, true
	case path == "/api":
		list := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
		for _, g := range d.groups {
			for _, v := range g.Versions {
				if g.Name == "" {
					list.Versions = append(list.Versions, v.Version)
				}
			}
		}
		return list, true
	case path == "/apis":
		return d.legacyGroups(), true
	default:
		return d.legacyResources(path)
	}
}

// legacyGroups lists versions in alphabetical order, so that only
// preferredVersion tells which is best.
func (d *discoveryServer) legacyGroups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range d.groups {
		if g.Name == "" {
			continue
		}
		group := metav1.APIGroup{Name: g.Name}
		for i := len(g.Versions) - 1; i >= 0; i-- {
			v := g.Versions[i].Version
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v, Version: v})
		}
		group.PreferredVersion = group.Versions[len(group.Versions)-1]
		list.Groups = append(list.Groups, group)
	}
	return list
}

func (d *discoveryServer) legacyResources(path string) (any, bool) {
	for _, g := range d.groups {
		for _, v := range g.Versions {
			if path != "/apis/"+g.Name+"/"+v.Version && (g.Name != "" || path != "/api/"+v.Version) {
				continue
			}
			list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
			for _, r := range v.Resources {
				if r.ResponseKind == nil {
					continue
				}
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: r.Resource, SingularName: r.SingularResource, Kind: r.ResponseKind.Kind, Namespaced: r.Scope == discoveryv2.ScopeNamespace})
				for _, sub := range r.Subresources {
					list.APIResources = append(list.APIResources, metav1.APIResource{
						Name: r.Resource + "/" + sub.Subresource, Kind: sub.ResponseKind.Kind, Namespaced: true})
				}
			}
			return list, true
		}
	}
	return nil, false
}

// count returns how many requests came since the last call.
func (d *discoveryServer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.requests)
	d.requests = nil
	return n
}

func (d *discoveryServer) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// newDiscoveryServer serves Pods, Namespaces, Deployments, Events in two groups
// and Widgets in v2, which is preferred, and v1.
func newDiscoveryServer() *discoveryServer {
	pods := resource("pods", "Pod", discoveryv2.ScopeNamespace)
	pods.Subresources = []discoveryv2.APISubresourceDiscovery{
		{Subresource: "status", ResponseKind: &metav1.GroupVersionKind{Kind: "Pod"}},
		{Subresource: "eviction", ResponseKind: &metav1.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}},
	}
	parentOnly := resource("parents", "", discoveryv2.ScopeNamespace)
	parentOnly.ResponseKind = nil // it has nothing but subresources
	events := resource("events", "Event", discoveryv2.ScopeNamespace)
	return &discoveryServer{
		fail:  map[string]int{},
		body:  map[string]string{},
		gates: map[string]chan struct{}{},
		groups: []discoveryv2.APIGroupDiscovery{
			group("", version("v1", pods, resource("namespaces", "Namespace", discoveryv2.ScopeCluster), events)),
			group("apps", version("v1", resource("deployments", "Deployment", discoveryv2.ScopeNamespace), parentOnly)),
			group("events.k8s.io", version("v1", events)),
			group("example.com", version("v2", resource("widgets", "Widget", discoveryv2.ScopeNamespace)),
				version("v1", resource("widgets", "Widget", discoveryv2.ScopeNamespace), resource("gears", "Gear", discoveryv2.ScopeCluster))),
		},
	}
}

func group(name string, versions ...discoveryv2.APIVersionDiscovery) discoveryv2.APIGroupDiscovery {
	return discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: versions}
}

func version(name string, resources ...discoveryv2.APIResourceDiscovery) discoveryv2.APIVersionDiscovery {
	return discoveryv2.APIVersionDiscovery{Version: name, Resources: resources, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
}

func resource(name, kind string, scope discoveryv2.ResourceScope) discoveryv2.APIResourceDiscovery {
	return discoveryv2.APIResourceDiscovery{
		Resource: name, SingularResource: strings.ToLower(kind), ResponseKind: &metav1.GroupVersionKind{Kind: kind}, Scope: scope}
}

func newTestMapper(t *testing.T, h http.Handler) *client.Mapper {
	t.Helper()
	m, err := client.NewMapper(&rest.Config{Host: "https://test", Transport: envtest.Transport(h)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
