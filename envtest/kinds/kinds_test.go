package kinds_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"governor/client"
	"governor/envtest/kinds"
	"governor/scheme"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Contract 1: what the scheme knows, and CRDs, which it need not.
func TestOnlyKindsOfTheSchemeAreServed(t *testing.T) {
	s := scheme.New()
	if err := s.Install(corev1.AddToScheme); err != nil {
		t.Fatal(err)
	}
	r := kinds.New(s, nil)
	for _, resource := range r.All() {
		if g := resource.GroupVersionKind.Group; g != "" && g != "apiextensions.k8s.io" {
			t.Errorf("%v is served", resource.GroupVersionKind)
		}
	}
	if r.ForKind(corev1.SchemeGroupVersion.WithKind("Pod")) == nil || r.Lookup(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}) == nil {
		t.Error("pods or CRDs are not served")
	}
}

// Every list kind is in the scheme, and every object is stored in a version that is
// served. Contract 1.
func TestBuiltinTableFitsTheScheme(t *testing.T) {
	known := scheme.Builtin().AllKnownTypes()
	for _, r := range builtin.All() {
		gvk := r.GroupVersionKind
		stored := !r.StorageVersion.Empty() && r.Rules == nil
		if stored && known[gvk.GroupVersion().WithKind(r.ListKind)] == nil {
			t.Errorf("%v: no list kind %s", gvk, r.ListKind)
		}
		if stored && builtin.Lookup(r.Storage.WithVersion(r.StorageVersion.Version)) == nil {
			t.Errorf("%v: stored as %v %v, which is not served", gvk, r.Storage, r.StorageVersion)
		}
		if r.GroupVersionResource != builtin.Lookup(r.GroupVersionResource).GroupVersionResource || builtin.ForKind(gvk) == nil {
			t.Errorf("%v is not found", gvk)
		}
	}
	if events := lookup(t, builtin, "events.k8s.io", "v1", "events"); events.Storage.Group != "" || events.StorageVersion != corev1.SchemeGroupVersion {
		t.Errorf("events.k8s.io are stored as %v %v", events.Storage, events.StorageVersion)
	}
}

// An object that goes to the other version and back is what it was, and is not
// written to. Contract 2.
func TestBuiltinConversionsAreReversible(t *testing.T) {
	tests := []struct{ name, object, to, want string }{
		{"core event", `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","labels":{"a":"b"}},"involvedObject":{"kind":"Pod","name":"p"},"reason":"R","message":"m","source":{"component":"c"},"count":3,"type":"Warning",
			"firstTimestamp":"2020-01-01T00:00:00Z","lastTimestamp":"2020-01-01T00:00:01Z","eventTime":"2020-01-01T00:00:00.000000Z","action":"A","related":{"name":"x"},"reportingComponent":"rc","reportingInstance":"ri","series":{"count":2,"lastObservedTime":"2020-01-01T00:00:02.000000Z"}}`,
			"events.k8s.io/v1", `"note":"m","type":"Warning","deprecatedSource":{"component":"c"}`},
		{"autoscaler v1", `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":3,"targetCPUUtilizationPercentage":50},"status":{"currentReplicas":1,"desiredReplicas":2}}`,
			"autoscaling/v2", `"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]`},
		{"autoscaler v2", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","annotations":{"a":"b"}},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,
			"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":7}}},{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}],"behavior":{"scaleDown":{"stabilizationWindowSeconds":5}}},
			"status":{"desiredReplicas":2,"conditions":[{"type":"AbleToScale","status":"True","reason":"r"}],"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":9}}}]}}`,
			"autoscaling/v1", `"targetCPUUtilizationPercentage":50`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := typedObject(t, tt.object)
			before := object.DeepCopyObject()
			r := builtin.ForKind(object.GetObjectKind().GroupVersionKind())
			to, _ := schema.ParseGroupVersion(tt.to)
			there, err := r.Convert(object, to)
			if err != nil {
				t.Fatal(err)
			}
			if text := mustJSON(there); !strings.Contains(text, tt.want) || there.GetObjectKind().GroupVersionKind().GroupVersion() != to {
				t.Errorf("converted: %s, want %s", text, tt.want)
			}
			if labels := there.GetLabels(); labels != nil {
				labels["a"] = "changed" // its own, or else the object changes
				if object.GetLabels()["a"] != "b" {
					t.Error("shares with the object")
				}
				labels["a"] = "b"
			}
			between := mustJSON(there)
			back, err := r.Convert(there, object.GetObjectKind().GroupVersionKind().GroupVersion())
			if err != nil {
				t.Fatal(err)
			}
			if labels := back.GetLabels(); labels != nil {
				labels["a"] = "changed"
				if mustJSON(there) != between {
					t.Error("shares with the converted object")
				}
				labels["a"] = "b"
			}
			if diff := cmp.Diff(mustJSON(object), mustJSON(back)); diff != "" {
				t.Errorf("not what it was: %s", diff)
			}
			if !reflect.DeepEqual(object, before) {
				t.Error("written to")
			}
		})
	}
	pod := typedObject(t, `{"apiVersion":"v1","kind":"Pod"}`)
	if same, err := builtin.ForKind(pod.GetObjectKind().GroupVersionKind()).Convert(pod, corev1.SchemeGroupVersion); err != nil || same != client.Object(pod) {
		t.Errorf("a conversion to the same version: %v", err)
	}
	if _, err := builtin.ForKind(pod.GetObjectKind().GroupVersionKind()).Convert(pod, schema.GroupVersion{Group: "apps", Version: "v1"}); !runtime.IsNotRegisteredError(err) {
		t.Errorf("a conversion to nowhere: %v", err)
	}
}

// Readers see each change of a CRD whole. Contract 4.
func TestReadersSeeWholeChanges(t *testing.T) {
	r := kinds.New(scheme.Builtin(), nil)
	both := crd(t, v1(`{"type":"object"}`), `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n := 0
				for _, resource := range r.All() {
					if resource.Custom != nil {
						n++
					}
				}
				if n != 0 && n != 2 {
					t.Errorf("%d versions are served", n)
					return
				}
			}
		})
	}
	for range 50 {
		if err := r.SetCRD(both); err != nil {
			t.Error(err)
		}
		r.RemoveCRD(both.GetName())
	}
	close(done)
	readers.Wait()
}

// Contract 4: a CRD that makes no sense leaves what is served.
func TestRefusedCRDChangesNothing(t *testing.T) {
	r, before := serve(t, "v1", crd(t, v1(`{"type":"object"}`)))
	broken := crd(t, v1(`{"type":5}`))
	if err := r.SetCRD(broken); err == nil || !strings.Contains(err.Error(), "widgets.example.com") {
		t.Errorf("error %v", err)
	}
	if r.ForKind(before.GroupVersionKind) != before {
		t.Error("what was served is not any more")
	}
	shadow := crd(t, v1(`{"type":"object"}`))
	shadow.SetName("events.events.k8s.io")
	shadow.Object["spec"].(map[string]any)["group"] = "events.k8s.io"
	shadow.Object["spec"].(map[string]any)["names"] = parse(t, `{"plural":"events","kind":"Event"}`)
	if err := r.SetCRD(shadow); err != nil {
		t.Fatal(err)
	}
	if lookup(t, r, "events.k8s.io", "v1", "events").Custom != nil {
		t.Error("a built-in resource is replaced")
	}
}

// What kubectl looks for: the patch operation of a kind, with fieldValidation; and
// the schema of a CRD. Contract 1.
func TestOpenAPIDocuments(t *testing.T) {
	r, _ := serve(t, "v1", crd(t, v1(`{"type":"object","properties":{"pod":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`)))
	tests := []struct{ group, version, path, kind, schema string }{
		{"", "v1", "/api/v1/namespaces/{namespace}/pods/{name}", "Pod", "io.k8s.api.core.v1.Pod"},
		{"", "v1", "/api/v1/nodes/{name}/status", "Node", "io.k8s.api.core.v1.Node"},
		{"apps", "v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "Deployment", "io.k8s.api.apps.v1.Deployment"},
		{"example.com", "v1", "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}", "Widget", "com.example.v1.Widget"},
		{"apiextensions.k8s.io", "v1", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", "CustomResourceDefinition", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			text, err := r.OpenAPI(schema.GroupVersion{Group: tt.group, Version: tt.version})
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				Paths map[string]struct {
					Patch struct {
						GVK        schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
						Parameters []struct{ Name string }
					}
				}
				Components struct{ Schemas map[string]map[string]any }
			}
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			patch := doc.Paths[tt.path].Patch
			if want := (schema.GroupVersionKind{Group: tt.group, Version: tt.version, Kind: tt.kind}); patch.GVK != want {
				t.Errorf("patch is of %v, want %v", patch.GVK, want)
			}
			if !strings.Contains(fmt.Sprint(patch.Parameters), "fieldValidation") {
				t.Errorf("parameters %v", patch.Parameters)
			}
			if properties, ok := doc.Components.Schemas[tt.schema]["properties"].(map[string]any); !ok || properties["metadata"] == nil || properties["spec"] == nil {
				t.Errorf("no schema %s with fields: %v", tt.schema, properties)
			}
			for name, s := range doc.Components.Schemas {
				for _, ref := range refs(s) {
					if doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
						t.Errorf("%s refers to %s, which is not there", name, ref)
					}
				}
			}
		})
	}
	if text, err := r.OpenAPI(schema.GroupVersion{Group: "nobody", Version: "v1"}); text != nil || err != nil {
		t.Errorf("a version that is not served: %s %v", text, err)
	}
}

func refs(x any) []string {
	var found []string
	switch x := x.(type) {
	case map[string]any:
		for name, value := range x {
			if ref, ok := value.(string); ok && name == "$ref" {
				found = append(found, ref)
			}
			found = append(found, refs(value)...)
		}
	case []any:
		for _, value := range x {
			found = append(found, refs(value)...)
		}
	}
	return found
}

func BenchmarkNew(b *testing.B) {
	s := scheme.Builtin()
	b.ReportAllocs()
	for b.Loop() {
		kinds.New(s, nil)
	}
}

func BenchmarkLookup(b *testing.B) {
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	b.ReportAllocs()
	for b.Loop() {
		builtin.Lookup(gvr)
	}
}
