package kinds_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"governor/client"
	"governor/envtest/kinds"
	"governor/scheme"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var builtin = kinds.New(scheme.Builtin(), nil)

func lookup(t testing.TB, r *kinds.Registry, group, version, resource string) *kinds.Resource {
	t.Helper()
	found := r.Lookup(schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
	if found == nil {
		t.Fatalf("%s %s/%s is not served", resource, group, version)
	}
	return found
}

// typedObject makes a Go value of a built-in kind.
func typedObject(t testing.TB, text string) client.Object {
	t.Helper()
	var meta metav1.TypeMeta
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		t.Fatal(err)
	}
	object, err := scheme.Builtin().New(meta.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object.(client.Object)
}

func unstructuredObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return object
}

// owned returns "manager fieldsV1" for each entry of an object's managedFields.
func owned(object runtime.Object) []string {
	var entries []string
	for _, m := range object.(metav1.Object).GetManagedFields() {
		entries = append(entries, strings.TrimSpace(m.Manager+" "+string(m.Operation)+" "+m.APIVersion+" "+m.Subresource)+" "+m.FieldsV1.GetRawString())
	}
	return entries
}

// Every resource that stores something has a working field manager, for the
// object and for each subresource. Contract 3.
func TestFieldManagersOfAllBuiltins(t *testing.T) {
	for _, r := range builtin.All() {
		for _, sub := range append([]string{""}, keys(r.Subresources)...) {
			if r.FieldManager(sub) == nil {
				t.Errorf("%v: no field manager for %q", r.GroupVersionResource, sub)
			}
		}
		if r.FieldManager("nonsense") != nil {
			t.Errorf("%v: a field manager for a subresource that it does not have", r.GroupVersionResource)
		}
		if r.StorageVersion.Empty() || r.GroupVersionKind.Group == "apiextensions.k8s.io" {
			continue
		}
		object, err := scheme.Builtin().New(r.GroupVersionKind)
		if err != nil {
			t.Fatal(err)
		}
		object.GetObjectKind().SetGroupVersionKind(r.GroupVersionKind)
		live := object.DeepCopyObject()
		object.(metav1.Object).SetLabels(map[string]string{"a": "b"})
		after, err := r.FieldManager("").Update(live, object, "me")
		if err != nil {
			t.Errorf("%v: %v", r.GroupVersionResource, err)
			continue
		}
		if got := strings.Join(owned(after), "\n"); !strings.Contains(got, `"f:a":{}`) {
			t.Errorf("%v: owns %s", r.GroupVersionResource, got)
		}
	}
}

func keys(m map[string]*kinds.Subresource) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// What a write resets it does not come to own; the rest it does. Contract 3.
func TestFieldManagersLeaveOutWhatIsReset(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"l":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}]},
		"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}],"ephemeralContainers":[{"name":"e","image":"x"}]},"status":{"phase":"Running"}}`
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"l":"1"},"annotations":{"a":"1"}},"spec":{"replicas":2},"status":{"replicas":2}}`
	csr := `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"d"},"spec":{"username":"me"},"status":{"certificate":"AA==","conditions":[{"type":"Approved","status":"True"}]}}`
	tests := []struct {
		group, version, resource, subresource, object string
		owns, not                                     []string
	}{
		{"", "v1", "pods", "", pod, []string{"f:spec", "f:labels", "f:ownerReferences"}, []string{"f:status"}},
		{"", "v1", "pods", "status", pod, []string{"f:status", "f:labels"}, []string{"f:spec", "f:ownerReferences"}},
		{"", "v1", "pods", "ephemeralcontainers", pod, []string{"f:ephemeralContainers"}, []string{"f:containers", "f:status", "f:labels"}},
		{"", "v1", "pods", "resize", pod, []string{"f:resources"}, []string{"f:image", "f:status", "f:labels"}},
		{"apps", "v1", "deployments", "status", deployment, []string{"f:status", "f:annotations"}, []string{"f:spec", "f:labels"}},
		{"certificates.k8s.io", "v1", "certificatesigningrequests", "status", csr, []string{"f:certificate"}, []string{"f:spec", "f:conditions"}},
		{"certificates.k8s.io", "v1", "certificatesigningrequests", "approval", csr, []string{"f:conditions"}, []string{"f:spec", "f:certificate"}},
	}
	for _, tt := range tests {
		t.Run(tt.resource+"/"+tt.subresource, func(t *testing.T) {
			object := typedObject(t, tt.object)
			live, _ := scheme.Builtin().New(object.GetObjectKind().GroupVersionKind())
			after, err := lookup(t, builtin, tt.group, tt.version, tt.resource).FieldManager(tt.subresource).Update(live, object, "me")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(owned(after), "\n")
			for _, want := range tt.owns {
				if !strings.Contains(got, want) {
					t.Errorf("does not own %s: %s", want, got)
				}
			}
			for _, bad := range tt.not {
				if strings.Contains(got, bad) {
					t.Errorf("owns %s: %s", bad, got)
				}
			}
		})
	}
}

// Server-side apply merges, conflicts and converts between versions, and leaves
// the live object alone. Contract 3.
func TestFieldManagerAppliesToABuiltin(t *testing.T) {
	services := lookup(t, builtin, "", "v1", "services")
	live := typedObject(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{}}`)
	first, err := services.FieldManager("").Apply(live, unstructuredObject(t,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":80,"protocol":"TCP","name":"a"}]}}`), "one", false)
	if err != nil {
		t.Fatal(err)
	}
	before := first.DeepCopyObject()
	second, err := services.FieldManager("").Apply(first, unstructuredObject(t,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":81,"protocol":"TCP","name":"b"}]}}`), "two", false)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(second); !strings.Contains(string(text), `"port":80`) || !strings.Contains(string(text), `"port":81`) {
		t.Errorf("not merged by key: %s", text)
	}
	if got, want := mustJSON(first), mustJSON(before); got != want {
		t.Errorf("apply wrote to the live object: %s, before %s", got, want)
	}
	_, err = services.FieldManager("").Apply(second, unstructuredObject(t,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":81,"protocol":"TCP","name":"c"}]}}`), "three", false)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "two"`) {
		t.Errorf("conflict: %v", err)
	}
}

// Contract 3, for custom kinds.
func TestFieldManagersOfCustomKindsLeaveOutWhatIsReset(t *testing.T) {
	_, r := serve(t, "v1", crd(t, v1(`{"type":"object","properties":{"n":{"type":"integer"}}}`)))
	live := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`)
	object := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"n":1},"status":{"phase":"Up"}}`)
	for subresource, want := range map[string]string{
		"":       `me Update example.com/v1 {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:n":{}}}`,
		"status": `me Update example.com/v1 status {"f:status":{".":{},"f:phase":{}}}`,
	} {
		after, err := r.FieldManager(subresource).Update(live, object.DeepCopy(), "me")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(owned(after), "\n"); got != want {
			t.Errorf("%q: owns %s, want %s", subresource, got, want)
		}
	}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// An object that does not carry its kind is understood, and still does not
// afterwards. Contract 2.
func TestFieldManagerTakesObjectsWithoutKind(t *testing.T) {
	object := typedObject(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}`)
	live := object.DeepCopyObject()
	live.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if _, err := lookup(t, builtin, "", "v1", "configmaps").FieldManager("").Update(live, object, "me"); err != nil {
		t.Fatal(err)
	}
	if kind := live.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		t.Errorf("the live object has got a kind: %v", kind)
	}
}

// A resource with two versions: what is applied in one is owned in it, and the
// live object is in the storage version. Contract 2 and 3.
func TestFieldManagerAppliesInAnotherVersion(t *testing.T) {
	tests := []struct{ group, version, resource, live, apply, want string }{
		{"autoscaling", "v1", "horizontalpodautoscalers",
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":7}}}]}}`,
			`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"targetCPUUtilizationPercentage":50}}`,
			`"averageUtilization":50`},
		{"events.k8s.io", "v1", "events",
			`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"message":"old","reason":"R"}`,
			`{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"action":"A"}`,
			`"action":"A"`},
	}
	for _, tt := range tests {
		t.Run(tt.resource, func(t *testing.T) {
			r := lookup(t, builtin, tt.group, tt.version, tt.resource)
			live := typedObject(t, tt.live)
			after, err := r.FieldManager("").Apply(live, unstructuredObject(t, tt.apply), "me", true)
			if err != nil {
				t.Fatal(err)
			}
			if got := after.GetObjectKind().GroupVersionKind().GroupVersion(); got != r.StorageVersion {
				t.Errorf("version %v, want %v", got, r.StorageVersion)
			}
			if text := mustJSON(after); !strings.Contains(text, tt.want) {
				t.Errorf("%s in %s", tt.want, text)
			}
			if got := strings.Join(owned(after), "\n"); !strings.Contains(got, "me Apply "+tt.group+"/"+tt.version) {
				t.Errorf("owned: %s", got)
			}
		})
	}
}

func BenchmarkFieldManagerOnCreate(b *testing.B) {
	object := typedObject(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","labels":{"a":"b"}},"data":{"a":"1","b":"2"}}`)
	live := typedObject(b, `{"apiVersion":"v1","kind":"ConfigMap"}`)
	manager := lookup(b, builtin, "", "v1", "configmaps").FieldManager("")
	b.ReportAllocs()
	for b.Loop() {
		manager.UpdateNoErrors(live, object.DeepCopyObject(), "me")
	}
}
