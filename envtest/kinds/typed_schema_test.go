package kinds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"governor/envtest/kinds"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// document is what an OpenAPI document says of schemas.
type document struct {
	Components struct {
		Schemas map[string]jsonSchema `json:"schemas"`
	} `json:"components"`
}

type jsonSchema struct {
	Ref         string                `json:"$ref"`
	AllOf       []jsonSchema          `json:"allOf"`
	OneOf       []jsonSchema          `json:"oneOf"`
	Type        string                `json:"type"`
	Format      string                `json:"format"`
	Description string                `json:"description"`
	Items       *jsonSchema           `json:"items"`
	Additional  *jsonSchema           `json:"additionalProperties"`
	Properties  map[string]jsonSchema `json:"properties"`
}

// String is a type: array of string/date-time.
func (s *jsonSchema) String() string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/components/schemas/")
	case len(s.AllOf) == 1:
		return s.AllOf[0].String()
	case s.Items != nil:
		return "array of " + s.Items.String()
	case s.Additional != nil:
		return "map of " + s.Additional.String()
	case s.Format != "":
		return s.Type + "/" + s.Format
	}
	return s.Type
}

// TestE2EFieldsAreTheRealServers compares the fields of all built-in kinds, and their types.
func TestE2EFieldsAreTheRealServers(t *testing.T) {
	s := realServer(t)
	r := kinds.New(scheme.Builtin(), nil)
	seen := map[schema.GroupVersion]bool{}
	for _, resource := range r.All() {
		gv := resource.GroupVersionKind.GroupVersion()
		if seen[gv] {
			continue
		}
		seen[gv] = true
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.Version
		}
		var ours, real document
		text, err := r.OpenAPI(gv)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &ours); err != nil {
			t.Fatal(err)
		}
		s.get(t, "/openapi/v3/"+path, &real, "application/json")
		for _, name := range slices.Sorted(maps.Keys(ours.Components.Schemas)) {
			want, ok := real.Components.Schemas[name]
			if !ok {
				t.Errorf("%s: the real server has no schema %s", path, name)
				continue
			}
			for _, diff := range differences(ours.Components.Schemas[name], want) {
				t.Errorf("%s: %s.%s", path, name, diff)
			}
		}
	}
}

func differences(ours, real jsonSchema) (diffs []string) {
	for _, field := range slices.Sorted(maps.Keys(real.Properties)) {
		got, ok := ours.Properties[field]
		want := real.Properties[field]
		switch {
		case !ok:
			diffs = append(diffs, field+" is missing")
		case got.String() != want.String() && len(want.OneOf) == 0:
			diffs = append(diffs, fmt.Sprintf("%s is %s, want %s", field, &got, &want))
		case (got.Description == "") != (want.Description == ""):
			diffs = append(diffs, fmt.Sprintf("%s: description %q, want %q", field, got.Description, want.Description))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(ours.Properties)) {
		if _, ok := real.Properties[field]; !ok {
			diffs = append(diffs, field+" is too much")
		}
	}
	return diffs
}
