package envtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"governor/client"
	"governor/envtest/kinds"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// unstructuredKind says whether a resource's objects are unstructured: custom
// ones, and CustomResourceDefinitions.
func unstructuredKind(r *kinds.Resource) bool {
	return r.Rules != nil
}

// definitionKind is the one built-in kind without a Go type.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// unstructuredFormats are the formats of a custom object's body.
var unstructuredFormats = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}

// decodeUnstructured reads the body of a custom object, and makes it what its
// schema says.
func (s *Server) decodeUnstructured(c *call, data []byte, fieldValidation string) (client.Object, error) {
	mediaType := c.mediaType()
	if !slices.Contains(unstructuredFormats, mediaType) {
		return nil, errUnknownFormat(unstructuredFormats...)
	}
	kind := c.resource.GroupVersionKind
	object, faults, err := parseUnstructured(data, mediaType, kind)
	if err != nil {
		return nil, err
	}
	if err := checkUnstructuredKind(object, kind); err != nil {
		return nil, err
	}
	more, err := coerce(c.resource, object)
	if err != nil {
		return nil, errUndecodable(kind, kind, data, err)
	}
	return object, c.judge(kind, append(faults, more...), fieldValidation)
}

// parseUnstructured reads JSON or YAML; faults are duplicate fields.
func parseUnstructured(data []byte, mediaType string, kind schema.GroupVersionKind) (*unstructured.Unstructured, []error, error) {
	var faults []error
	original := data
	if mediaType == runtime.ContentTypeYAML {
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil, nil, errUndecodable(schema.GroupVersionKind{}, kind, original, err)
		}
		if _, err := yaml.YAMLToJSONStrict(data); err != nil {
			faults = append(faults, err)
		}
		data = converted
	}
	var typeMeta runtime.TypeMeta
	if err := json.Unmarshal(data, &typeMeta); err != nil {
		return nil, nil, errUndecodable(schema.GroupVersionKind{}, kind, original,
			fmt.Errorf("couldn't get version/kind; json parse error: %w", err))
	}
	if typeMeta.Kind == "" {
		// A definition's kind may be left out, as with any built-in kind.
		if kind != definitionKind {
			return nil, nil, errUndecodable(schema.GroupVersionKind{}, kind, original,
				runtime.NewMissingKindErr(string(bytes.TrimSpace(data))))
		}
	}
	content := map[string]any{}
	strict, err := kjson.UnmarshalStrict(data, &content, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, nil, errUndecodable(typeMeta.GroupVersionKind(), kind, original, err)
	}
	object := &unstructured.Unstructured{Object: content}
	if typeMeta.Kind == "" {
		object.SetGroupVersionKind(kind)
	}
	return object, append(faults, strict...), nil
}

// checkUnstructuredKind refuses an object of another kind than the path's.
func checkUnstructuredKind(object *unstructured.Unstructured, kind schema.GroupVersionKind) error {
	actual := object.GroupVersionKind()
	if actual.GroupVersion() != kind.GroupVersion() {
		return errVersionInData(actual.GroupVersion(), kind.GroupVersion())
	}
	if actual.Kind != kind.Kind {
		return apierrors.NewInvalid(actual.GroupKind(), object.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), actual.Kind, "must be "+kind.Kind),
		})
	}
	return nil
}

// coerce makes an object what its schema says: metadata of the right types, no
// unknown fields, defaults filled in. It returns what it has dropped.
func coerce(r *kinds.Resource, object *unstructured.Unstructured) (unknown []error, err error) {
	unknown, err = coerceMetadata(object)
	if err != nil || r.Rules == nil {
		return unknown, err
	}
	for _, path := range r.Rules.Prune(object) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", path))
	}
	r.Rules.Default(object)
	return unknown, nil
}

// coerceMetadata keeps of the metadata what ObjectMeta has, and fails if a field
// is of another type.
func coerceMetadata(object *unstructured.Unstructured) (unknown []error, err error) {
	content, exists := object.Object["metadata"]
	if !exists {
		return nil, nil
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	var metadata metav1.ObjectMeta
	faults, err := kjson.UnmarshalStrict(data, &metadata, kjson.DisallowUnknownFields)
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		// Paths begin at the object.
		if path, ok := strings.CutPrefix(fault.Error(), `unknown field "`); ok {
			fault = errors.New(`unknown field "metadata.` + path)
		}
		unknown = append(unknown, fault)
	}
	coerced, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metadata)
	if err != nil {
		return nil, err
	}
	if metadata.CreationTimestamp.IsZero() {
		delete(coerced, "creationTimestamp")
	}
	// What says that managed fields are to be forgotten is an empty list.
	if metadata.ManagedFields != nil && len(metadata.ManagedFields) == 0 {
		coerced["managedFields"] = []any{}
	}
	object.Object["metadata"] = coerced
	return unknown, nil
}
