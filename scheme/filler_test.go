package scheme_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fill gives every field of an object a random value that survives the wire:
// no empty slice or map (JSON drops them), no part of a second where the format
// has none.
func fill(object runtime.Object, r *rand.Rand) {
	fillValue(reflect.ValueOf(object).Elem(), r, 0)
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}

func fillValue(v reflect.Value, r *rand.Rand, depth int) {
	if fillKnown(v, r) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", r.IntN(1000)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Int32()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.IntN(1000)) / 4)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillValue(v.Field(i), r, depth+1)
			}
		}
	case reflect.Pointer:
		if depth < 8 && r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(v.Elem(), r, depth+1)
		}
	case reflect.Slice:
		if depth < 8 && r.IntN(4) > 0 {
			n := 1 + r.IntN(2)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillValue(v.Index(i), r, depth+1)
			}
		}
	case reflect.Map:
		if depth < 8 && r.IntN(4) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillValue(key, r, depth+1)
			fillValue(value, r, depth+1)
			v.SetMapIndex(key, value)
		}
	}
}

// fillKnown fills the types that have their own idea of their format.
func fillKnown(v reflect.Value, r *rand.Rand) bool {
	second := time.Unix(int64(r.Int32()), 0)
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta: // the codec's business
	case *metav1.Time:
		*p = metav1.Time{Time: second}
	case *metav1.MicroTime:
		*p = metav1.MicroTime{Time: second.Add(time.Duration(r.IntN(1e6)) * time.Microsecond)}
	case *metav1.Duration:
		p.Duration = time.Duration(r.IntN(1e6)) * time.Millisecond
	case *metav1.FieldsV1:
		p.SetRawBytes(fmt.Appendf(nil, `{"f:a%d":{}}`, r.IntN(1000)))
	case *resource.Quantity:
		*p = resource.MustParse(fmt.Sprintf("%dMi", 1+r.IntN(1000)))
	case *intstr.IntOrString:
		*p = intstr.FromInt32(r.Int32N(1000))
		if r.IntN(2) == 0 {
			*p = intstr.FromString("50%")
		}
	case *runtime.RawExtension:
		p.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Anything","n":%d}`, r.IntN(1000))
	default:
		return false
	}
	return true
}
