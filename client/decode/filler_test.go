package decode

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler fills values of any Go type at random, as far as they can be
// marshalled.
type filler struct{ *rand.Rand }

func newFiller(seed uint64) *filler { return &filler{rand.New(rand.NewPCG(seed, 4))} }

func (f *filler) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		if f.IntN(4) > 0 {
			*p = metav1.Unix(f.Int64N(1<<32), 0)
		}
		return
	case *metav1.MicroTime:
		if f.IntN(4) > 0 {
			*p = metav1.NewMicroTime(time.Unix(f.Int64N(1<<32), f.Int64N(1e6)*1000))
		}
		return
	case *resource.Quantity:
		*p = resource.MustParse(strconv.Itoa(f.IntN(1000)) + []string{"", "m", "Mi", "G", "e3"}[f.IntN(5)])
		return
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(f.number()))
		if f.IntN(2) == 0 {
			*p = intstr.FromString(f.text())
		}
		return
	case *metav1.FieldsV1:
		p.SetRawBytes([]byte(`{"f:spec":{}}`))
		return
	case *runtime.RawExtension:
		p.Raw = []byte(`{"a":` + strconv.Itoa(f.IntN(3)) + `}`)
		return
	case *metav1.TypeMeta:
		return
	}
	f.fillKind(v, depth)
}

func (f *filler) fillKind(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(f.number()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.number())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.Float64())
	case reflect.Pointer:
		if depth > 0 && f.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 && f.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(4), 4))
			for i := range v.Len() {
				f.fill(v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		if depth > 0 && f.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range f.IntN(4) {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(key, depth-1)
				f.fill(elem, depth-1)
				v.SetMapIndex(key, elem)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Kind() != reflect.Interface {
				f.fill(v.Field(i), depth-1)
			}
		}
	}
}

func (f *filler) text() string {
	switch f.IntN(6) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("ü", f.IntN(200))
	}
	return "text-" + strconv.Itoa(f.IntN(50))
}

// number is of any size, and mostly small.
func (f *filler) number() uint64 {
	return f.Uint64() >> f.IntN(64)
}
