package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// validationSchema makes of a CRD's schema what kube-openapi validates with: an
// int-or-string is either, and a format that the server does not know is none.
func validationSchema(openAPI map[string]any) (*spec.Schema, error) {
	s, err := parseSchema(openAPI)
	if err != nil {
		return nil, err
	}
	eachSchema(s, func(s *spec.Schema) {
		if s.Ref.String() != "" {
			err = errors.New("schema: $ref is not supported") // validation would panic
		}
		if yes, _ := s.Extensions["x-kubernetes-int-or-string"].(bool); yes {
			s.Type = spec.StringOrArray{"integer", "string"}
		}
		if !knownFormat(s) {
			s.Format = ""
		}
	})
	return s, err
}

// parseSchema reads a schema as it stands in a CRD.
func parseSchema(openAPI map[string]any) (*spec.Schema, error) {
	text, err := json.Marshal(openAPI)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// eachSchema visits a schema and all schemas in it.
func eachSchema(s *spec.Schema, visit func(*spec.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			eachSchema(&list[i], visit)
		}
	}
	eachSchema(s.Not, visit)
	for _, properties := range []map[string]spec.Schema{s.Properties, s.PatternProperties, s.Definitions} {
		for name, property := range properties {
			eachSchema(&property, visit)
			properties[name] = property
		}
	}
	for _, either := range []*spec.SchemaOrBool{s.AdditionalProperties, s.AdditionalItems} {
		if either != nil {
			eachSchema(either.Schema, visit)
		}
	}
	if s.Items != nil {
		eachSchema(s.Items.Schema, visit)
		for i := range s.Items.Schemas {
			eachSchema(&s.Items.Schemas[i], visit)
		}
	}
	for name, dependency := range s.Dependencies {
		eachSchema(dependency.Schema, visit)
		s.Dependencies[name] = dependency
	}
}

// stringFormats are the formats of strings that a server validates.
var stringFormats = []string{
	"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
	"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration",
	"datetime", "k8sshortname", "k8slongname",
}

func knownFormat(s *spec.Schema) bool {
	kind := ""
	if len(s.Type) == 1 {
		kind = s.Type[0]
	}
	switch kind {
	case "", "string":
		return slices.Contains(stringFormats, strings.ReplaceAll(s.Format, "-", ""))
	case "integer":
		return s.Format == "int32" || s.Format == "int64"
	case "number":
		return s.Format == "float" || s.Format == "double"
	default:
		return false
	}
}

// hasRules says whether there are CEL rules anywhere in a schema.
func hasRules(openAPI any) bool {
	switch x := openAPI.(type) {
	case map[string]any:
		for name, value := range x {
			if name == "x-kubernetes-validations" || hasRules(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, hasRules)
	}
	return false
}
