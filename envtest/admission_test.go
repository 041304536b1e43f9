package envtest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/envtest"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

var updateAdmission = flag.Bool("update", false, "write what the real server does into testdata")

const admissionGolden = "testdata/admission.txt"

// Contract 25: what webhooks are told, and what clients hear of them, is what the
// real server does, which testdata records.
func TestAdmissionAsTheRealServer(t *testing.T) {
	got := admissionTranscript(t, envtest.NewServer(&envtest.Options{RBAC: true}).Config(), 0)
	want, err := os.ReadFile(admissionGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("- real server, + in memory:\n%s", diff)
	}
}

func TestE2EAdmission(t *testing.T) {
	// It updates what it has in its cache, which may be old, and asks again when
	// it was; so it gets time to notice each change.
	got := admissionTranscript(t, envtest.RequireControlPlane(t, nil).Config(), 100*time.Millisecond)
	if *updateAdmission {
		if err := os.WriteFile(admissionGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(admissionGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("- recorded, + now (-update accepts it):\n%s", diff)
	}
}

// witness is a webhook server that does what its paths say, and remembers what it
// has been asked.
type witness struct {
	mu    sync.Mutex
	asked []string
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &review) != nil {
		http.Error(rw, "no review", http.StatusBadRequest)
		return
	}
	var request map[string]any
	var whole struct{ Request map[string]any }
	if json.Unmarshal(body, &whole) == nil {
		request = whole.Request
	}
	tidy(request)
	text, _ := yaml.Marshal(request)
	w.mu.Lock()
	w.asked = append(w.asked, fmt.Sprintf("asks %s %s\n%s", r.URL.Path, r.URL.RawQuery, indent(string(text))))
	w.mu.Unlock()

	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	patch := func(text string) {
		kind := admissionv1.PatchTypeJSONPatch
		answer.Patch, answer.PatchType = []byte(text), &kind
	}
	switch path := r.URL.Path; path {
	case "/deny":
		answer.Allowed = false
	case "/deny-message":
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "not on a Sunday", Code: 418, Reason: "Teapot"}
	case "/deny-reason":
		answer.Allowed, answer.Result = false, &metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 200, Status: "Success"}
	case "/warn":
		answer.Warnings = []string{"first", "second, with \"quotes\""}
	case "/patch", "/patch-validating":
		patch(`[{"op":"add","path":"/metadata/labels/patched","value":"yes"}]`)
	case "/patch-bad":
		patch(`[{"op":"remove","path":"/nope"}]`)
	case "/patch-undecodable":
		patch(`{`)
	case "/patch-untyped":
		patch(`[]`)
		answer.PatchType = nil
	case "/wrong-uid":
		answer.UID = "wrong"
	case "/error":
		http.Error(rw, "out of order", http.StatusInternalServerError)
		return
	case "/not-found":
		http.NotFound(rw, r)
		return
	case "/slow":
		<-r.Context().Done()
		return
	case "/silent":
		answer = nil
	}
	review.Request, review.Response = nil, answer
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(review)
}

func (w *witness) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := strings.Join(w.asked, "")
	w.asked = nil
	return asked
}

// tidy takes away what differs from server to server.
func tidy(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "managedFields")
		if user, ok := v["userInfo"].(map[string]any); ok {
			delete(user, "extra") // the real server's users have certificates
		}
		for _, child := range v {
			tidy(child)
		}
	case []any:
		for _, child := range v {
			tidy(child)
		}
	}
}

var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "$$uid"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "$$time"},
	{regexp.MustCompile(`(resourceVersion"?: "?)\d+`), "${1}$$rv"},
	{regexp.MustCompile(`generated-[a-z0-9]{5}`), "generated-$$name"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "$$host"},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
}

// admissionStage is a server with webhooks, and what has happened on it.
type admissionStage struct {
	t          *testing.T
	cfg        *rest.Config
	pause      time.Duration // before each step
	http       *http.Client
	transcript bytes.Buffer
	witness    *witness
}

// hookSpec is a webhook; the objects with the label hook=NAME are its own, unless all are.
type hookSpec struct {
	name, path, rules, policy string
	all, exact                bool
	timeout                   int
	namespace                 string // its selector's
}

func (s *admissionStage) manifest(kind string, server *httptest.Server, hooks []hookSpec) string {
	ca := base64.StdEncoding.EncodeToString(pemOf(server))
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: admissionregistration.k8s.io/v1\nkind: %s\nmetadata: {name: %s}\nwebhooks:\n", kind, "test")
	for _, h := range hooks {
		url, bundle := server.URL+h.path, ca
		if h.path == "unreachable" {
			url = "https://127.0.0.1:1/"
		}
		selector := fmt.Sprintf("{matchLabels: {hook: %s}}", h.name)
		if h.all {
			selector = "{}"
		}
		rules := cmp.Or(h.rules, `[{apiGroups: [""], apiVersions: [v1], resources: [configmaps, namespaces, pods], operations: ["*"]}]`)
		namespaces, match := "{}", "Equivalent"
		if h.namespace != "" {
			namespaces = fmt.Sprintf("{matchLabels: {kubernetes.io/metadata.name: %s}}", h.namespace)
		}
		if h.exact {
			match = "Exact"
		}
		fmt.Fprintf(&b, "- {name: %s.example.com, namespaceSelector: %s, matchPolicy: %s, clientConfig: {url: %q, caBundle: %q}, rules: %s, failurePolicy: %s, objectSelector: %s, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: %d}\n",
			h.name, namespaces, match, url, bundle, rules, cmp.Or(h.policy, "Fail"), selector, cmp.Or(h.timeout, 10))
	}
	return b.String()
}

func (s *admissionStage) send(method, path, body string, contentType string) (*http.Response, string) {
	s.t.Helper()
	var data []byte
	if body != "" {
		var err error
		if data, err = yaml.YAMLToJSON([]byte(body)); err != nil {
			s.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.cfg.Host+path, bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "probe/1")
	if body != "" {
		req.Header.Set("Content-Type", cmp.Or(contentType, "application/json"))
	}
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

// step makes a request and writes down what follows.
func (s *admissionStage) step(title, method, path, body string, contentType ...string) {
	s.t.Helper()
	wait(s.t.Context(), s.pause)
	s.witness.take()
	resp, text := s.send(method, path, body, strings.Join(contentType, ""))
	var object map[string]any
	_ = json.Unmarshal([]byte(text), &object)
	fmt.Fprintf(&s.transcript, "=== %s\n%s %s\n", title, method, mask(path))
	s.transcript.WriteString(mask(s.witness.take()))
	fmt.Fprintf(&s.transcript, "answers %s\n", resp.Status)
	for _, w := range resp.Header["Warning"] {
		fmt.Fprintf(&s.transcript, "    Warning: %s\n", w)
	}
	if object["kind"] == "Status" {
		tidy(object)
		out, _ := yaml.Marshal(object)
		s.transcript.WriteString(indent(mask(string(out))))
	} else if meta, ok := object["metadata"].(map[string]any); ok {
		fmt.Fprintf(&s.transcript, "    labels: %v\n", meta["labels"])
	}
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// admissionTranscript tells a story on a server, and returns what happened.
func admissionTranscript(t *testing.T, cfg *rest.Config, pause time.Duration) string {
	w := &witness{}
	server := httptest.NewTLSServer(w)
	t.Cleanup(server.Close)
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &admissionStage{t: t, cfg: cfg, pause: pause, http: client, witness: w}
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	s.must("POST", crd, `{metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [
		{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 3}}}}}}},
		{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 4}}}}}}}]}}`)
	const base = "/apis/admissionregistration.k8s.io/v1/"
	s.must("POST", base+"validatingwebhookconfigurations", s.manifest("ValidatingWebhookConfiguration", server, validatingHooks))
	s.must("POST", base+"mutatingwebhookconfigurations", s.manifest("MutatingWebhookConfiguration", server, mutatingHooks))
	s.waitForHooks()
	s.tell()
	return s.transcript.String()
}

func (s *admissionStage) must(method, path, body string) {
	s.t.Helper()
	if resp, text := s.send(method, path, body, ""); resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %s: %s", method, path, resp.Status, text)
	}
}

const hookedMaps = "/api/v1/namespaces/default/configmaps"

func hooked(name, hook string) string {
	return fmt.Sprintf("{metadata: {name: %q, labels: {hook: %s}}}", name, hook)
}

// waitForHooks waits until the last of each sort has been noticed.
func (s *admissionStage) waitForHooks() {
	s.t.Helper()
	for _, last := range []string{"last", "last-patch"} {
		deadline := time.Now().Add(30 * time.Second)
		for {
			resp, _ := s.send("POST", hookedMaps+"?dryRun=All", hooked("probe", last), "")
			if resp.StatusCode >= 400 {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("webhook %s is not asked", last)
			}
			wait(s.t.Context(), 50*time.Millisecond)
		}
	}
	for { // the CRD too
		if resp, _ := s.send("GET", "/apis/example.com/v2/things", "", ""); resp.StatusCode == 200 {
			return
		}
		wait(s.t.Context(), 50*time.Millisecond)
	}
}

// wait is for a server that does not say when it is ready.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

const ofThings = `[{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: ["*"]}]`

const anything = `[{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"]}]`

var validatingHooks = []hookSpec{
	{name: "allow", path: "/allow"},
	{name: "deny", path: "/deny"},
	{name: "deny-message", path: "/deny-message"},
	{name: "deny-reason", path: "/deny-reason"},
	{name: "warn", path: "/warn"},
	{name: "patch-validating", path: "/patch-validating"},
	{name: "wrong-uid", path: "/wrong-uid"},
	{name: "error", path: "/error"},
	{name: "not-found", path: "/not-found"},
	{name: "silent", path: "/silent"},
	{name: "slow", path: "/slow", timeout: 1},
	{name: "unreachable", path: "unreachable"},
	{name: "error-ignored", path: "/error", policy: "Ignore"},
	{name: "no-delete", path: "/deny", rules: `[{apiGroups: ["*"], apiVersions: ["*"], resources: [configmaps], operations: [DELETE]}]`},
	{name: "cluster-only", path: "/deny", rules: `[{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE], scope: Cluster}]`},
	{name: "namespaced-only", path: "/deny", rules: `[{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE], scope: Namespaced}]`},
	{name: "scale", path: "/allow", all: true, rules: `[{apiGroups: [apps], apiVersions: [v1], resources: ["deployments/*"], operations: ["*"]}]`},
	{name: "eviction", path: "/deny", all: true, namespace: "default", rules: `[{apiGroups: [""], apiVersions: [v1], resources: [pods/eviction], operations: ["*"]}]`},
	{name: "guarded", path: "/allow", rules: `[{apiGroups: [""], apiVersions: [v1], resources: [pods, pods/status], operations: [UPDATE, DELETE]}]`},
	{name: "things", path: "/allow", all: true, rules: ofThings},
	{name: "exact", path: "/deny", all: true, exact: true, rules: ofThings},
	{name: "in-namespace", path: "/deny", namespace: "default", rules: anything},
	{name: "elsewhere", path: "/deny", namespace: "elsewhere", rules: anything},
	{name: "last", path: "/deny"},
}

var mutatingHooks = []hookSpec{
	{name: "patch", path: "/patch"},
	{name: "guarded", path: "/allow", rules: `[{apiGroups: [""], apiVersions: [v1], resources: ["pods/*", pods], operations: [UPDATE, DELETE]}]`},
	{name: "patch-bad", path: "/patch-bad"},
	{name: "patch-undecodable", path: "/patch-undecodable"},
	{name: "patch-untyped", path: "/patch-untyped"},
	{name: "things", path: "/patch", rules: ofThings},
	{name: "last-patch", path: "/patch-bad"},
}

// tell is the story.
func (s *admissionStage) tell() {
	one := func(name string) string { return hookedMaps + "/" + name }
	s.step("create", "POST", hookedMaps, hooked("a", "allow"))
	s.step("create, with options", "POST", hookedMaps+"?fieldManager=me&fieldValidation=Strict&dryRun=All", hooked("b", "allow"))
	s.step("create, with a generated name", "POST", hookedMaps, "{metadata: {generateName: generated-, labels: {hook: allow}}}")
	s.step("update", "PUT", one("a")+"?fieldManager=me", "{metadata: {name: a, labels: {hook: allow}}, data: {k: v}}")
	s.step("patch", "PATCH", one("a"), "{data: {k: w}}", "application/merge-patch+json")
	s.step("apply", "PATCH", one("a")+"?fieldManager=me&force=true", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {hook: allow}}, data: {k: x}}", "application/apply-patch+yaml")
	s.step("apply that creates", "PATCH", one("applied")+"?fieldManager=me", "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied, labels: {hook: allow}}}", "application/apply-patch+yaml")
	s.step("an update that takes the label away", "PUT", one("applied"), "{metadata: {name: applied}}")
	s.step("no webhook's object", "POST", hookedMaps, "{metadata: {name: free}}")
	s.step("delete", "DELETE", one("a")+"?propagationPolicy=Background", "")
	s.must("POST", hookedMaps, hooked("c", "no-delete"))
	s.step("delete refused", "DELETE", one("c"), "")
	s.step("delete of a collection refused", "DELETE", hookedMaps+"?labelSelector=hook%3Dno-delete", "")
	s.step("a namespace", "POST", "/api/v1/namespaces", hooked("hooked", "allow"))
	s.step("a namespace's update", "PUT", "/api/v1/namespaces/hooked", hooked("hooked", "allow"))

	for _, hook := range []string{"deny", "deny-message", "deny-reason", "warn", "patch-validating", "wrong-uid", "error",
		"not-found", "silent", "slow", "unreachable", "error-ignored", "patch", "patch-bad", "patch-undecodable", "patch-untyped"} {
		s.step(hook, "POST", hookedMaps, hooked(hook, hook))
	}
	s.step("patch, on a delete", "DELETE", one("patch"), "")
	s.step("cluster scope, namespaced object", "POST", hookedMaps, hooked("scope", "cluster-only"))
	s.step("cluster scope, a namespace", "POST", "/api/v1/namespaces", hooked("scope", "cluster-only"))
	s.step("namespaced scope, namespaced object", "POST", hookedMaps, hooked("scope-2", "namespaced-only"))
	s.step("namespaced scope, a namespace", "POST", "/api/v1/namespaces", hooked("scope-2", "namespaced-only"))

	s.step("in a namespace that is selected", "POST", hookedMaps, hooked("selected", "in-namespace"))
	s.step("in one that is not", "POST", hookedMaps, hooked("selected-2", "elsewhere"))
	s.step("a namespace that is not selected", "POST", "/api/v1/namespaces", hooked("selected", "elsewhere"))
	s.step("a namespace that is selected", "POST", "/api/v1/namespaces", hooked("elsewhere", "elsewhere"))
	s.step("in no namespace", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", hooked("selected", "elsewhere"))
	s.must("POST", "/apis/apps/v1/namespaces/default/deployments", `{metadata: {name: d}, spec: {replicas: 1, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	s.step("a scale", "PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "{metadata: {name: d, namespace: default}, spec: {replicas: 2}}")
	s.must("POST", "/api/v1/namespaces/default/pods", "{metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
	s.step("an eviction", "POST", "/api/v1/namespaces/default/pods/p/eviction", "{apiVersion: policy/v1, kind: Eviction, metadata: {name: p, namespace: default}}")

	s.must("POST", "/api/v1/namespaces/hooked/pods", "{metadata: {name: p, labels: {hook: guarded}}, spec: {containers: [{name: c, image: i}]}}")
	s.step("an eviction that asks nobody about the pod", "POST", "/api/v1/namespaces/hooked/pods/p/eviction", "{apiVersion: policy/v1, kind: Eviction, metadata: {name: p, namespace: hooked}}")

	things := "/apis/example.com/v2/namespaces/default/things"
	s.step("another version than the rule's", "POST", things, "{apiVersion: example.com/v2, kind: Thing, metadata: {name: t, labels: {hook: things}}, spec: {}}")
}
