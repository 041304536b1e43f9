package kinds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"governor/envtest/kinds"
	"governor/scheme"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// crd makes a CRD widgets.example.com with one or more versions, each a JSON object
// of versions[]; change changes the text.
func crd(t testing.TB, versions ...string) *unstructured.Unstructured {
	t.Helper()
	return unstructuredObject(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"widgets.example.com","uid":"u1"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","shortNames":["w"],"categories":["all"]},
		"versions":[`+strings.Join(versions, ",")+`]}}`)
}

// v1 is a version with a schema of spec and status.
func v1(specSchema string) string {
	return `{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
		"spec":` + specSchema + `,"status":{"type":"object","properties":{"phase":{"type":"string","enum":["Up","Down"]}}}}}}}`
}

// serve returns a Registry with one CRD, and the resource of a version.
func serve(t testing.TB, version string, crds ...*unstructured.Unstructured) (*kinds.Registry, *kinds.Resource) {
	t.Helper()
	r := kinds.New(scheme.Builtin(), nil)
	for _, crd := range crds {
		if err := r.SetCRD(crd); err != nil {
			t.Fatal(err)
		}
	}
	return r, lookup(t, r, "example.com", version, "widgets")
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func widget(t testing.TB, spec string) *unstructured.Unstructured {
	t.Helper()
	return unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":`+spec+`}`)
}

// Contract 4.
func TestCRDServesItsVersions(t *testing.T) {
	r, beta := serve(t, "v1beta1", crd(t, v1(`{"type":"object"}`),
		`{"name":"v1beta1","served":true,"storage":false,"deprecated":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
			"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size","priority":1}],
			"selectableFields":[{"jsonPath":".spec.color"}],
			"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n","labelSelectorPath":".status.sel"}}}`,
		`{"name":"v2","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`))
	if r.Lookup(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}) != nil {
		t.Error("a version that is not served is served")
	}
	v1 := r.ForKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	if v1 == nil || v1.Subresources["status"] == nil || v1.Subresources["scale"] != nil || v1.Custom.Warning != "" {
		t.Errorf("v1: %+v", v1)
	}
	if got := r.All()[len(r.All())-2:]; got[0] != v1 || got[1] != beta {
		t.Errorf("order of discovery: %v %v", got[0], got[1])
	}
	want := kinds.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "widgets"},
		GroupVersionKind:     schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"},
		ListKind:             "WidgetList", Singular: "widget", ShortNames: []string{"w"}, Categories: []string{"all"},
		Namespaced: true, Verbs: []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
		StorageVersion: schema.GroupVersion{Group: "example.com", Version: "v1"},
		Storage:        schema.GroupResource{Group: "example.com", Resource: "widgets"},
		Subresources: map[string]*kinds.Subresource{"scale": {
			Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Verbs: []string{"get", "patch", "update"},
		}},
	}
	got := *beta
	got.Custom, got.Rules, got.FieldManager = nil, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c := beta.Custom
	if c.UID != "u1" || c.SpecReplicasPath != ".spec.n" || c.StatusReplicasPath != ".status.n" || c.LabelSelectorPath != ".status.sel" {
		t.Errorf("custom %+v", c)
	}
	if diff := cmp.Diff([]kinds.Column{{Name: "Size", Type: "integer", JSONPath: ".spec.size", Priority: 1}}, c.PrinterColumns); diff != "" {
		t.Error(diff)
	}
	if want := "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"; c.Warning != want {
		t.Errorf("warning %q, want %q", c.Warning, want)
	}
	if diff := cmp.Diff([]string{"spec.color"}, c.SelectableFields); diff != "" {
		t.Error(diff)
	}
	r.RemoveCRD("widgets.example.com")
	if r.ForKind(v1.GroupVersionKind) != nil || len(r.All()) != len(builtin.All()) {
		t.Error("served after it is removed")
	}
}

// The status as the real server's controllers write it. Contract 5.
func TestNamesOfCRDsConflict(t *testing.T) {
	first := crd(t, v1(`{"type":"object"}`))
	second := func(names string) *unstructured.Unstructured {
		other := crd(t, v1(`{"type":"object"}`))
		other.SetName("others.example.com")
		other.Object["spec"].(map[string]any)["names"] = parse(t, names)
		if strings.Contains(names, `"plural":"widgets"`) {
			other.Object["spec"].(map[string]any)["group"] = "other.example.com"
			other.SetName("widgets.other.example.com")
		}
		return other
	}
	tests := []struct{ name, names, reason, message string }{
		{"none in another group", `{"plural":"widgets","kind":"Widget"}`, "NoConflicts", "no conflicts found"},
		{"none", `{"plural":"others","kind":"Other"}`, "NoConflicts", "no conflicts found"},
		{"singular", `{"plural":"others","singular":"widgets","kind":"Other"}`, "SingularConflict", `"widgets" is already in use`},
		{"short names", `{"plural":"others","kind":"Other","shortNames":["o","w","widget"]}`, "ShortNamesConflict", `["w" is already in use, "widget" is already in use]`},
		{"kind", `{"plural":"others","singular":"other","kind":"Widget","listKind":"Others"}`, "KindConflict", `"Widget" is already in use`},
		{"list kind", `{"plural":"others","kind":"Other","listKind":"Widget"}`, "ListKindConflict", `"Widget" is already in use`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := kinds.New(scheme.Builtin(), nil)
			if err := r.SetCRD(first); err != nil {
				t.Fatal(err)
			}
			next, err := r.AcceptNames(second(tt.names))
			var conflict *kinds.NameConflict
			if tt.reason == "NoConflicts" {
				if err != nil {
					t.Fatal(err)
				}
			} else if !errors.As(err, &conflict) || conflict.Reason != tt.reason || conflict.Message != tt.message {
				t.Fatalf("error %v", err)
			}
			got := conditions(t, next)
			want := "NamesAccepted=False " + tt.reason + ": " + tt.message + "\nEstablished=False NotAccepted: not all names are accepted"
			if conflict == nil {
				want = "NamesAccepted=True NoConflicts: no conflicts found\nEstablished=False Installing: the initial names have been accepted"
			}
			if got != want {
				t.Errorf("conditions\n%s\nwant\n%s", got, want)
			}
			if err := r.SetCRD(next); (err != nil) != (conflict != nil) {
				t.Errorf("SetCRD: %v", err)
			}
			group, _, _ := unstructured.NestedString(next.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(next.Object, "spec", "names", "kind")
			served := r.ForKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}) != nil && (kind != "Widget" || group != "example.com")
			if served != (conflict == nil) {
				t.Errorf("served: %v", served)
			}
			// The name is free when the other is gone.
			r.RemoveCRD(first.GetName())
			if next, err = r.AcceptNames(next); err != nil {
				t.Fatal(err)
			}
			if next, err = kinds.Establish(next); err != nil {
				t.Fatal(err)
			}
			if got := conditions(t, next); !strings.Contains(got, "NamesAccepted=True") || !strings.Contains(got, "Established=True InitialNamesAccepted: the initial names have been accepted") {
				t.Errorf("after the other is gone:\n%s", got)
			}
			if again, err := r.AcceptNames(next); err != nil || again != next {
				t.Errorf("nothing is left to do: %v", err)
			}
			if again, err := kinds.Establish(next); err != nil || again != next {
				t.Errorf("nothing is left to do: %v", err)
			}
		})
	}
}

func conditions(t *testing.T, crd *unstructured.Unstructured) string {
	t.Helper()
	list, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions") // null at first
	var lines []string
	for _, c := range list {
		c := c.(map[string]any)
		if c["lastTransitionTime"] == nil {
			t.Errorf("%v has no time", c["type"])
		}
		lines = append(lines, c["type"].(string)+"="+c["status"].(string)+" "+c["reason"].(string)+": "+c["message"].(string))
	}
	return strings.Join(lines, "\n")
}

var prunings = []struct {
	name, schema, spec, want string
	unknown                  []string
}{
	{"unknown fields go", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
		`{"a":{"b":"x","c":1},"d":{"e":2}}`, `{"a":{"b":"x"}}`, []string{"spec.a.c", "spec.d"}},
	{"in lists", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}}}}}`,
		`{"l":[{"k":"x"},{"k":"y","z":1}]}`, `{"l":[{"k":"x"},{"k":"y"}]}`, []string{"spec.l[1].z"}},
	{"in maps", `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","properties":{"k":{"type":"string"}}}}}}`,
		`{"m":{"x":{"k":"1","q":1}}}`, `{"m":{"x":{"k":"1"}}}`, []string{"spec.m.x.q"}},
	{"preserved", `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"p":{"type":"object"}}}`,
		`{"any":{"thing":1},"p":{"gone":1}}`, `{"any":{"thing":1},"p":{}}`, []string{"spec.p.gone"}},
	{"embedded", `{"type":"object","properties":{"pod":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}`,
		`{"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","labels":{"a":"b"},"bad":1},"spec":{},"x":1}}`,
		`{"pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","labels":{"a":"b"}},"spec":{}}}`, []string{"spec.pod.metadata.bad", "spec.pod.x"}},
	{"no metadata below the root", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x","kind":"K","metadata":{}}`, `{"a":"x"}`, []string{"spec.kind", "spec.metadata"}},
	{"preserved items", `{"type":"object","properties":{"l":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","properties":{"o":{"type":"object"}}}}}}`,
		`{"l":[{"any":1,"o":{"gone":1}}]}`, `{"l":[{"any":1,"o":{}}]}`, []string{"spec.l[0].o.gone"}},
	{"int or string", `{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true}}}`, `{"p":80}`, `{"p":80}`, nil},
	{"defaults, also below", `{"type":"object","default":{},"properties":{"n":{"type":"integer","default":3},"o":{"type":"object","default":{},"properties":{"s":{"type":"string","default":"x"}}}}}`,
		`{}`, `{"n":3,"o":{"s":"x"}}`, nil},
	{"defaults in items and values", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"s":{"type":"string","default":"x"}}}},"m":{"type":"object","additionalProperties":{"type":"object","properties":{"s":{"type":"string","default":"y"}}}}}}`,
		`{"l":[{}],"m":{"k":{}}}`, `{"l":[{"s":"x"}],"m":{"k":{"s":"y"}}}`, nil},
	{"null is no value", `{"type":"object","properties":{"d":{"type":"string","default":"x"},"n":{"type":"string"},"ok":{"type":"string","nullable":true,"default":"z"}}}`,
		`{"d":null,"n":null,"ok":null}`, `{"d":"x","ok":null}`, nil},
}

// Contract 6.
func TestCustomObjectsArePrunedAndDefaulted(t *testing.T) {
	for _, tt := range prunings {
		t.Run(tt.name, func(t *testing.T) {
			_, r := serve(t, "v1", crd(t, v1(tt.schema)))
			object := widget(t, tt.spec)
			unknown := r.Custom.Prune(object)
			r.Custom.Default(object)
			if diff := cmp.Diff(tt.unknown, unknown); diff != "" {
				t.Errorf("unknown: %s", diff)
			}
			if diff := cmp.Diff(parse(t, tt.want), object.Object["spec"]); diff != "" {
				t.Errorf("spec: %s", diff)
			}
		})
	}
}

// Contract 4 and 2: only apiVersion changes, and not in the object given.
func TestConversionNoneChangesTheVersionAlone(t *testing.T) {
	_, r := serve(t, "v1", crd(t, v1(`{"type":"object"}`), `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`))
	object := widget(t, `{"a":1}`)
	converted, err := r.Custom.Convert(object, schema.GroupVersion{Group: "example.com", Version: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	if converted.GetAPIVersion() != "example.com/v2" || object.GetAPIVersion() != "example.com/v1" {
		t.Errorf("%s from %s", converted.GetAPIVersion(), object.GetAPIVersion())
	}
	if same, err := r.Custom.Convert(object, schema.GroupVersion{Group: "example.com", Version: "v1"}); err != nil || same != object {
		t.Errorf("a conversion to the same version: %v", err)
	}
	if _, err := r.Custom.Convert(object, schema.GroupVersion{Group: "example.com", Version: "v9"}); err == nil {
		t.Error("a conversion to a version that does not exist")
	}
}

// brokenCRDs are CRDs that the real server refuses, as changes of a good one.
var brokenCRDs = []struct {
	name   string
	change func(spec map[string]any, crd *unstructured.Unstructured)
}{
	{"name", func(_ map[string]any, crd *unstructured.Unstructured) { crd.SetName("gadgets.example.com") }},
	{"group", func(spec map[string]any, crd *unstructured.Unstructured) {
		spec["group"] = "example"
		crd.SetName("widgets.example")
	}},
	{"protected group", func(spec map[string]any, crd *unstructured.Unstructured) {
		spec["group"] = "x.k8s.io"
		crd.SetName("widgets.x.k8s.io")
	}},
	{"scope", func(spec map[string]any, _ *unstructured.Unstructured) { spec["scope"] = "World" }},
	{"kind", func(spec map[string]any, _ *unstructured.Unstructured) { set(spec, "Wid get", "names", "kind") }},
	{"kind and list kind", func(spec map[string]any, _ *unstructured.Unstructured) { set(spec, "Widget", "names", "listKind") }},
	{"short name", func(spec map[string]any, _ *unstructured.Unstructured) { set(spec, []any{"A"}, "names", "shortNames") }},
	{"no version is stored", func(spec map[string]any, _ *unstructured.Unstructured) { version(spec)["storage"] = false }},
	{"version name", func(spec map[string]any, _ *unstructured.Unstructured) { version(spec)["name"] = "V1" }},
	{"no schema", func(spec map[string]any, _ *unstructured.Unstructured) { delete(version(spec), "schema") }},
	{"conversion", func(spec map[string]any, _ *unstructured.Unstructured) {
		spec["conversion"] = map[string]any{"strategy": "Magic"}
	}},
	{"webhook without one", func(spec map[string]any, _ *unstructured.Unstructured) {
		spec["conversion"] = map[string]any{"strategy": "Webhook"}
	}},
	{"column", func(spec map[string]any, _ *unstructured.Unstructured) {
		version(spec)["additionalPrinterColumns"] = []any{map[string]any{"name": "x", "type": "text", "jsonPath": "a", "format": "f"}}
	}},
	{"scale", func(spec map[string]any, _ *unstructured.Unstructured) {
		version(spec)["subresources"] = map[string]any{"scale": map[string]any{"specReplicasPath": ".x", "statusReplicasPath": "n"}}
	}},
	{"deprecation", func(spec map[string]any, _ *unstructured.Unstructured) { version(spec)["deprecationWarning"] = "x" }},
	{"preserve", func(spec map[string]any, _ *unstructured.Unstructured) { spec["preserveUnknownFields"] = true }},
	{"schema type", schemaChange(`{"type":"object","properties":{"a":{"type":"thing"}}}`)},
	{"schema root", schemaChange(`{"type":"array","items":{"type":"string"}}`)},
	{"schema without types", schemaChange(`{"type":"object","properties":{"a":{"description":"x"},"l":{"type":"array","items":{}}}}`)},
	{"list without items", schemaChange(`{"type":"object","properties":{"l":{"type":"array"}}}`)},
	{"properties and additional", schemaChange(`{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":{"type":"string"}}}}`)},
	{"pattern", schemaChange(`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`)},
	{"ref", schemaChange(`{"type":"object","properties":{"a":{"type":"string","$ref":"#/x"}}}`)},
	{"list map without keys", schemaChange(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}}}}`)},
	{"list map with a wrong key", schemaChange(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"v":{"type":"string"}}}}}}`)},
	{"list type", schemaChange(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"bag","items":{"type":"string"}}}}`)},
	{"type in a junctor", schemaChange(`{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"},{"pattern":"x"}]}}}`)},
	{"unique items", schemaChange(`{"type":"object","properties":{"l":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}`)},
	{"default of the wrong type", schemaChange(`{"type":"object","properties":{"a":{"type":"string","default":1}}}`)},
	{"nullable root", schemaChange(`{"type":"object","nullable":true}`)},
	{"metadata", schemaChange(`{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}`)},
}

func set(in map[string]any, value any, path ...string) {
	if err := unstructured.SetNestedField(in, value, path...); err != nil {
		panic(err)
	}
}

func version(spec map[string]any) map[string]any {
	return spec["versions"].([]any)[0].(map[string]any)
}

func schemaChange(text string) func(map[string]any, *unstructured.Unstructured) {
	return func(spec map[string]any, _ *unstructured.Unstructured) {
		var openAPI map[string]any
		if err := json.Unmarshal([]byte(text), &openAPI); err != nil {
			panic(err)
		}
		version(spec)["schema"] = map[string]any{"openAPIV3Schema": openAPI}
	}
}

// A default is the object's own: what becomes of it does not change the next one's.
// Contract 2.
func TestDefaultsAreNotShared(t *testing.T) {
	_, r := serve(t, "v1", crd(t, v1(`{"type":"object","properties":{"o":{"type":"object","default":{"l":[1]},"x-kubernetes-preserve-unknown-fields":true}}}`)))
	first, second := widget(t, `{}`), widget(t, `{}`)
	r.Rules.Default(first)
	set(first.Object, "changed", "spec", "o", "l")
	r.Rules.Default(second)
	if got := mustJSON(second.Object["spec"]); got != `{"o":{"l":[1]}}` {
		t.Errorf("defaults are %s", got)
	}
}

// A conversion has the shape of its version, with defaults where it is stored.
// Contract 6.
func TestConversionTakesTheShapeOfTheVersion(t *testing.T) {
	_, r := serve(t, "v1", crd(t, v1(`{"type":"object","properties":{"n":{"type":"integer","default":3}}}`),
		`{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"m":{"type":"integer","default":4}}}}}}}`))
	v2 := schema.GroupVersion{Group: "example.com", Version: "v2"}
	there, err := r.Rules.Convert(widget(t, `{"n":1}`), v2)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustJSON(there.Object["spec"]); got != `{}` {
		t.Errorf("in v2: %s", got)
	}
	back, err := r.Rules.Convert(there, r.StorageVersion)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustJSON(back.Object["spec"]); got != `{"n":3}` {
		t.Errorf("stored: %s", got)
	}
}

// storedVersions grows, and the status of the live object is not written to. Contract 2.
func TestPrepareAddsTheStorageVersion(t *testing.T) {
	rules := lookup(t, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions").Rules
	status := parse(t, `{"storedVersions":["v1beta1"]}`)
	definition := crd(t, v1(`{"type":"object"}`))
	definition.Object["status"] = status
	rules.Prepare(definition)
	if got := mustJSON(definition.Object["status"]); got != `{"storedVersions":["v1beta1","v1"]}` {
		t.Errorf("status %s", got)
	}
	if got := mustJSON(status); got != `{"storedVersions":["v1beta1"]}` {
		t.Errorf("the live object's status is %s", got)
	}
	rules.Prepare(definition)
	if got := mustJSON(definition.Object["status"]); got != `{"storedVersions":["v1beta1","v1"]}` {
		t.Errorf("status the second time %s", got)
	}
}

// What the real server has said of bad CRDs: see TestE2EBrokenCRDs. Contract 6.
func TestBrokenCRDsAreRefused(t *testing.T) {
	recorded, err := os.ReadFile(brokenFile)
	if err != nil {
		t.Fatal(err)
	}
	rules := lookup(t, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions").Rules
	var got []string
	for _, tt := range brokenCRDs {
		definition := brokenCRD(t, tt.change)
		rules.Prune(definition)
		rules.Default(definition)
		rules.Prepare(definition)
		got = append(got, tt.name)
		for _, cause := range ours(schema.GroupKind{Kind: "CustomResourceDefinition"}, definition, rules, nil) {
			got = append(got, "\t"+cause)
		}
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(recorded)), "\n"), got); diff != "" {
		t.Errorf("-server +ours: %s", diff)
	}
}

const brokenFile = "testdata/broken_crds.txt"

func brokenCRD(t testing.TB, change func(map[string]any, *unstructured.Unstructured)) *unstructured.Unstructured {
	definition := crd(t, `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}`)
	definition.SetUID("")
	change(definition.Object["spec"].(map[string]any), definition)
	return definition
}

// An update keeps what cannot change any more. Contract 6.
func TestUpdatesOfCRDs(t *testing.T) {
	rules := lookup(t, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions").Rules
	old := crd(t, v1(`{"type":"object"}`))
	rules.Default(old)
	rules.Prepare(old)
	old.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Established", "status": "True"}}
	next := old.DeepCopy()
	spec := next.Object["spec"].(map[string]any)
	spec["scope"] = "Cluster"
	set(spec, "Gadget", "names", "kind")
	want := []string{`spec.names.kind: Invalid value: "Gadget": field is immutable`, `spec.scope: Invalid value: "Cluster": field is immutable`}
	if diff := cmp.Diff(want, texts(rules.Validate(next, old))); diff != "" {
		t.Error(diff)
	}
	delete(old.Object["status"].(map[string]any), "conditions")
	if errs := texts(rules.Validate(next, old)); errs != nil {
		t.Errorf("before it is established: %q", errs)
	}
	version(spec)["name"] = "v2"
	if errs := strings.Join(texts(rules.Validate(next, old)), "\n"); !strings.Contains(errs, "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions") {
		t.Errorf("a stored version goes: %s", errs)
	}
}

// causes returns the causes of a Status, sorted, as "field: message (reason)".
func causes(status metav1.Status) []string {
	var lines []string
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", c.Field, c.Message, c.Type))
		}
	}
	slices.Sort(lines)
	return lines
}

func ours(kind schema.GroupKind, object *unstructured.Unstructured, r *kinds.Rules, old *unstructured.Unstructured) []string {
	errs := r.Validate(object, old)
	if len(errs) == 0 {
		return nil
	}
	return causes(apierrors.NewInvalid(kind, object.GetName(), errs).Status())
}
