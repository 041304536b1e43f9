package envtest

import (
	"encoding/json"
	"strings"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const acceptAggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList, application/json"

// decodeAnswer asks for a path and reads the answer into a value.
func decodeAnswer(t *testing.T, s *Server, into any, path string, header ...string) {
	t.Helper()
	resp, body := askServer(t, s, "GET", path, header...)
	if err := json.Unmarshal([]byte(body), into); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %d %v %s", path, resp.StatusCode, err, body)
	}
}

// All of the ways to discover say the same.
func TestDiscoveryAgrees(t *testing.T) {
	s := newQuiet(t)
	var groups metav1.APIGroupList
	decodeAnswer(t, s, &groups, "/apis")
	listed := map[string]bool{}
	for _, group := range append(groups.Groups, metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "v1"}}}) {
		if group.Name != "" {
			var one metav1.APIGroup
			decodeAnswer(t, s, &one, "/apis/"+group.Name)
			if one.PreferredVersion != group.PreferredVersion {
				t.Errorf("%s: preferred %v and %v", group.Name, one.PreferredVersion, group.PreferredVersion)
			}
		}
		for _, version := range group.Versions {
			path := "/apis/" + version.GroupVersion
			if group.Name == "" {
				path = "/api/v1"
			}
			var resources metav1.APIResourceList
			decodeAnswer(t, s, &resources, path)
			for _, r := range resources.APIResources {
				listed[version.GroupVersion+" "+r.Name+" "+strings.Join(r.Verbs, ",")] = true
			}
		}
	}
	aggregated := map[string]bool{}
	for _, root := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		decodeAnswer(t, s, &list, root, acceptAggregated)
		for _, group := range list.Items {
			for _, version := range group.Versions {
				gv := strings.TrimPrefix(group.Name+"/"+version.Version, "/")
				for _, r := range version.Resources {
					if len(r.Verbs) > 0 {
						aggregated[gv+" "+r.Resource+" "+strings.Join(r.Verbs, ",")] = true
					}
					for _, sub := range r.Subresources {
						aggregated[gv+" "+r.Resource+"/"+sub.Subresource+" "+strings.Join(sub.Verbs, ",")] = true
					}
				}
			}
		}
	}
	for name := range listed {
		if !aggregated[name] {
			t.Errorf("%s is not in the aggregated list", name)
		}
	}
	for name := range aggregated {
		if !listed[name] {
			t.Errorf("%s is only in the aggregated list", name)
		}
	}
	if len(listed) < 100 {
		t.Errorf("only %d resources", len(listed))
	}
}

// Who knows what discovery says is not told again.
func TestDiscoveryETag(t *testing.T) {
	s := newQuiet(t)
	resp, _ := askServer(t, s, "GET", "/apis", acceptAggregated)
	etag := resp.Header.Get("ETag")
	if got := resp.Header.Get("Content-Type"); etag == "" || got != "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" {
		t.Fatalf("ETag %s, Content-Type %s", etag, got)
	}
	resp, body := askServer(t, s, "GET", "/apis", acceptAggregated, "If-None-Match: "+etag)
	if resp.StatusCode != 304 || body != "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	resp, _ = askServer(t, s, "GET", "/apis", acceptAggregated, `If-None-Match: "other"`)
	if resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
}

// A client may ask for discovery in protobuf, and for one that is no longer there.
func TestDiscoveryFormats(t *testing.T) {
	s := newQuiet(t)
	for _, tt := range []struct {
		accept string
		code   int
		starts string
	}{
		{"application/vnd.kubernetes.protobuf", 200, "k8s\x00"},
		{"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", 200, "k8s\x00"},
		{"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", 406, "{"},
		{"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList, application/json", 200, `{"kind":"APIGroupList"`},
		{"text/html", 406, "{"},
	} {
		resp, body := askServer(t, s, "GET", "/apis", "Accept: "+tt.accept)
		if resp.StatusCode != tt.code || !strings.HasPrefix(body, tt.starts) {
			t.Errorf("%s: %d %.100q", tt.accept, resp.StatusCode, body)
		}
	}
}
