package decode

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// jsonSource is the text that is being decoded, and what its decoders share.
type jsonSource struct {
	jsonCursor
	jsonText
	hasher   *hasher
	interner *interner
}

func newJSONObjects(d *Decoder) *jsonObjects {
	source := &jsonSource{hasher: &d.hasher, interner: &d.interner}
	o := &jsonObjects{jsonSource: source, d: d, walker: newJSONWalker(source), metadata: d.hasher.salt("json metadata")}
	o.typed = &jsonTyped{jsonSource: source, walker: o.walker, yes: new(true), no: new(false)}
	obj := d.fresh()
	if _, o.isUnstructured = obj.(*unstructured.Unstructured); o.isUnstructured {
		return o
	}
	if typ := reflect.TypeOf(obj); typ.Kind() == reflect.Pointer {
		plans := &jsonPlans{hasher: &d.hasher, plans: map[reflect.Type]*jsonPlan{}}
		if p := plans.plan(typ.Elem()); p.form == jsonStruct {
			o.plan = p
		}
	}
	return o
}

func (d *Decoder) decodeJSON(data []byte) (kind string, obj Object, err error) {
	if d.objects == nil {
		d.objects = newJSONObjects(d)
	}
	d.parts = d.parts[:0]
	obj, ok := d.objects.decode(data)
	if !ok {
		d.parts = d.parts[:0]
		obj = d.fresh()
		if kind, err = d.slowJSON(data, obj); err != nil {
			return kind, nil, err
		}
	}
	d.remember(obj, len(data))
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetKind(), obj, nil // also beside an apiVersion that is none
	}
	return obj.GetObjectKind().GroupVersionKind().Kind, obj, nil
}

// slowJSON decodes data with sigs.k8s.io/json.
func (d *Decoder) slowJSON(data []byte, obj Object) (kind string, err error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		var content map[string]any
		if err = kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err == nil {
			u.SetUnstructuredContent(content)
		}
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, obj)
	}
	if err != nil {
		var claimed metav1.TypeMeta
		_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &claimed) // as much as can be read
		return claimed.Kind, err
	}
	if d.dropManagedFields {
		obj.SetManagedFields(nil)
	}
	return "", nil
}
