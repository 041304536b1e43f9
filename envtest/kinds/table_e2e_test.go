package kinds_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"governor/envtest"
	"governor/envtest/kinds"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

var update = flag.Bool("update", false, "write the recordings anew from the real server")

// The table is what a real server of our version serves. Contract 1.
func TestE2EBuiltinTableIsTheRealServers(t *testing.T) {
	s := realServer(t)
	var lines [][]byte
	for _, path := range []string{"/api", "/apis"} {
		var groups apidiscovery.APIGroupDiscoveryList
		s.get(t, path, &groups, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		for _, group := range groups.Items {
			for _, version := range group.Versions {
				lines = append(lines, s.rows(t, group, version)...)
			}
		}
	}
	got := append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
	compare(t, "builtin.json", got)
}

// rows returns a line of the table for each resource of a version.
func (s *apiServer) rows(t *testing.T, group apidiscovery.APIGroupDiscovery, version apidiscovery.APIVersionDiscovery) [][]byte {
	t.Helper()
	path := "/apis/" + group.Name + "/" + version.Version
	if group.Name == "" {
		path = "/api/" + version.Version
	}
	var list metav1.APIResourceList
	s.get(t, path, &list, "application/json")
	hashes := map[string]string{}
	for _, r := range list.APIResources {
		hashes[r.Name] = r.StorageVersionHash
	}
	var lines [][]byte
	for _, r := range version.Resources {
		row := kinds.Row{
			Group: group.Name, Version: version.Version,
			Resource: r.Resource, Singular: r.SingularResource, Kind: r.ResponseKind.Kind,
			Namespaced: r.Scope == apidiscovery.ScopeNamespace,
			ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			Storage: storageVersion(t, hashes[r.Resource], r.Resource, group.Name, r.ResponseKind.Kind),
		}
		for _, sub := range r.Subresources {
			kind := sub.ResponseKind
			if kind.Group == "" && kind.Version == "" { // the resource's own
				kind.Group, kind.Version = group.Name, version.Version
			}
			row.Subresources = append(row.Subresources, kinds.SubresourceRow{
				Name: sub.Subresource, Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Verbs: sub.Verbs,
			})
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// The schemas of metadata and of CustomResourceDefinitions are the real server's.
// Contract 1.
func TestE2ESchemasAreTheRealServers(t *testing.T) {
	s := realServer(t)
	var doc struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	s.get(t, "/openapi/v3/apis/apiextensions.k8s.io/v1", &doc, "application/json")
	got, err := json.MarshalIndent(doc.Components.Schemas, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	compare(t, "schemas.json", got)
}

// compare compares a recording with what the server says now, or with -update writes it anew.
func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s is not what the server says; run with -update (-file +server):\n%s", file, diff)
	}
}

// storageVersion finds the version that a storage version hash stands for: discovery
// tells no more than the hash of group, version and kind.
func storageVersion(t *testing.T, hash, resource, group, kind string) string {
	t.Helper()
	if hash == "" {
		return "" // not stored: reviews, bindings
	}
	candidates := []schema.GroupVersion{{Version: "v1"}} // events of both groups
	for _, version := range []string{"v1", "v2", "v1beta1", "v1beta2", "v1beta3", "v1alpha1", "v2beta1"} {
		candidates = append(candidates, schema.GroupVersion{Group: group, Version: version})
	}
	for _, gv := range candidates {
		sum := sha256.Sum256([]byte(gv.Group + "/" + gv.Version + "/" + kind))
		if base64.StdEncoding.EncodeToString(sum[:8]) == hash {
			return gv.String()
		}
	}
	t.Errorf("%s.%s: no version has the storage version hash %s", resource, group, hash)
	return ""
}

// apiServer talks to the real API server in plain HTTP.
type apiServer struct {
	host   string
	client *http.Client
}

// shared is the one control plane of this test binary: it outlives the test that
// starts it, and is stopped by TestMain.
var shared struct {
	sync.Once
	plane *envtest.ControlPlane
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.plane != nil {
		if err := shared.plane.Stop(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func realServer(t *testing.T) *apiServer {
	t.Helper()
	shared.Do(func() {
		shared.plane = envtest.NewControlPlane(nil)
		shared.err = shared.plane.Start(t.Context())
	})
	switch {
	case errors.Is(shared.err, envtest.ErrBinariesMissing):
		t.Skipf("end-to-end test: %v", shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	cfg := shared.plane.Config()
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	t.Cleanup(transport.CloseIdleConnections)
	return &apiServer{cfg.Host, &http.Client{Transport: transport}}
}

// do makes one request and returns status code and body.
func (s *apiServer) do(t *testing.T, method, path, contentType, accept string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.host+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

func (s *apiServer) get(t *testing.T, path string, into any, accept string) {
	t.Helper()
	code, text := s.do(t, "GET", path, "", accept, nil)
	if code != 200 {
		t.Fatalf("GET %s: %d: %s", path, code, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}
