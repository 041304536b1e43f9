package kinds_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"governor/envtest/kinds"
	"governor/scheme"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// install creates a CRD on the real server, waits until it is served, and returns
// what the server made of it.
func (s *apiServer) install(t *testing.T, crd *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	s.send(t, "POST", definitions, "application/json", crd, 201)
	path := definitions + "/" + crd.GetName()
	t.Cleanup(func() { s.delete(t, path) })
	installed := &unstructured.Unstructured{}
	s.until(t, func() bool {
		installed = s.read(t, path)
		return strings.Contains(conditions(t, installed), "Established=True")
	})
	// The server takes a moment more until it takes objects.
	s.until(t, func() bool {
		code, _ := s.do(t, "GET", fmt.Sprintf("/apis/%s/v1/%s", "example.com", "widgets"), "", "application/json", nil)
		return code == 200
	})
	return installed
}

func (s *apiServer) delete(t *testing.T, path string) {
	t.Helper()
	req, err := http.NewRequest("DELETE", s.host+path, nil) // the test's context has ended
	if err != nil {
		t.Fatal(err)
	}
	for {
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 404 {
			return
		}
		time.Sleep(50 * time.Millisecond) // a real server cleans up in its own time
	}
}

// until asks the real server until it has done what it does in its own time.
func (s *apiServer) until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not get there")
		}
	}
}

func (s *apiServer) read(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	code, text := s.do(t, "GET", path, "", "application/json", nil)
	if code != 200 {
		t.Fatalf("GET %s: %d %s", path, code, text)
	}
	return unstructuredObject(t, string(text))
}

func (s *apiServer) send(t *testing.T, method, path, contentType string, object any, want int) *unstructured.Unstructured {
	t.Helper()
	code, text := s.do(t, method, path, contentType, "application/json", []byte(mustJSON(object)))
	if code != want {
		t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return unstructuredObject(t, string(text))
}

// What the real server says of the same objects, and makes of the good ones.
// Contract 6.
func TestE2EValidation(t *testing.T) {
	s := realServer(t)
	properties := map[string]json.RawMessage{}
	for i, tt := range validations {
		properties[fmt.Sprintf("c%d", i)] = json.RawMessage(tt.schema)
	}
	for i, tt := range prunings {
		properties[fmt.Sprintf("p%d", i)] = json.RawMessage(tt.schema)
	}
	definition := crd(t, v1(mustJSON(map[string]any{"type": "object", "properties": properties})))
	s.install(t, definition)
	_, r := serve(t, "v1", definition)

	ask := func(t *testing.T, name, field, spec string) {
		object := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"`+name+`"},"spec":{"`+field+`":`+spec+`}}`)
		code, text := s.do(t, "POST", "/apis/example.com/v1/namespaces/default/widgets?dryRun=All&fieldValidation=Ignore", "application/json", "application/json", []byte(mustJSON(object)))
		r.Rules.Prune(object)
		r.Rules.Default(object)
		got := ours(r.GroupVersionKind.GroupKind(), object, r.Rules, nil)
		if code == 201 {
			if got != nil {
				t.Errorf("the server takes it, we say %q", got)
			}
			if diff := cmp.Diff(unstructuredObject(t, string(text)).Object["spec"], object.Object["spec"]); diff != "" {
				t.Errorf("-server +ours: %s", diff)
			}
			return
		}
		var status metav1.Status
		if err := json.Unmarshal(text, &status); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(causes(status), got); diff != "" {
			t.Errorf("-server +ours: %s\n%s", diff, status.Message)
		}
	}
	for i, tt := range validations {
		t.Run(tt.name, func(t *testing.T) { ask(t, fmt.Sprintf("a%d", i), fmt.Sprintf("c%d", i), tt.spec) })
	}
	for i, tt := range prunings {
		t.Run(tt.name, func(t *testing.T) { ask(t, fmt.Sprintf("b%d", i), fmt.Sprintf("p%d", i), tt.spec) })
	}
}

// What the real server says of the same bad CRDs. Contract 6.
func TestE2EBrokenCRDs(t *testing.T) {
	s := realServer(t)
	var lines []string
	for _, tt := range brokenCRDs {
		t.Run(tt.name, func(t *testing.T) {
			definition := brokenCRD(t, tt.change)
			code, text := s.do(t, "POST", definitions+"?dryRun=All", "application/json", "application/json", []byte(mustJSON(definition)))
			var status metav1.Status
			if err := json.Unmarshal(text, &status); err != nil || code == 201 {
				t.Fatalf("%d %s", code, text)
			}
			lines = append(lines, tt.name)
			for _, cause := range causes(status) {
				lines = append(lines, "\t"+cause)
			}
		})
	}
	compare(t, brokenFile, []byte(strings.Join(lines, "\n")+"\n"))
}

// The status of a CRD, from its creation on, as the real server's controllers write
// it. Contract 5.
func TestE2EStatusOfCRDs(t *testing.T) {
	s := realServer(t)
	definition := crd(t, v1(`{"type":"object"}`))
	definition.SetUID("")
	created := s.send(t, "POST", definitions+"?dryRun=All", "application/json", definition, 201)
	rules := lookup(t, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions").Rules
	mine := definition.DeepCopy()
	rules.Prune(mine)
	rules.Default(mine)
	rules.Prepare(mine)
	for _, part := range []string{"spec", "status"} {
		if diff := cmp.Diff(created.Object[part], mine.Object[part]); diff != "" {
			t.Errorf("%s of a new CRD: -server +ours: %s", part, diff)
		}
	}

	installed := s.install(t, definition)
	r := kinds.New(scheme.Builtin(), nil)
	mine, err := r.AcceptNames(mine)
	if err != nil {
		t.Fatal(err)
	}
	if mine, err = kinds.Establish(mine); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutTimes(installed), withoutTimes(mine)); diff != "" {
		t.Errorf("established: -server +ours: %s", diff)
	}

	other := crd(t, v1(`{"type":"object"}`))
	other.SetUID("")
	other.SetName("others.example.com")
	other.Object["spec"].(map[string]any)["names"] = parse(t, `{"plural":"others","kind":"Widget","shortNames":["w","o"]}`)
	s.send(t, "POST", definitions, "application/json", other, 201)
	t.Cleanup(func() { s.delete(t, definitions+"/others.example.com") })
	var theirs *unstructured.Unstructured
	s.until(t, func() bool {
		theirs = s.read(t, definitions+"/others.example.com")
		return conditions(t, theirs) != ""
	})
	if err := r.SetCRD(mine); err != nil {
		t.Fatal(err)
	}
	rules.Default(other)
	rules.Prepare(other)
	second, err := r.AcceptNames(other)
	if err == nil {
		t.Error("no conflict")
	}
	if diff := cmp.Diff(withoutTimes(theirs), withoutTimes(second)); diff != "" {
		t.Errorf("in conflict: -server +ours: %s", diff)
	}
}

// withoutTimes returns the status of a CRD without what differs from run to run.
func withoutTimes(crd *unstructured.Unstructured) map[string]any {
	crd = crd.DeepCopy()
	status, _ := crd.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		delete(c.(map[string]any), "lastTransitionTime")
	}
	return status
}

// Who owns what of a custom object, and what it becomes, after the same applies and
// updates. Contract 3.
func TestE2EFieldManagersOfCustomObjects(t *testing.T) {
	s := realServer(t)
	definition := crd(t, v1(`{"type":"object","properties":{"n":{"type":"integer","default":3},
		"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}},
		"atom":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"x":{"type":"string"}}},
		"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
		"port":{"x-kubernetes-int-or-string":true}}}`))
	s.install(t, definition)
	_, r := serve(t, "v1", definition)
	path := "/apis/example.com/v1/namespaces/default/widgets/a"
	applies := []struct{ manager, subresource, body string }{
		{"one", "", `{"spec":{"l":[{"k":"a","v":"1"}],"atom":{"x":"1"},"any":{"deep":{"er":[1]}},"port":"http"}}`},
		{"two", "", `{"metadata":{"labels":{"by":"two"}},"spec":{"l":[{"k":"b","v":"2"}]}}`},
		{"three", "status", `{"metadata":{"labels":{"ignored":"x"}},"spec":{"n":9},"status":{"phase":"Up"}}`},
		{"one", "", `{"spec":{"l":[{"k":"a","v":"3"}],"port":80}}`},
	}
	live := widget(t, `{}`)
	live.Object = map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}
	for i, a := range applies {
		applied := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget",`+a.body[1:])
		applied.SetName("a")
		url := path
		if a.subresource != "" {
			url += "/" + a.subresource
		}
		url += "?fieldManager=" + a.manager
		code, text := s.do(t, http.MethodPatch, url, "application/apply-patch+yaml", "application/json", []byte(mustJSON(applied)))
		if code >= 300 {
			t.Fatalf("%d: %d %s", i, code, text)
		}
		theirs := unstructuredObject(t, string(text))
		next, err := r.FieldManager(a.subresource).Apply(live, applied, a.manager, false)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		mine := next.(*unstructured.Unstructured)
		if a.subresource == "status" { // as its strategy: nothing but the status
			kept := live.DeepCopy()
			kept.Object["status"] = mine.Object["status"]
			kept.SetManagedFields(mine.GetManagedFields())
			mine = kept
		}
		if diff := cmp.Diff(sorted(owned(theirs)), sorted(owned(mine))); diff != "" {
			t.Errorf("%d: -server +ours: %s", i, diff)
		}
		for _, part := range []string{"spec", "status"} {
			if diff := cmp.Diff(theirs.Object[part], mine.Object[part]); diff != "" {
				t.Errorf("%d: %s: -server +ours: %s", i, part, diff)
			}
		}
		live = mine
	}
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}
