package kinds

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// ratchet validates one value of an update beside what it was before: errors in what has
// not changed are passed over, so that a schema may become stricter. It goes down
// with kube-openapi, which asks for a validator for each field and each item.
type ratchet struct {
	schema  *spec.Schema
	root    any
	path    string
	formats strfmt.Registry

	value, old any
	shape      *structural
}

var _ validate.ValueValidator = (*ratchet)(nil)

// Validate implements validate.ValueValidator.
func (r *ratchet) Validate(value any) *validate.Result {
	below := func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField, o.NewValidatorForIndex = r.field, r.index
	}
	result := validate.NewSchemaValidator(r.schema, r.root, r.path, r.formats, below).Validate(value)
	if !result.IsValid() && unchanged(r.value, r.old, r.shape) {
		passed := &validate.Result{}
		passed.MergeAsWarnings(result)
		return passed
	}
	return result
}

// SetPath implements validate.ValueValidator.
func (r *ratchet) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (r *ratchet) Applies(any, reflect.Kind) bool { return true }

func (r *ratchet) field(name string, s *spec.Schema, root any, path string, formats strfmt.Registry, opts ...validate.Option) validate.ValueValidator {
	value, old, ok := fieldOf(r.value, r.old, name)
	shape := r.shape.of(name)
	if !ok || shape == nil || r.path == "" && (name == "kind" || name == "apiVersion") {
		return validate.NewSchemaValidator(s, root, path, formats, opts...)
	}
	return &ratchet{s, root, path, formats, value, old, shape}
}

func (r *ratchet) index(i int, s *spec.Schema, root any, path string, formats strfmt.Registry, opts ...validate.Option) validate.ValueValidator {
	value, old, ok := itemOf(r.value, r.old, i, r.shape)
	if !ok {
		return validate.NewSchemaValidator(s, root, path, formats, opts...)
	}
	return &ratchet{s, root, path, formats, value, old, r.shape.items}
}

// fieldOf returns a field of two maps that both have it.
func fieldOf(value, old any, name string) (x, y any, ok bool) {
	now, _ := value.(map[string]any)
	before, _ := old.(map[string]any)
	x, here := now[name]
	y, there := before[name]
	return x, y, here && there
}

// itemOf returns an item of a list and the one that it was before, which only a
// list of type map can tell.
func itemOf(value, old any, i int, shape *structural) (x, y any, ok bool) {
	now, _ := value.([]any)
	before, _ := old.([]any)
	if shape == nil || shape.listType != "map" || shape.items == nil || i >= len(now) {
		return nil, nil, false
	}
	key, ok := mapKey(now[i], shape)
	if !ok {
		return nil, nil, false
	}
	at := slices.IndexFunc(before, func(item any) bool {
		other, ok := mapKey(item, shape)
		return ok && other == key
	})
	if at < 0 {
		return nil, nil, false
	}
	return now[i], before[at], true
}

// unchanged says whether two values are the same; the order of a list of type map
// is of no account.
func unchanged(value, old any, shape *structural) bool {
	switch x := value.(type) {
	case map[string]any:
		y, ok := old.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name := range x {
			before, found := y[name]
			if !found || !unchanged(x[name], before, shape.of(name)) {
				return false
			}
		}
		return true
	case []any:
		y, ok := old.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			before := y[i]
			if _, then, ok := itemOf(x, y, i, shape); ok {
				before = then
			}
			var items *structural
			if shape != nil {
				items = shape.items
			}
			if !unchanged(x[i], before, items) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(value, old)
	}
}
