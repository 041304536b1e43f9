package envtest

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"governor/client"
	"governor/envtest/kinds"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxShapes is how many shapes are remembered; then they are forgotten all at once.
const maxShapes = 1 << 12

// shapes remember which fields whoever creates an object owns. To find that out takes
// about as long as all the rest of a create, and tests create
// many objects that differ in nothing but values, which do not matter: two
// objects of the same shape have the same fields.
type shapes struct {
	mu    sync.Mutex
	known map[shape]metav1.FieldsV1 // +checklocks:mu without bytes: none
}

// shape is what of an object says which fields it has; see appendShape.
type shape struct {
	resource *kinds.Resource
	fields   string
}

// recall gives a new object its managedFields, if its shape is known. It returns the
// shape for remember; none if the object has managedFields of its own.
func (s *shapes) recall(w *write, obj client.Object) (shape, bool) {
	if w.subresource != "" || len(obj.GetManagedFields()) > 0 {
		return shape{}, false
	}
	v := reflect.ValueOf(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		v = reflect.ValueOf(u.Object)
	}
	b, ok := appendShape(make([]byte, 0, 128), v, false)
	if !ok {
		return shape{}, false
	}
	s.mu.Lock()
	fields, ok := s.known[shape{w.resource, string(b)}]
	s.mu.Unlock()
	if !ok {
		return shape{w.resource, string(b)}, false
	}
	obj.SetManagedFields(nil)
	if fields.Size() > 0 {
		now := metav1.NewTime(time.Now().UTC())
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager:    managerOrUnknown(w.manager),
			Operation:  metav1.ManagedFieldsOperationUpdate,
			APIVersion: w.resource.GroupVersionKind.GroupVersion().String(),
			Time:       &now,
			FieldsType: "FieldsV1",
			FieldsV1:   &fields,
		}})
	}
	return shape{}, true
}

// remember keeps which fields an object of a shape, that is not yet known, has.
func (s *shapes) remember(of shape, obj client.Object) {
	if of.resource == nil {
		return
	}
	var fields metav1.FieldsV1
	switch entries := obj.GetManagedFields(); {
	case len(entries) == 1 && entries[0].FieldsV1 != nil:
		fields = *entries[0].FieldsV1
	case len(entries) != 0:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxShapes {
		s.known = map[shape]metav1.FieldsV1{}
	}
	s.known[of] = fields
}

// managerOrUnknown is how a manager without a name is called.
func managerOrUnknown(manager string) string {
	if manager == "" {
		return "unknown"
	}
	return manager
}

var (
	timeType         = reflect.TypeFor[time.Time]()
	rawExtensionType = reflect.TypeFor[runtime.RawExtension]()
)

// appendShape appends what two objects have in common if and, as far as is
// cheap, only if they have the same fields: which fields are set, the keys of maps, but not
// values. An item of a list may be known by its values, so below a list they
// count too (deep). It returns false if it cannot tell.
func appendShape(b []byte, v reflect.Value, deep bool) ([]byte, bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, '0'), true
		}
		if v.Kind() == reflect.Interface { // what has no Go type may be of any
			b = append(b, byte(v.Elem().Kind()))
		}
		return appendShape(append(b, '1'), v.Elem(), deep)
	case reflect.Struct:
		return appendStructShape(b, v, deep)
	case reflect.Map:
		return appendMapShape(b, v, deep)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // a string, as JSON
			if deep {
				b = appendString(b, string(v.Bytes()))
			}
			return b, true
		}
		b = binary.AppendUvarint(b, uint64(v.Len()))
		ok := true
		for i := 0; i < v.Len() && ok; i++ {
			b, ok = appendShape(b, v.Index(i), true)
		}
		return b, ok
	}
	if !deep {
		return b, true
	}
	switch v.Kind() {
	case reflect.String:
		return appendString(b, v.String()), true
	case reflect.Bool:
		if v.Bool() {
			return append(b, 't'), true
		}
		return append(b, 'f'), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint()), true
	case reflect.Float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float())), true
	}
	return b, false
}

func appendStructShape(b []byte, v reflect.Value, deep bool) ([]byte, bool) {
	switch t := v.Type(); {
	case (t == timeType || t == rawExtensionType) && !v.CanInterface():
		return b, false
	case t == timeType:
		if deep {
			b = binary.AppendVarint(b, v.Interface().(time.Time).UnixNano())
		}
		return b, true
	case t == rawExtensionType: // any JSON
		raw := v.Interface().(runtime.RawExtension)
		return appendString(b, string(raw.Raw)), raw.Object == nil
	}
	ok := true
	for i := 0; i < v.NumField() && ok; i++ {
		if field := v.Field(i); !field.IsZero() { // otherwise it is left out, or always there
			b, ok = appendShape(append(b, byte(i+1)), field, deep)
		}
	}
	return append(b, 0), ok
}

func appendMapShape(b []byte, v reflect.Value, deep bool) ([]byte, bool) {
	if v.Type().Key().Kind() != reflect.String {
		return b, false
	}
	b = binary.AppendUvarint(b, uint64(v.Len()))
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	ok := true
	for _, key := range keys {
		if b, ok = appendShape(appendString(b, key.String()), v.MapIndex(key), deep); !ok {
			return b, false
		}
	}
	return b, true
}

// appendString appends a string and, before it, its length.
func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
