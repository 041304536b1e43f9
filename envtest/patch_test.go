package envtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What a patch answers is in conformance. Here is what that cannot show: that
// nothing is written to what others read, that nothing is lost, and limits.

// sendPatch patches as the administrator.
func sendPatch(t testing.TB, s *Server, format types.PatchType, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://in.memory"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", string(format))
	req.Header.Set("Authorization", "Bearer "+s.Config().BearerToken)
	resp, err := Transport(s).RoundTrip(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(answer)
}

const configMapA = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"1"}},"data":{"k":"v"}}`

// patches that change data.k of configMapA to w, and label x to y, in each format.
var patchesOfA = map[types.PatchType]string{
	types.MergePatchType:          `{"metadata":{"labels":{"x":"y"}},"data":{"k":"w"}}`,
	types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/x","value":"y"},{"op":"replace","path":"/data/k","value":"w"}]`,
	types.StrategicMergePatchType: `{"metadata":{"labels":{"x":"y"}},"data":{"k":"w"}}`,
	types.ApplyYAMLPatchType:      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"w"}}`,
}

func TestPatchLeavesStoredObjectsAlone(t *testing.T) {
	definitions := schema.GroupResource{Group: definitionKind.Group, Resource: "customresourcedefinitions"}
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"cats.pet.dev","labels":{"l":"1"}},` +
		`"spec":{"group":"pet.dev","scope":"Cluster","names":{"kind":"Cat","plural":"cats"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	for format, patch := range patchesOfA {
		t.Run(string(format), func(t *testing.T) {
			s := NewServer(nil)
			mustSend(t, s, "POST", inDefault+"configmaps", configMapA)
			before := s.store.Get(schema.GroupResource{Resource: "configmaps"}, "default", "a").Value
			copied := before.DeepCopyObject()
			if code, answer := sendPatch(t, s, format, inDefault+"configmaps/a?fieldManager=me"+forced(format), patch); code != 200 {
				t.Fatalf("%d %s", code, answer)
			}
			if diff := cmp.Diff(copied, before); diff != "" {
				t.Errorf("the state before the patch has changed:\n%s", diff)
			}

			// The one built-in kind that is unstructured.
			mustSend(t, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
			before = s.store.Get(definitions, "", "cats.pet.dev").Value
			copied = before.DeepCopyObject()
			switch format {
			case types.JSONPatchType:
				patch = `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`
			case types.ApplyYAMLPatchType:
				patch = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"cats.pet.dev","labels":{"x":"y"}}}`
			default:
				patch = `{"metadata":{"labels":{"x":"y"}}}`
			}
			code, answer := sendPatch(t, s, format, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cats.pet.dev?fieldManager=me"+forced(format), patch)
			if code != 200 || !strings.Contains(answer, `"x":"y"`) {
				t.Fatalf("%d %s", code, answer)
			}
			if diff := cmp.Diff(copied, before); diff != "" {
				t.Errorf("the definition before the patch has changed:\n%s", diff)
			}
		})
	}
}

// forced is what an apply needs to take fields from others.
func forced(format types.PatchType) string {
	if format == types.ApplyYAMLPatchType {
		return "&force=true"
	}
	return ""
}

// A patch that changes nothing writes nothing, not even a time, however often it comes.
func TestPatchOfNothing(t *testing.T) {
	for format, patch := range patchesOfA {
		t.Run(string(format), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(nil)
				mustSend(t, s, "POST", inDefault+"configmaps", configMapA)
				path := inDefault + "configmaps/a?fieldManager=me" + forced(format)
				code, first := sendPatch(t, s, format, path, patch)
				if code != 200 || !strings.Contains(first, `"k":"w"`) {
					t.Fatalf("%d %s", code, first)
				}
				written := s.store.ResourceVersion()
				time.Sleep(time.Minute)
				if _, again := sendPatch(t, s, format, path, patch); again != first {
					t.Errorf("answer of the second\n%s\nwant that of the first\n%s", again, first)
				}
				if v := s.store.ResourceVersion(); v != written {
					t.Errorf("resourceVersion %d, want %d", v, written)
				}
			})
		})
	}
}

// Patches that come at once all count: none is made on top of a state that has passed.
func TestPatchesRace(t *testing.T) {
	const n = 40
	s := NewServer(nil)
	mustSend(t, s, "POST", inDefault+"configmaps", configMapA)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			format, patch := types.MergePatchType, fmt.Sprintf(`{"data":{"key-%d":"v"}}`, i)
			if i%2 == 0 {
				format, patch = types.ApplyYAMLPatchType, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"key-%d":"v"}}`, i)
			}
			if code, answer := sendPatch(t, s, format, fmt.Sprintf("%sconfigmaps/a?fieldManager=m%d", inDefault, i), patch); code != 200 {
				t.Errorf("%d %s", code, answer)
			}
		})
	}
	all.Wait()
	var stored corev1.ConfigMap
	_, body := send(t, s, "GET", inDefault+"configmaps/a", "")
	if err := json.Unmarshal([]byte(body), &stored); err != nil {
		t.Fatal(err)
	}
	if len(stored.Data) != n+1 {
		t.Errorf("%d keys, want %d", len(stored.Data), n+1)
	}
}

func TestPatchLimits(t *testing.T) {
	s := NewServer(nil)
	mustSend(t, s, "POST", inDefault+"configmaps", configMapA)
	operations := "[" + strings.Repeat(`{"op":"test","path":"/data/k","value":"v"},`, maxOperations) + `{"op":"test","path":"/data/k","value":"v"}]`
	code, answer := sendPatch(t, s, types.JSONPatchType, inDefault+"configmaps/a", operations)
	if want := "The allowed maximum operations in a JSON patch is 10000, got 10001"; code != 413 || !strings.Contains(answer, want) {
		t.Errorf("%d %s, want 413 and %q", code, answer, want)
	}
	large := `{"data":{"k":"` + strings.Repeat("x", maxBody) + `"}}`
	if code, answer := sendPatch(t, s, types.MergePatchType, inDefault+"configmaps/a", large); code != 413 {
		t.Errorf("%d %.200s, want 413", code, answer)
	}
}

// Each manager's fields are its own: what one no longer applies goes, unless another has it.
func TestApplyTakesBack(t *testing.T) {
	s := NewServer(nil)
	apply := func(manager, data string) map[string]string {
		t.Helper()
		body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + data + `}`
		code, answer := sendPatch(t, s, types.ApplyYAMLPatchType, inDefault+"configmaps/a?fieldManager="+manager, body)
		var m corev1.ConfigMap
		if err := json.Unmarshal([]byte(answer), &m); err != nil || code > 201 {
			t.Fatalf("%d %s %v", code, answer, err)
		}
		return m.Data
	}
	steps := []struct {
		manager, data string
		want          map[string]string
	}{
		{"one", `{"a":"1","b":"1"}`, map[string]string{"a": "1", "b": "1"}},
		{"two", `{"b":"1","c":"2"}`, map[string]string{"a": "1", "b": "1", "c": "2"}},
		{"one", `{"a":"1"}`, map[string]string{"a": "1", "b": "1", "c": "2"}},
		{"two", `{"c":"2"}`, map[string]string{"a": "1", "c": "2"}},
		{"one", `{}`, map[string]string{"c": "2"}},
	}
	for i, step := range steps {
		if diff := cmp.Diff(step.want, apply(step.manager, step.data)); diff != "" {
			t.Errorf("step %d: %s applies %s (-want +got):\n%s", i+1, step.manager, step.data, diff)
		}
	}
}

// Whatever comes as a patch is answered, and harms nothing.
func FuzzPatch(f *testing.F) {
	s := NewServer(nil)
	formats := []types.PatchType{types.MergePatchType, types.JSONPatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	mustSend(f, s, "POST", inDefault+"configmaps", configMapA)
	for i, format := range formats {
		f.Add(i, patchesOfA[format])
	}
	f.Add(2, `{"metadata":{"$patch":"replace","finalizers":["a/b"],"$deleteFromPrimitiveList/finalizers":["c/d"]}}`)
	f.Add(3, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, managedFields: [{}]}")
	f.Add(1, `[{"op":"copy","from":"","path":"/data"},{"op":"move","from":"/a~1","path":"/-"}]`)
	f.Fuzz(func(t *testing.T, which int, patch string) {
		format := formats[uint(which)%uint(len(formats))]
		before := s.store.Get(schema.GroupResource{Resource: "configmaps"}, "default", "a").Value.(*corev1.ConfigMap)
		copied := before.DeepCopy()
		code, answer := sendPatch(t, s, format, inDefault+"configmaps/a?fieldManager=f&dryRun=All", patch)
		var any metav1.PartialObjectMetadata
		if err := json.Unmarshal([]byte(answer), &any); err != nil || code < 200 {
			t.Errorf("%d %s: %v", code, answer, err)
		}
		if diff := cmp.Diff(copied, before); diff != "" {
			t.Errorf("%s %q has changed the stored object:\n%s", format, patch, diff)
		}
	})
}
