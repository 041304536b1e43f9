package kinds

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schemasJSON has the OpenAPI schemas of CustomResourceDefinitions and of the types
// of metadata, recorded from a real server: see table_e2e_test.go.
//
//go:embed schemas.json
var schemasJSON []byte

// The names under which the recording has them.
const (
	metaPrefix       = "io.k8s.apimachinery.pkg.apis.meta.v1."
	objectMetaSchema = metaPrefix + "ObjectMeta"
	crdSchema        = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
)

// recordedSchemas parses the recording, once per process; it is never written to.
var recordedSchemas = sync.OnceValue(func() map[string]map[string]any {
	var schemas map[string]map[string]any
	if err := utiljson.Unmarshal(schemasJSON, &schemas); err != nil {
		panic("kinds: schemas.json: " + err.Error()) // embedded: our own mistake
	}
	return schemas
})

// recordedStructural is a recorded schema as pruning sees it.
func recordedStructural(name string) *structural {
	c := &structuralCompiler{schemas: recordedSchemas(), compiled: map[string]*structural{}}
	return c.compile(map[string]any{"$ref": "#/components/schemas/" + name})
}

var metadataStructural = sync.OnceValue(func() *structural { return recordedStructural(objectMetaSchema) })

// readMetadata returns the metadata of an object, or why it cannot be read.
func readMetadata(object map[string]any) (*metav1.ObjectMeta, error) {
	meta := &metav1.ObjectMeta{}
	raw := object["metadata"]
	if raw == nil {
		return meta, nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected map[string]interface{}, got %T", raw)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, meta); err != nil {
		return nil, err
	}
	return meta, nil
}

// validateEmbedded checks the apiVersion, kind and metadata of each object that
// a field with x-kubernetes-embedded-resource holds.
func validateEmbedded(at *field.Path, x any, s *structural) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	switch x := x.(type) {
	case map[string]any:
		if s.embedded {
			errs = append(errs, validateEmbeddedResource(at, x)...)
		}
		for name, value := range x {
			if property := s.properties[name]; property != nil {
				errs = append(errs, validateEmbedded(at.Child(name), value, property)...)
			} else {
				errs = append(errs, validateEmbedded(at.Key(name), value, s.additional)...)
			}
		}
	case []any:
		for i, value := range x {
			errs = append(errs, validateEmbedded(at.Index(i), value, s.items)...)
		}
	}
	return errs
}

func validateEmbeddedResource(at *field.Path, object map[string]any) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"apiVersion", "kind"} {
		value, found := object[name]
		text, ok := value.(string)
		switch {
		case !found:
			errs = append(errs, field.Required(at.Child(name), ""))
		case !ok:
			errs = append(errs, field.Invalid(at.Child(name), value, "must be a string"))
		case text == "":
			errs = append(errs, field.Invalid(at.Child(name), text, "must not be empty"))
		case name == "kind":
			if wrong := utilvalidation.IsDNS1035Label(strings.ToLower(text)); len(wrong) > 0 {
				errs = append(errs, field.Invalid(at.Child(name), text, "may have mixed case, but should otherwise match: "+strings.Join(wrong, ",")))
			}
		default:
			if _, err := schema.ParseGroupVersion(text); err != nil {
				errs = append(errs, field.Invalid(at.Child(name), text, err.Error()))
			}
		}
	}
	meta, err := readMetadata(object)
	if err != nil {
		return append(errs, field.Invalid(at.Child("metadata"), object["metadata"], err.Error()))
	}
	if meta.Name == "" {
		meta.Name = "fakename" // it may go without
	}
	return append(errs, validation.ValidateObjectMeta(meta, meta.Namespace != "", pathSegment, at.Child("metadata"))...)
}

// pathSegment is which names an embedded object, of whatever kind, may have.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
