package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const schemaRef = "#/components/schemas/"

// OpenAPI returns the OpenAPI v3 document of a group version, as JSON: for a CRD
// with its schemas, for CustomResourceDefinitions with the real server's. For
// other built-in kinds the fields are those of their Go types: enough for kubectl explain, but
// without the rules that values are under. It is nil if the version is not served.
func (r *Registry) OpenAPI(gv schema.GroupVersion) ([]byte, error) {
	paths, schemas := map[string]any{}, map[string]any{}
	for _, resource := range r.All() {
		if resource.GroupVersionResource.GroupVersion() == gv {
			maps.Copy(paths, resource.openAPIPaths())
			schemas[schemaName(resource.GroupVersionKind)] = r.openAPISchema(resource, schemas)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	addReferred(schemas, schemas)
	text, err := json.Marshal(map[string]any{
		"openapi":    "3.0.0",
		"info":       map[string]any{"title": "Kubernetes", "version": "v1.37.0"},
		"paths":      paths,
		"components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %v: %w", gv, err)
	}
	return text, nil
}

// addReferred adds to schemas the recorded ones that a part of the document refers to.
func addReferred(schemas map[string]any, part any) {
	switch x := part.(type) {
	case map[string]any:
		if name, ok := refName(x); ok && schemas[name] == nil && recordedSchemas()[name] != nil {
			schemas[name] = recordedSchemas()[name]
			addReferred(schemas, schemas[name])
		}
		for _, name := range slices.Collect(maps.Keys(x)) {
			addReferred(schemas, x[name])
		}
	case []any:
		for _, value := range x {
			addReferred(schemas, value)
		}
	}
}

// openAPISchema returns a resource's schema, and adds to schemas those that it needs.
func (r *Registry) openAPISchema(resource *Resource, schemas typedSchemas) map[string]any {
	kind := resource.GroupVersionKind
	switch {
	case kind == crdKind:
		return recordedSchemas()[crdSchema]
	case resource.Custom != nil:
		return publishedSchema(kind, resource.Custom.openAPI, resource.Custom.openAPI == nil)
	}
	object, err := r.typed.scheme.New(kind)
	if err != nil {
		return publishedSchema(kind, nil, true)
	}
	typed := schemas.object(reflect.TypeOf(object).Elem())
	typed["x-kubernetes-group-version-kind"] = []any{gvkOf(kind)}
	return typed
}

// schemaName is the name of a kind's schema: com.example.v1.Widget.
func schemaName(gvk schema.GroupVersionKind) string {
	switch {
	case gvk == crdKind:
		return crdSchema
	case gvk.Group == "":
		return "io.k8s.api.core." + gvk.Version + "." + gvk.Kind
	case !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io"):
		group, _, _ := strings.Cut(gvk.Group, ".")
		return "io.k8s.api." + group + "." + gvk.Version + "." + gvk.Kind
	}
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, gvk.Version, gvk.Kind), ".")
}

// publishedSchema is the schema of a kind as clients get it: with apiVersion, kind,
// metadata, and the kind's name.
func publishedSchema(gvk schema.GroupVersionKind, openAPI map[string]any, preserve bool) map[string]any {
	published, _ := withMetadata(openAPI).(map[string]any)
	if published == nil {
		published = map[string]any{}
	}
	published["type"] = "object"
	if preserve {
		published["x-kubernetes-preserve-unknown-fields"] = true
	}
	addMetadata(published)
	published["x-kubernetes-group-version-kind"] = []any{gvkOf(gvk)}
	return published
}

// withMetadata copies a schema, and gives embedded resources their metadata.
func withMetadata(openAPI any) any {
	switch x := openAPI.(type) {
	case map[string]any:
		if x == nil {
			return x
		}
		y := make(map[string]any, len(x)+3)
		for name, value := range x {
			y[name] = withMetadata(value)
		}
		if yes, _ := x["x-kubernetes-embedded-resource"].(bool); yes {
			addMetadata(y)
		}
		return y
	case []any:
		y := make([]any, len(x))
		for i, value := range x {
			y[i] = withMetadata(value)
		}
		return y
	default:
		return x
	}
}

func addMetadata(openAPI map[string]any) {
	properties, ok := openAPI["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		openAPI["properties"] = properties
	}
	properties["apiVersion"] = map[string]any{"type": "string"}
	properties["kind"] = map[string]any{"type": "string"}
	properties["metadata"] = map[string]any{"$ref": schemaRef + objectMetaSchema}
}

func gvkOf(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// openAPIPaths returns the paths of a resource and its subresources.
func (r *Resource) openAPIPaths() map[string]any {
	base := "/apis/" + r.GroupVersionResource.GroupVersion().String()
	if r.GroupVersionResource.Group == "" {
		base = "/api/" + r.GroupVersionResource.Version
	}
	if r.Namespaced {
		base += "/namespaces/{namespace}"
	}
	base += "/" + r.GroupVersionResource.Resource
	paths := map[string]any{}
	add := func(path string, kind schema.GroupVersionKind, verbs []string, operations map[string]string) {
		item := map[string]any{}
		for verb, method := range operations {
			if slices.Contains(verbs, verb) {
				item[method] = operation(verb, kind)
			}
		}
		if len(item) > 0 {
			paths[path] = item
		}
	}
	one := map[string]string{"get": "get", "update": "put", "patch": "patch", "delete": "delete"}
	add(base, r.GroupVersionKind, r.Verbs, map[string]string{"list": "get", "create": "post", "deletecollection": "delete"})
	add(base+"/{name}", r.GroupVersionKind, r.Verbs, one)
	for name, sub := range r.Subresources {
		add(base+"/{name}/"+name, sub.Kind, sub.Verbs, one)
	}
	return paths
}

// operation is what a document says of one method of a path.
func operation(verb string, kind schema.GroupVersionKind) map[string]any {
	action := map[string]string{"create": "post", "update": "put"}[verb]
	if action == "" {
		action = verb
	}
	names := map[string][]string{
		"create": {"dryRun", "fieldManager", "fieldValidation"},
		"update": {"dryRun", "fieldManager", "fieldValidation"},
		"patch":  {"dryRun", "fieldManager", "fieldValidation", "force"},
		"delete": {"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"},
		"list":   {"continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"},
	}[verb]
	parameters := []any{}
	for _, name := range names {
		kind := "string"
		switch name {
		case "force", "orphanDependents", "sendInitialEvents", "watch":
			kind = "boolean"
		case "gracePeriodSeconds", "limit", "timeoutSeconds":
			kind = "integer"
		}
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": kind, "uniqueItems": true}})
	}
	return map[string]any{
		"parameters":                      parameters,
		"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
		"x-kubernetes-action":             action,
		"x-kubernetes-group-version-kind": gvkOf(kind),
	}
}
