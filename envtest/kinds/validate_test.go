package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schemaOf is a schema of one field.
func schemaOf(name, property string) string {
	return `{"type":"object","properties":{"` + name + `":` + property + `}}`
}

func texts(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	slices.Sort(texts)
	return texts
}

// The texts are the real server's: see TestE2EValidation, which asks it. Contract 6.
var validations = []struct {
	name, schema, spec string
	want               []string
}{
	{"right", schemaOf("s", `{"type":"string"}`), `{"s":"x"}`, nil},
	{"type", schemaOf("s", `{"type":"string"}`), `{"s":1}`,
		[]string{`spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"`}},
	{"type of an object", schemaOf("o", `{"type":"object"}`), `{"o":"x"}`,
		[]string{`spec.o: Invalid value: "string": spec.o in body must be of type object: "string"`}},
	{"enum", schemaOf("s", `{"type":"string","enum":["a","b"]}`), `{"s":"c"}`,
		[]string{`spec.s: Unsupported value: "c": supported values: "a", "b"`}},
	{"enum of numbers", schemaOf("n", `{"type":"integer","enum":[1,2]}`), `{"n":3}`,
		[]string{`spec.n: Unsupported value: 3: supported values: "1", "2"`}},
	{"enum with the number", schemaOf("n", `{"type":"integer","enum":[1,2]}`), `{"n":2}`, nil},
	{"pattern", schemaOf("s", `{"type":"string","pattern":"^a+$"}`), `{"s":"b"}`,
		[]string{`spec.s: Invalid value: "b": spec.s in body should match '^a+$'`}},
	{"length", schemaOf("s", `{"type":"string","maxLength":2}`), `{"s":"abc"}`,
		[]string{`spec.s: Too long: may not be more than 2 bytes`}},
	{"short", schemaOf("s", `{"type":"string","minLength":2}`), `{"s":"a"}`,
		[]string{`spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long`}},
	{"bounds", schemaOf("n", `{"type":"integer","minimum":1,"maximum":3}`), `{"n":4}`,
		[]string{`spec.n: Invalid value: 4: spec.n in body should be less than or equal to 3`}},
	{"multiple", schemaOf("n", `{"type":"integer","multipleOf":2}`), `{"n":3}`,
		[]string{`spec.n: Invalid value: 3: spec.n in body should be a multiple of 2`}},
	{"required", `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":"x"}`,
		[]string{`spec.b: Required value`}},
	{"items", schemaOf("l", `{"type":"array","maxItems":1,"items":{"type":"integer"}}`), `{"l":[1,2]}`,
		[]string{`spec.l: Too many: 2: must have at most 1 item`}},
	{"item", schemaOf("l", `{"type":"array","items":{"type":"integer"}}`), `{"l":[1,"x"]}`,
		[]string{`spec.l[1]: Invalid value: "string": spec.l[1] in body must be of type integer: "string"`}},
	{"properties", schemaOf("m", `{"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}}`), `{"m":{"a":"1","b":"2"}}`,
		[]string{`spec.m: Too many: 2: must have at most 1 item`}},
	{"format", schemaOf("s", `{"type":"string","format":"date"}`), `{"s":"x"}`,
		[]string{`spec.s: Invalid value: "x": spec.s in body must be of type date: "x"`}},
	{"unknown format", schemaOf("s", `{"type":"string","format":"nonsense"}`), `{"s":"x"}`, nil},
	{"int or string", schemaOf("p", `{"x-kubernetes-int-or-string":true}`), `{"p":true}`,
		[]string{`spec.p: Invalid value: "boolean": spec.p in body must be of type integer,string: "boolean"`}},
	{"one of", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":"x","b":"y"}`,
		[]string{`<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives`}},
	{"set", schemaOf("l", `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`), `{"l":["a","b","a"]}`,
		[]string{`spec.l[2]: Duplicate value: "a"`}},
	{"map", schemaOf("l", `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}}`),
		`{"l":[{"k":"a","v":"1"},{"k":"a","v":"2"}]}`, []string{`spec.l[1]: Duplicate value: {"k":"a"}`}},
	{"embedded", schemaOf("o", `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`), `{"o":{"apiVersion":"a/b/c","metadata":{"name":"-"}}}`,
		[]string{`spec.o.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`, `spec.o.kind: Required value`}},
	{"nullable", schemaOf("s", `{"type":"string","nullable":true}`), `{"s":null}`, nil},
	{"several", `{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer","minimum":1}}}`, `{"a":1,"n":0}`,
		[]string{`spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"`, `spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1`}},
}

func TestCustomObjectsAreValidated(t *testing.T) {
	for _, tt := range validations {
		t.Run(tt.name, func(t *testing.T) {
			_, r := serve(t, "v1", crd(t, v1(tt.schema)))
			if diff := cmp.Diff(tt.want, texts(r.Custom.Validate(widget(t, tt.spec), nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Contract 6: a status write is judged by the status alone, and a write by the kind.
func TestStatusIsValidatedByItself(t *testing.T) {
	_, r := serve(t, "v1", crd(t, v1(schemaOf("n", `{"type":"integer"}`))))
	object := unstructuredObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"n":"bad"},"status":{"phase":"Sideways"}}`)
	want := []string{`status.phase: Unsupported value: "Sideways": supported values: "Up", "Down"`}
	if diff := cmp.Diff(want, texts(r.Custom.ValidateStatus(object, nil))); diff != "" {
		t.Error(diff)
	}
	object.SetKind("Gadget")
	if diff := cmp.Diff([]string{`kind: Invalid value: "Gadget": must be Widget`}, texts(r.Custom.Validate(object, nil))); diff != "" {
		t.Error(diff)
	}
}

// Contract 6: what was wrong and has not changed passes.
func TestUpdatesAreRatcheted(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string","maxLength":2},"b":{"type":"string"},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":2}}}},
		"a2":{"type":"array","items":{"type":"object","properties":{"v":{"type":"string","maxLength":2}}}},"l":{"type":"array","items":{"type":"string","maxLength":2}},"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}`
	tests := []struct{ name, old, next, want string }{
		{"a field as it was", `{"a":"long","b":"1"}`, `{"a":"long","b":"2"}`, ""},
		{"a field that changes", `{"a":"long"}`, `{"a":"longer"}`, "spec.a: Too long"},
		{"an item found by its key", `{"m":[{"k":"x","v":"long"}]}`, `{"m":[{"k":"n","v":"1"},{"k":"x","v":"long"}]}`, ""},
		{"an item that changes", `{"m":[{"k":"x","v":"long"}]}`, `{"m":[{"k":"x","v":"longer"}]}`, "spec.m[0].v: Too long"},
		{"a list as it was", `{"l":["long"],"b":"1"}`, `{"l":["long"],"b":"2"}`, ""},
		{"a list that changes", `{"l":["long"]}`, `{"l":["long","x"]}`, "spec.l[0]: Too long"},
		{"an atomic list of objects that changes", `{"a2":[{"v":"long"}]}`, `{"a2":[{"v":"long"},{"v":"1"}]}`, "spec.a2[0].v: Too long"},
		{"a set that was none", `{"s":["a","a"],"b":"1"}`, `{"s":["a","a"],"b":"2"}`, ""},
		{"a set that is none any more", `{"s":["a"]}`, `{"s":["a","a"]}`, "spec.s[1]: Duplicate value"},
	}
	_, r := serve(t, "v1", crd(t, v1(schema)))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(texts(r.Custom.Validate(widget(t, tt.next), widget(t, tt.old))), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("errors %q, want %q", got, tt.want)
			}
		})
	}
}
