package kinds

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validator checks the objects of one version of a CRD.
type validator struct {
	kind       schema.GroupVersionKind
	structural *structural
	schema     *spec.Schema // nil: anything goes
	scale      *scaleSubresource
	// unchecked says that there are CEL rules, which we do not evaluate.
	unchecked bool
}

// newValidator fails if a schema is none that can validate.
func newValidator(kind schema.GroupVersionKind, openAPI map[string]any, scale *scaleSubresource) (*validator, error) {
	v := &validator{kind: kind, structural: compileStructural(openAPI), scale: scale, unchecked: hasRules(openAPI)}
	if openAPI == nil {
		return v, nil
	}
	var err error
	v.schema, err = validationSchema(openAPI)
	return v, err
}

// validate checks a whole object; old is its state before an update, or nil.
func (v *validator) validate(object, old *unstructured.Unstructured) field.ErrorList {
	if errs := v.validateKind(object); errs != nil {
		return errs
	}
	var errs field.ErrorList
	if _, err := readMetadata(object.Object); err != nil {
		return append(errs, field.Invalid(field.NewPath("metadata"), object.Object["metadata"], err.Error()))
	}
	var before any
	if old != nil {
		before = old.Object
	}
	errs = append(errs, v.validateValue(nil, v.schema, v.structural, object.Object, before)...)
	errs = append(errs, v.validateScale(object, true)...)
	errs = append(errs, validateEmbedded(nil, object.Object, v.structural)...)
	errs = append(errs, v.validateLists(object, old)...)
	return v.withUnchecked(errs)
}

// validateStatus checks the status of an object alone.
func (v *validator) validateStatus(object, old *unstructured.Unstructured) field.ErrorList {
	if errs := v.validateKind(object); errs != nil {
		return errs
	}
	var errs field.ErrorList
	if status, ok := object.Object["status"]; ok && v.schema != nil {
		if s, ok := v.schema.Properties["status"]; ok {
			var before any
			if old != nil {
				before = old.Object["status"]
			}
			errs = v.validateValue(field.NewPath("status"), &s, v.structural.of("status"), status, before)
		}
	}
	errs = append(errs, v.validateScale(object, false)...)
	errs = append(errs, v.validateLists(object, old)...)
	return v.withUnchecked(errs)
}

// validateLists checks list-type set and map. An update of an object that was wrong before may leave it so.
func (v *validator) validateLists(object, old *unstructured.Unstructured) field.ErrorList {
	errs := validateListTypes(nil, object.Object, v.structural)
	if len(errs) > 0 && old != nil && len(validateListTypes(nil, old.Object, v.structural)) > 0 {
		return nil
	}
	return errs
}

// withUnchecked adds what the real server says if CEL rules exist and errors keep it from evaluating them.
func (v *validator) withUnchecked(errs field.ErrorList) field.ErrorList {
	blocking := []field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}
	if v.unchecked && slices.ContainsFunc(errs, func(err *field.Error) bool { return slices.Contains(blocking, err.Type) }) {
		errs = append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	return errs
}

func (v *validator) validateKind(object *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	if got := object.GetKind(); got != v.kind.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), got, "must be "+v.kind.Kind))
	}
	if got, want := object.GetAPIVersion(), v.kind.GroupVersion().String(); got != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), got, "must be "+want))
	}
	return errs
}

// validateScale checks the values that the scale subresource shows.
func (v *validator) validateScale(object *unstructured.Unstructured, withSpec bool) field.ErrorList {
	if v.scale == nil {
		return nil
	}
	paths := []string{v.scale.StatusReplicasPath}
	if withSpec {
		paths = []string{v.scale.SpecReplicasPath, v.scale.StatusReplicasPath}
	}
	var errs field.ErrorList
	for _, path := range paths {
		replicas, _, err := unstructured.NestedInt64(object.Object, splitPath(path)...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, err.Error()))
		case replicas < 0:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer"))
		case replicas > math.MaxInt32:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
		}
	}
	if path := v.scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(object.Object, splitPath(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

// splitPath returns the fields of a path like .spec.replicas.
func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// validateValue checks a value against a schema. What an update leaves as it was
// may be wrong.
func (v *validator) validateValue(at *field.Path, s *spec.Schema, shape *structural, value, old any) field.ErrorList {
	if s == nil {
		return nil
	}
	if old == nil {
		return fieldErrors(at, validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value))
	}
	r := &ratchet{schema: s, formats: strfmt.Default, value: value, old: old, shape: shape}
	return fieldErrors(at, r.Validate(value))
}

// fieldErrors words the errors of kube-openapi as the real server does.
func fieldErrors(at *field.Path, result *validate.Result) field.ErrorList {
	var errs field.ErrorList
	for _, err := range result.Errors {
		fault, ok := err.(*openapierrors.Validation)
		if !ok {
			errs = append(errs, field.Invalid(at, "", err.Error()))
			continue
		}
		where := at
		if name := strings.TrimPrefix(fault.Name, "."); name != "" {
			where = at.Child(name)
		}
		value := fault.Value
		if value == nil {
			value = ""
		}
		switch fault.Code() {
		case openapierrors.RequiredFailCode:
			errs = append(errs, field.Required(where, ""))
		case openapierrors.EnumFailCode:
			errs = append(errs, field.NotSupported(where, fault.Value, enumTexts(fault.Values)))
		case openapierrors.TooLongFailCode:
			errs = append(errs, field.TooLong(where, "", bound(fault.Valid)))
		case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
			errs = append(errs, field.TooMany(where, bound(fault.Value), bound(fault.Valid)))
		case openapierrors.InvalidTypeCode:
			errs = append(errs, field.TypeInvalid(where, value, fault.Error()))
		default:
			errs = append(errs, field.Invalid(where, value, fault.Error()))
		}
	}
	return errs
}

// bound is a limit in an error; -1 if there is none to tell.
func bound(value any) int {
	if i, ok := value.(int64); ok {
		return int(i)
	}
	return -1
}

func enumTexts(values []any) []string {
	texts := []string{}
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				b = fmt.Append(nil, value)
			}
			text = string(b)
		}
		texts = append(texts, text)
	}
	return texts
}
