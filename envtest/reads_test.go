package envtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"governor/client"
	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// putObject puts an object into a server's storage behind its back.
func putObject(t testing.TB, s *Server, resource string, object client.Object) *storage.Object {
	t.Helper()
	gvk, err := s.scheme.GVKForObject(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	served := s.kinds.Lookup(gvk.GroupVersion().WithResource(resource))
	o, err := s.store.Write(served.Storage, object.GetNamespace(), object.GetName(), func(*storage.Object) (client.Object, error) {
		return object, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func metaNamed(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// askServer makes a request as the administrator, and returns the answer and its body.
func askServer(t testing.TB, s *Server, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	resp := openAnswer(t, s, method, path, header...)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, strings.TrimSuffix(string(body), "\n")
}

// openAnswer makes a request whose body is still to be read.
func openAnswer(t testing.TB, s *Server, method, path string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://in.memory"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	cfg := s.Config()
	if cfg.BearerToken != "" {
		req.Header.Set("Authorization", "Bearer "+cfg.BearerToken)
	}
	resp, err := Transport(s).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// statusOfBody is what an error's body says.
func statusOfBody(t testing.TB, body string) metav1.Status {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return status
}

// newQuiet is a server without anything in it.
func newQuiet(t testing.TB) *Server {
	s := NewServer(nil)
	return s
}

// The answers of the real server to the same requests are recorded in conformance; here
// are the paths on which it is hard to ask it.
func TestPaths(t *testing.T) {
	s := newQuiet(t)
	const notFound, notAllowed = "the server could not find the requested resource", "the server does not allow this method on the requested resource"
	tests := []struct {
		method, path string
		code         int
		message      string // of a Status; or the text
	}{
		{"GET", "/api/v1/namespaces/default/pods/a/b/c", 404, notFound},
		{"GET", "/api/v1/namespaces/default/pods/a/nothing", 404, notFound},
		{"GET", "/api/v1/pods/a", 404, notFound},
		{"GET", "/api/v1/namespaces/default/nodes", 404, notFound},
		{"GET", "/api/v2/pods", 404, notFound},
		{"GET", "/apis/apps/v2", 404, notFound},
		{"GET", "/apis/apps/v1/foos", 404, notFound},
		{"GET", "/apis/foo", 404, "404 page not found"},
		{"GET", "/apis/foo/v1", 404, "404 page not found"},
		{"GET", "/apis/foo/v1/bars", 404, "404 page not found"},
		{"GET", "/foo", 404, "404 page not found"},
		{"POST", "/api/v1/namespaces/default/pods/a", 405, notAllowed},
		{"PUT", "/api/v1/pods", 405, notAllowed},
		{"DELETE", "/api/v1/pods", 405, notAllowed},
		{"PATCH", "/api/v1/namespaces/default/pods", 405, notAllowed},
		{"OPTIONS", "/api/v1/pods", 405, notAllowed},
		{"POST", "/api", 405, notAllowed},
		{"GET", "/api/v1/namespaces/default/configmaps/nope", 404, `configmaps "nope" not found`},
		{"GET", "/apis/apps/v1/namespaces/default/deployments/nope", 404, `deployments.apps "nope" not found`},
		{"GET", "/api/v1/namespaces/default/configmaps/a?resourceVersion=99999", 504, "Timeout: Too large resource version: 99999, current: %d"},
		{"GET", "/api/v1/namespaces/default/configmaps/a?resourceVersion=x", 500, `resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`},
		{"GET", "/api/v1/namespaces/default/configmaps/a?export=true", 400, "the export parameter, deprecated since v1.14, is no longer supported"},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz/ping", 200, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			resp, body := askServer(t, s, tt.method, tt.path)
			want := tt.message
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, s.store.ResourceVersion())
			}
			got := body
			if strings.HasPrefix(body, "{") {
				got = statusOfBody(t, body).Message
			}
			if resp.StatusCode != tt.code || got != want {
				t.Errorf("%d %q, want %d %q", resp.StatusCode, got, tt.code, want)
			}
		})
	}
}

// A list in pages is of one snapshot; once that is compacted, a token for the rest as it is
// now comes with the error.
func TestListPages(t *testing.T) {
	s := newQuiet(t)
	for _, name := range []string{"a", "b", "c"} {
		putObject(t, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("default", name)})
	}
	first := configMapsOf(t, s, "/api/v1/namespaces/default/configmaps?limit=1")
	if got := configMapNames(first); got != "a" || first.Continue == "" || first.RemainingItemCount == nil || *first.RemainingItemCount != 2 {
		t.Fatalf("first page: %s, %+v", got, first.ListMeta)
	}
	if token, err := base64.RawURLEncoding.DecodeString(first.Continue); err != nil ||
		string(token) != fmt.Sprintf(`{"v":"meta.k8s.io/v1","rv":%s,"start":"/a\u0000"}`, first.ResourceVersion) {
		t.Errorf("token %s, %v", token, err)
	}
	putObject(t, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("default", "bb")})
	second := configMapsOf(t, s, "/api/v1/namespaces/default/configmaps?limit=5&continue="+first.Continue)
	if got := configMapNames(second); got != "b c" || second.Continue != "" || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("second page: %s, %+v", got, second.ListMeta)
	}

	if err := s.store.CompactTo(s.store.ResourceVersion()); err != nil {
		t.Fatal(err)
	}
	resp, body := askServer(t, s, "GET", "/api/v1/namespaces/default/configmaps?limit=5&continue="+first.Continue)
	status := statusOfBody(t, body)
	if resp.StatusCode != 410 || status.Reason != metav1.StatusReasonExpired || status.Continue == "" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	rest := configMapsOf(t, s, "/api/v1/namespaces/default/configmaps?limit=2&continue="+status.Continue)
	if got := configMapNames(rest); got != "b bb" || rest.Continue == "" || rest.ResourceVersion != formatVersion(s.store.ResourceVersion()) {
		t.Errorf("inconsistent page: %s, %+v", got, rest.ListMeta)
	}
}

// From resourceVersion 0 everything comes at once, whatever the limit.
func TestListFromZeroHasNoLimit(t *testing.T) {
	s := newQuiet(t)
	for _, name := range []string{"a", "b"} {
		putObject(t, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("default", name)})
	}
	list := configMapsOf(t, s, "/api/v1/namespaces/default/configmaps?limit=1&resourceVersion=0")
	if got := configMapNames(list); got != "a b" || list.Continue != "" {
		t.Errorf("%s, %+v", got, list.ListMeta)
	}
}

func configMapsOf(t testing.TB, s *Server, path string) *corev1.ConfigMapList {
	t.Helper()
	resp, body := askServer(t, s, "GET", path)
	var list corev1.ConfigMapList
	if err := json.Unmarshal([]byte(body), &list); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s %v", resp.StatusCode, body, err)
	}
	return &list
}

func configMapNames(list *corev1.ConfigMapList) string {
	var all []string
	for _, item := range list.Items {
		all = append(all, item.Name)
	}
	return strings.Join(all, " ")
}

func TestFieldSelectors(t *testing.T) {
	s := newQuiet(t)
	putObject(t, s, "pods", &corev1.Pod{
		ObjectMeta: metaNamed("default", "a"),
		Spec:       corev1.PodSpec{NodeName: "n1", RestartPolicy: "Always", SchedulerName: "s", ServiceAccountName: "sa"},
		Status:     corev1.PodStatus{Phase: "Running", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, NominatedNodeName: "n2"},
	})
	putObject(t, s, "pods", &corev1.Pod{ObjectMeta: metaNamed("other", "b"), Spec: corev1.PodSpec{HostNetwork: true}})
	putObject(t, s, "events", &corev1.Event{
		ObjectMeta:          metaNamed("default", "e"),
		InvolvedObject:      corev1.ObjectReference{Kind: "Pod", Name: "a"},
		ReportingController: "rc", Type: "Warning", Reason: "R",
	})
	putObject(t, s, "secrets", &corev1.Secret{ObjectMeta: metaNamed("default", "s"), Type: "Opaque"})
	putObject(t, s, "nodes", &corev1.Node{ObjectMeta: metaNamed("", "n"), Spec: corev1.NodeSpec{Unschedulable: true}})
	tests := []struct{ path, selector, want string }{
		{"/api/v1/pods", "spec.nodeName=n1", "a"},
		{"/api/v1/pods", "spec.host=n1", "a"},
		{"/api/v1/pods", "spec.nodeName=", "b"},
		{"/api/v1/pods", "spec.restartPolicy==Always,spec.schedulerName=s,spec.serviceAccountName=sa", "a"},
		{"/api/v1/pods", "spec.hostNetwork=true", "b"},
		{"/api/v1/pods", "status.phase=Running,status.podIP=10.0.0.1,status.nominatedNodeName=n2", "a"},
		{"/api/v1/pods", "status.phase!=Running", "b"},
		{"/api/v1/pods", "metadata.namespace!=other", "a"},
		{"/api/v1/pods", "metadata.name=b", "b"},
		{"/api/v1/namespaces/default/pods", "metadata.name=b", ""},
		{"/api/v1/namespaces/default/pods", "metadata.name=a,status.phase=Running", "a"},
		{"/api/v1/events", "involvedObject.kind=Pod,involvedObject.name=a,source=rc,reportingComponent=rc,reason=R,type=Warning", "e"},
		{"/apis/events.k8s.io/v1/events", "regarding.name=a,reportingController=rc", "e"},
		{"/api/v1/secrets", "type=Opaque", "s"},
		{"/api/v1/nodes", "spec.unschedulable=true", "n"},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.selector, func(t *testing.T) {
			if got := configMapNames(configMapsOf(t, s, tt.path+"?fieldSelector="+strings.ReplaceAll(tt.selector, "=", "%3D"))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	refused := []struct{ path, label, want string }{
		{"/api/v1/pods", "foo", "field label not supported: foo"},
		{"/api/v1/configmaps", "foo", `"foo" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"},
		{"/apis/batch/v1/jobs", "foo", `field label "foo" not supported for Job`},
	}
	for _, tt := range refused {
		resp, body := askServer(t, s, "GET", tt.path+"?fieldSelector="+tt.label+"%3Dx")
		if status := statusOfBody(t, body); resp.StatusCode != 400 || status.Message != tt.want {
			t.Errorf("%s %s: %d %q, want %q", tt.path, tt.label, resp.StatusCode, status.Message, tt.want)
		}
	}
}
