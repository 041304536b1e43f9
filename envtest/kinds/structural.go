package kinds

import (
	"strings"
)

// structural is a schema as pruning and defaulting see it: the shape of the data.
// What restricts values is left to validation. It never changes once it is
// compiled; that of CRDs themselves has cycles.
type structural struct {
	properties map[string]*structural
	items      *structural
	// additional is the schema of the values of a map; anything goes with
	// additionalProperties: true, then it is a preserving one.
	additional *structural

	preserve bool // x-kubernetes-preserve-unknown-fields
	embedded bool // x-kubernetes-embedded-resource
	nullable bool
	fallback any    // the default, shared: copy it
	listType string // x-kubernetes-list-type
	mapKeys  []string
}

// compileStructural reads a schema. Whatever is not of the type that it should
// be is passed over: validation has its say before.
func compileStructural(openAPI map[string]any) *structural {
	return (&structuralCompiler{}).compile(openAPI)
}

// structuralCompiler compiles schemas that refer to others by name.
type structuralCompiler struct {
	schemas  map[string]map[string]any
	compiled map[string]*structural
}

func (c *structuralCompiler) compile(openAPI map[string]any) *structural {
	if name, ok := refName(openAPI); ok && c.schemas[name] != nil {
		if known := c.compiled[name]; known != nil {
			return known
		}
		s := &structural{}
		c.compiled[name] = s // before its parts, which may refer to it
		*s = *c.compile(c.schemas[name])
		return s
	}
	s := &structural{fallback: openAPI["default"]}
	s.preserve, _ = openAPI["x-kubernetes-preserve-unknown-fields"].(bool)
	s.embedded, _ = openAPI["x-kubernetes-embedded-resource"].(bool)
	s.nullable, _ = openAPI["nullable"].(bool)
	s.listType, _ = openAPI["x-kubernetes-list-type"].(string)
	keys, _ := openAPI["x-kubernetes-list-map-keys"].([]any)
	for _, key := range keys {
		if name, ok := key.(string); ok {
			s.mapKeys = append(s.mapKeys, name)
		}
	}
	if properties, ok := openAPI["properties"].(map[string]any); ok {
		s.properties = make(map[string]*structural, len(properties))
		for name, property := range properties {
			if property, ok := property.(map[string]any); ok {
				s.properties[name] = c.compile(property)
			}
		}
	}
	if items, ok := openAPI["items"].(map[string]any); ok {
		s.items = c.compile(items)
	}
	if c.schemas != nil && s.properties == nil && s.items == nil && openAPI["additionalProperties"] == nil {
		s.preserve = true // a recorded schema says no more where anything goes
	}
	switch additional := openAPI["additionalProperties"].(type) {
	case map[string]any:
		s.additional = c.compile(additional)
	case bool:
		if additional {
			s.additional = &structural{}
		}
	}
	return s
}

// refName returns the name of the schema that this one stands for, either by
// itself or, with a description or a default of its own, as its only allOf.
func refName(openAPI map[string]any) (string, bool) {
	if all, ok := openAPI["allOf"].([]any); ok && len(all) == 1 {
		openAPI, _ = all[0].(map[string]any)
	}
	ref, _ := openAPI["$ref"].(string)
	return strings.CutPrefix(ref, "#/components/schemas/")
}

// of returns the schema of a field, nil if it is unknown.
func (s *structural) of(field string) *structural {
	if s == nil {
		return nil
	}
	if property := s.properties[field]; property != nil {
		return property
	}
	return s.additional
}
