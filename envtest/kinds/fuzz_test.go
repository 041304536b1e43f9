package kinds_test

import (
	"encoding/json"
	"testing"

	"governor/envtest/kinds"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Whatever stands in a schema, a CRD or an object: nothing panics, pruning and
// defaulting twice is the same as once, and what is given only to be looked at
// stays as it was. Contract 2 and 7.
func FuzzSchemasAndObjects(f *testing.F) {
	for _, tt := range validations {
		f.Add(tt.schema, tt.spec, "{}")
	}
	for _, tt := range prunings {
		f.Add(tt.schema, tt.spec, tt.want)
	}
	for _, garbage := range []string{`{"type":5}`, `{"items":[{}],"type":"array"}`, `{"$ref":"#/a"}`, `{"additionalProperties":{"$ref":"x"}}`, `{"pattern":"(","type":"string"}`,
		`{"type":"object","default":{"a":1},"additionalProperties":true}`, `{"multipleOf":0,"type":"integer"}`, `{"maximum":1e400}`, `{"enum":[null,{}]}`, `{"x-kubernetes-list-map-keys":"a"}`,
		`{"type":["string","object"]}`, `{"not":{"not":{}}}`, `{"dependencies":{"a":["b"],"c":{}}}`, `{"properties":{"a":null}}`, `null`} {
		f.Add(garbage, `{"a":[{"b":null}],"c":"x","d":1.5}`, `{"a":null}`)
	}
	crds := lookup(f, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions")
	f.Fuzz(func(t *testing.T, schemaText, spec, oldSpec string) {
		var openAPI, now, before any
		for text, into := range map[string]*any{schemaText: &openAPI, spec: &now, oldSpec: &before} {
			if utiljson.Unmarshal([]byte(text), into) != nil {
				return
			}
		}
		definition := crd(t, v1(`{"type":"object"}`), `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`)
		properties := definition.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
		properties["spec"] = openAPI
		crds.Rules.Prune(definition)
		crds.Rules.Default(definition)
		crds.Rules.Prepare(definition)
		text := mustJSON(definition)
		crds.Rules.Validate(definition, nil)
		r := kinds.New(scheme.Builtin(), nil)
		err := r.SetCRD(definition)
		if mustJSON(definition) != text {
			t.Fatalf("the CRD has been written to: %s, before %s", mustJSON(definition), text)
		}
		if err != nil {
			return
		}
		tryObject(t, r.ForKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}), now, before)
		if _, err := r.OpenAPI(schema.GroupVersion{Group: "example.com", Version: "v1"}); err != nil {
			t.Fatal(err)
		}
		if mustJSON(definition) != text {
			t.Fatalf("the CRD has been written to: %s, before %s", mustJSON(definition), text)
		}
	})
}

func tryObject(t *testing.T, r *kinds.Resource, now, before any) {
	object := func(spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}, "spec": spec, "status": spec}}
	}
	next, old := object(now).DeepCopy(), object(before).DeepCopy()
	r.Rules.Prune(next)
	if unknown := r.Rules.Prune(next); unknown != nil {
		t.Fatalf("pruned, and there is more: %q", unknown)
	}
	r.Rules.Default(next)
	once := mustJSON(next)
	r.Rules.Default(next)
	if twice := mustJSON(next); twice != once {
		t.Fatalf("defaults are not the same twice: %s, then %s", once, twice)
	}
	r.Rules.Validate(next, nil)
	r.Rules.Validate(next, old)
	r.Rules.ValidateStatus(next, old)
	if _, err := r.Rules.Convert(next, schema.GroupVersion{Group: "example.com", Version: "v2"}); err != nil {
		t.Fatal(err)
	}
	if after := mustJSON(next); after != once {
		t.Fatalf("the object has been written to: %s, before %s", after, once)
	}
	// Objects that their schema does not take are errors.
	for _, subresource := range []string{"", "status"} {
		_, _ = r.FieldManager(subresource).Update(old, next.DeepCopy(), "me")
		_, _ = r.FieldManager(subresource).Apply(old, next.DeepCopy(), "me", true)
	}
}

// A CRD of any content is judged, and never panics. Contract 7.
func FuzzCRDs(f *testing.F) {
	for _, tt := range brokenCRDs {
		definition := crd(f, v1(`{"type":"object"}`))
		tt.change(definition.Object["spec"].(map[string]any), definition)
		f.Add(mustJSON(definition))
	}
	f.Add(`{"spec":{"versions":[null]},"status":{"conditions":[{}]}}`)
	f.Add(`{"spec":{"conversion":{"webhook":{"clientConfig":{"service":{}}}}}}`)
	rules := lookup(f, builtin, "apiextensions.k8s.io", "v1", "customresourcedefinitions").Rules
	f.Fuzz(func(t *testing.T, text string) {
		var content map[string]any
		if utiljson.Unmarshal([]byte(text), &content) != nil || content == nil {
			return
		}
		definition := &unstructured.Unstructured{Object: content}
		rules.Prune(definition)
		rules.Default(definition)
		rules.Prepare(definition)
		before := mustJSON(definition)
		rules.Validate(definition, nil)
		rules.Validate(definition, definition)
		rules.ValidateStatus(definition, definition)
		r := kinds.New(scheme.Builtin(), nil)
		next, _ := r.AcceptNames(definition)
		next, _ = kinds.Establish(next)
		_ = r.SetCRD(next)
		for _, resource := range r.All()[len(builtin.All()):] {
			_ = json.Valid([]byte(mustJSON(resource.GroupVersionKind)))
			resource.FieldManager("")
		}
		if after := mustJSON(definition); after != before {
			t.Fatalf("written to: %s, before %s", after, before)
		}
	})
}
