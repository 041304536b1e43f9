package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"governor/study/bench/workload"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// served is what discovery tells of: one resource in each of two groups.
var served = []struct{ root, group, version, resource, singular, kind string }{
	{"/api", "", "v1", "pods", "pod", "Pod"},
	{"/apis", workload.GroupVersion.Group, workload.GroupVersion.Version, "workloads", "workload", "Workload"},
}

var verbs = []string{"get", "list", "watch"}

func discover(mux *http.ServeMux) {
	answer(mux, "/version", apiversion.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"}, nil)
	core := served[0]
	answer(mux, core.root, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{core.version}}, aggregated(0))
	custom := served[1]
	version := metav1.GroupVersionForDiscovery{GroupVersion: workload.GroupVersion.String(), Version: custom.version}
	answer(mux, custom.root, metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups: []metav1.APIGroup{{
			Name: custom.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		}},
	}, aggregated(1))
	for _, s := range served {
		path := strings.Join([]string{s.root, s.group, s.version}, "/")
		answer(mux, strings.ReplaceAll(path, "//", "/"), metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: strings.TrimPrefix(s.group+"/"+s.version, "/"),
			APIResources: []metav1.APIResource{{Name: s.resource, SingularName: s.singular, Namespaced: true, Kind: s.kind, Verbs: verbs}},
		}, nil)
	}
}

// aggregated is discovery in one request for each root.
func aggregated(i int) any {
	s := served[i]
	group := discoveryv2.APIGroupDiscovery{
		ObjectMeta: metav1.ObjectMeta{Name: s.group},
		Versions: []discoveryv2.APIVersionDiscovery{{
			Version: s.version, Freshness: discoveryv2.DiscoveryFreshnessCurrent,
			Resources: []discoveryv2.APIResourceDiscovery{{
				Resource: s.resource, SingularResource: s.singular, Scope: discoveryv2.ScopeNamespace, Verbs: verbs,
				ResponseKind: &metav1.GroupVersionKind{Group: s.group, Version: s.version, Kind: s.kind},
			}},
		}},
	}
	return discoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []discoveryv2.APIGroupDiscovery{group},
	}
}

// answer serves one document, and the aggregated one to who asks for it.
func answer(mux *http.ServeMux, path string, plain, aggregated any) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		if aggregated != nil && strings.HasPrefix(r.Header.Get("Accept"), form) {
			w.Header().Set("Content-Type", form)
			json.NewEncoder(w).Encode(aggregated)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(plain)
	})
}
