package kinds

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validateStructural checks that a schema is one by which objects can be pruned,
// defaulted and validated: each field has one type, which logical junctors
// only restrict.
func validateStructural(at *field.Path, openAPI map[string]any) field.ErrorList {
	s, err := parseSchema(openAPI)
	if err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	var errs field.ErrorList
	switch {
	case s.Type == nil && !extension(s, "x-kubernetes-preserve-unknown-fields"):
		errs = append(errs, field.Required(at.Child("type"), "must not be empty at the root"))
	case s.Type != nil && !s.Type.Contains("object"):
		errs = append(errs, field.Invalid(at.Child("type"), typeOf(s), "must be object at the root"))
	}
	if s.AdditionalProperties != nil {
		errs = append(errs, field.Forbidden(at.Child("additionalProperties"), "must not be used at the root"))
	}
	if s.Nullable {
		errs = append(errs, field.Forbidden(at.Child("nullable"), "nullable cannot be true at the root"))
	}
	if metadata, ok := s.Properties["metadata"]; ok && !restrictsNamesOnly(&metadata) {
		errs = append(errs, field.Forbidden(at.Child("properties").Key("metadata"),
			"must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
	errs = append(errs, validateShape(at, s)...)
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return compareErrors(a, b) })
	return errs
}

// restrictsNamesOnly says whether a schema of metadata says nothing but how an object
// may be named.
func restrictsNamesOnly(s *spec.Schema) bool {
	for name := range s.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	return s.AdditionalProperties == nil && len(s.Required) == 0 && !s.Nullable && len(s.Extensions) == 0
}

func compareErrors(a, b *field.Error) int {
	switch x, y := a.Error(), b.Error(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// schemaTypes are the types that a schema may have.
var schemaTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// validateShape checks one schema outside of junctors, and those in it.
func validateShape(at *field.Path, s *spec.Schema) field.ErrorList {
	errs := validateKeywords(at, s)
	if list := s.Items; list != nil && list.Schema != nil {
		errs = append(errs, validateTyped(at.Child("items"), list.Schema, "array items")...)
	} else if s.Type.Contains("array") {
		errs = append(errs, field.Required(at.Child("items"), "must be specified"))
	}
	for name, property := range s.Properties {
		errs = append(errs, validateTyped(at.Child("properties").Key(name), &property, "object fields")...)
	}
	if s.AdditionalProperties != nil {
		if len(s.Properties) > 0 {
			errs = append(errs, field.Forbidden(at.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
		}
		if s.AdditionalProperties.Schema != nil {
			errs = append(errs, validateTyped(at.Child("additionalProperties"), s.AdditionalProperties.Schema, "object fields")...)
		}
	}
	if extension(s, "x-kubernetes-embedded-resource") && !s.Type.Contains("object") {
		errs = append(errs, field.Invalid(at.Child("type"), typeOf(s), "must be object if x-kubernetes-embedded-resource is true"))
	}
	errs = append(errs, validateListExtensions(at, s)...)
	errs = append(errs, validateDefault(at.Child("default"), s)...)
	return append(errs, validateJunctors(at, s)...)
}

// validateTyped checks a schema that has to say its type.
func validateTyped(at *field.Path, s *spec.Schema, of string) field.ErrorList {
	var errs field.ErrorList
	if len(s.Type) == 0 && !extension(s, "x-kubernetes-int-or-string") && !extension(s, "x-kubernetes-preserve-unknown-fields") {
		errs = append(errs, field.Required(at.Child("type"), "must not be empty for specified "+of))
	}
	return append(errs, validateShape(at, s)...)
}

// validateKeywords checks what a schema may say anywhere.
func validateKeywords(at *field.Path, s *spec.Schema) field.ErrorList {
	var errs field.ErrorList
	for _, name := range s.Type {
		if !slices.Contains(schemaTypes, name) {
			errs = append(errs, field.NotSupported(at.Child("type"), name, schemaTypes))
		}
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			errs = append(errs, field.Invalid(at.Child("pattern"), s.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
		}
	}
	if s.Ref.String() != "" {
		errs = append(errs, field.Forbidden(at.Child("$ref"), "$ref is not supported"))
	}
	if s.UniqueItems {
		errs = append(errs, field.Forbidden(at.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
	}
	if s.Items != nil && len(s.Items.Schemas) > 0 {
		errs = append(errs, field.Forbidden(at.Child("items"), "items must be a schema object and not an array"))
	}
	for _, unsupported := range []struct {
		name string
		used bool
	}{
		{"id", s.ID != ""},
		{"additionalItems", s.AdditionalItems != nil},
		{"patternProperties", len(s.PatternProperties) > 0},
		{"definitions", len(s.Definitions) > 0},
		{"dependencies", len(s.Dependencies) > 0},
	} {
		if unsupported.used {
			errs = append(errs, field.Forbidden(at.Child(unsupported.name), unsupported.name+" is not supported"))
		}
	}
	return errs
}

// validateDefault checks that a default is one that its schema takes.
func validateDefault(at *field.Path, s *spec.Schema) field.ErrorList {
	if s.Default == nil {
		return nil
	}
	var openAPI map[string]any
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &openAPI)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	checked, err := validationSchema(openAPI)
	if err != nil || !patternsCompile(checked) {
		return nil // said elsewhere
	}
	var value any // with whole numbers as integers
	if text, err = json.Marshal(s.Default); err == nil {
		err = utiljson.Unmarshal(text, &value)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return fieldErrors(at, validate.NewSchemaValidator(checked, nil, "", strfmt.Default).Validate(value))
}

// patternsCompile says whether validation can use a schema's patterns.
func patternsCompile(s *spec.Schema) bool {
	ok := true
	eachSchema(s, func(s *spec.Schema) {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			ok = false
		}
	})
	return ok
}

// validateListExtensions checks x-kubernetes-list-type, its keys, and map-type.
func validateListExtensions(at *field.Path, s *spec.Schema) field.ErrorList {
	var errs field.ErrorList
	if kind, ok := s.Extensions.GetString("x-kubernetes-map-type"); ok && kind != "atomic" && kind != "granular" {
		errs = append(errs, field.NotSupported(at.Child("x-kubernetes-map-type"), kind, []string{"atomic", "granular"}))
	}
	kind, ok := s.Extensions.GetString("x-kubernetes-list-type")
	keys, _ := s.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	switch {
	case !ok && len(keys) > 0:
		return append(errs, field.Required(at.Child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"))
	case !ok:
		return errs
	case !slices.Contains([]string{"atomic", "set", "map"}, kind):
		return append(errs, field.NotSupported(at.Child("x-kubernetes-list-type"), kind, []string{"atomic", "set", "map"}))
	case !s.Type.Contains("array"):
		return append(errs, field.Invalid(at.Child("type"), typeOf(s), "must be array if x-kubernetes-list-type is specified"))
	case kind != "map":
		return errs
	case len(keys) == 0:
		return append(errs, field.Required(at.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
	case s.Items == nil || s.Items.Schema == nil || !s.Items.Schema.Type.Contains("object"):
		return append(errs, field.Invalid(at.Child("items", "type"), "", "must be object if parent array's x-kubernetes-list-type is map"))
	}
	for _, key := range keys {
		if _, ok := s.Items.Schema.Properties[key]; !ok {
			errs = append(errs, field.Invalid(at.Child("x-kubernetes-list-map-keys"), keys, "entries must all be names of item properties"))
		}
	}
	return errs
}

// validateJunctors checks that allOf and its like only restrict values.
func validateJunctors(at *field.Path, s *spec.Schema) field.ErrorList {
	var errs field.ErrorList
	either := extension(s, "x-kubernetes-int-or-string")
	for name, list := range map[string][]spec.Schema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		for i := range list {
			if either && (name == "anyOf" && isIntOrString(list) || name == "allOf" && i == 0 && isIntOrString(list[0].AnyOf)) {
				continue
			}
			errs = append(errs, validateRestriction(at.Child(name).Index(i), &list[i])...)
		}
	}
	if s.Not != nil {
		errs = append(errs, validateRestriction(at.Child("not"), s.Not)...)
	}
	return errs
}

// isIntOrString says whether an anyOf says what x-kubernetes-int-or-string says.
func isIntOrString(list []spec.Schema) bool {
	return len(list) == 2 && list[0].Type.Contains("integer") && list[1].Type.Contains("string")
}

// validateRestriction checks one schema inside of a junctor.
func validateRestriction(at *field.Path, s *spec.Schema) field.ErrorList {
	errs := validateKeywords(at, s)
	for _, forbidden := range []struct {
		name string
		used bool
		must string
	}{
		{"type", len(s.Type) > 0, "empty"},
		{"additionalProperties", s.AdditionalProperties != nil, "undefined"},
		{"default", s.Default != nil, "undefined"},
		{"title", s.Title != "", "empty"},
		{"description", s.Description != "", "empty"},
		{"nullable", s.Nullable, "false"},
		{"x-kubernetes-preserve-unknown-fields", extension(s, "x-kubernetes-preserve-unknown-fields"), "false"},
		{"x-kubernetes-embedded-resource", extension(s, "x-kubernetes-embedded-resource"), "false"},
		{"x-kubernetes-int-or-string", extension(s, "x-kubernetes-int-or-string"), "false"},
	} {
		if forbidden.used {
			errs = append(errs, field.Forbidden(at.Child(forbidden.name), "must be "+forbidden.must+" to be structural"))
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		errs = append(errs, validateRestriction(at.Child("items"), s.Items.Schema)...)
	}
	for name, property := range s.Properties {
		errs = append(errs, validateRestriction(at.Child("properties").Key(name), &property)...)
	}
	return append(errs, validateJunctors(at, s)...)
}

func extension(s *spec.Schema, name string) bool {
	yes, _ := s.Extensions[name].(bool)
	return yes
}

func typeOf(s *spec.Schema) string {
	if len(s.Type) == 0 {
		return ""
	}
	return s.Type[0]
}
