package kinds

import (
	"maps"
	"reflect"
	"strings"
)

// typedSchemas makes OpenAPI schemas of Go types: which fields there are, of which types, and what
// their documentation says. What a Go type does not say they leave out: which fields are required, the rules that
// values are under, and how lists are merged. It makes one schema of each struct, under its name.
type typedSchemas map[string]any

// The methods by which Go types say how they look in an API.
type (
	documented interface{ SwaggerDoc() map[string]string }
	formatted  interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
)

// object returns the schema of a struct.
func (s typedSchemas) object(t reflect.Type) map[string]any {
	properties, docs := map[string]any{}, docsOf(t)
	s.fields(t, docs, properties)
	schema := map[string]any{"type": "object", "properties": properties}
	if text := docs[""]; text != "" {
		schema["description"] = text
	}
	return schema
}

// fields adds those of a struct, and of the structs that it includes.
func (s typedSchemas) fields(t reflect.Type, docs map[string]string, properties map[string]any) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			if field.Anonymous && field.Type.Kind() == reflect.Struct {
				included := maps.Clone(docs)
				maps.Copy(included, docsOf(field.Type))
				s.fields(field.Type, included, properties)
			}
			continue
		}
		schema := s.value(field.Type)
		if text := docs[name]; text != "" {
			schema["description"] = text
		}
		properties[name] = schema
	}
}

// value returns the schema of what a field has: a struct is only referred to.
func (s typedSchemas) value(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Struct:
		return map[string]any{"allOf": []any{map[string]any{"$ref": schemaRef + s.define(t)}}}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.value(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return withFormat("string", "byte")
		}
		return map[string]any{"type": "array", "items": s.value(t.Elem())}
	case reflect.Bool:
		return withFormat("boolean", "")
	case reflect.Int32:
		return withFormat("integer", "int32")
	case reflect.Int, reflect.Int64:
		return withFormat("integer", "int64")
	case reflect.Float64:
		return withFormat("number", "double")
	case reflect.String:
		return withFormat("string", "")
	}
	return map[string]any{} // anything
}

func withFormat(kind, format string) map[string]any {
	if format == "" {
		return map[string]any{"type": kind}
	}
	return map[string]any{"type": kind, "format": format}
}

// define makes the schema of a struct, once, unless the real server's is recorded. It returns its name.
func (s typedSchemas) define(t reflect.Type) string {
	name := typeName(t)
	if s[name] == nil && recordedSchemas()[name] == nil {
		s[name] = map[string]any{} // for types that contain themselves
		s[name] = s.whole(t)
	}
	return name
}

// whole returns the schema of a struct, which need not look like one.
func (s typedSchemas) whole(t reflect.Type) map[string]any {
	if f, ok := reflect.New(t).Interface().(formatted); ok {
		if types := f.OpenAPISchemaType(); len(types) > 0 {
			return withFormat(types[0], f.OpenAPISchemaFormat())
		}
	}
	return s.object(t)
}

// typeName is the name of a Go type's schema: io.k8s.api.core.v1.Pod.
func typeName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	name := strings.ReplaceAll(path, "/", ".") + "." + t.Name()
	for part := range strings.SplitSeq(host, ".") {
		name = part + "." + name
	}
	return name
}

func docsOf(t reflect.Type) map[string]string {
	if d, ok := reflect.New(t).Interface().(documented); ok {
		return d.SwaggerDoc()
	}
	return map[string]string{}
}
