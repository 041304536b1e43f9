package decode

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// builtin returns the Go types of all kinds that have protobuf and metadata.
func builtin() map[schema.GroupVersionKind]reflect.Type {
	types := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		obj := reflect.New(typ).Interface()
		_, isObject := obj.(Object)
		if _, ok := obj.(message); ok && isObject {
			types[gvk] = typ
		}
	}
	return types
}

func freshOf(typ reflect.Type) func() Object {
	return func() Object { return reflect.New(typ).Interface().(Object) }
}

func marshal(t testing.TB, obj any) []byte {
	t.Helper()
	data, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// check fails if d makes something else of data than the generated Unmarshal.
func check(t testing.TB, d *Decoder, data []byte) Object {
	t.Helper()
	want := d.fresh()
	wantErr := want.(message).Unmarshal(data)
	if d.dropManagedFields {
		want.SetManagedFields(nil)
	}
	given := bytes.Clone(data)
	got, err := d.Protobuf(given)
	for i := range given {
		given[i] = 0xff // Contract 3
	}
	if wantErr != nil {
		if d.dropManagedFields && err == nil {
			return nil // what was skipped may have been wrong
		}
		if err == nil || err.Error() != wantErr.Error() {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		return nil
	}
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("decoded otherwise than by the generated Unmarshal:\n%s", cmp.Diff(want, got))
	}
	return got
}

// Contract 1, for each type that the API has; Contract 3.
func TestEveryBuiltinTypeIsDecodedAsByItsUnmarshal(t *testing.T) {
	types := builtin()
	if len(types) < 100 {
		t.Fatalf("there are %d types only", len(types))
	}
	for gvk, typ := range types {
		t.Run(gvk.String(), func(t *testing.T) {
			t.Parallel()
			f := newFiller(7)
			all, dropping := New(freshOf(typ), nil), New(freshOf(typ), &Options{DropManagedFields: true})
			for range 8 {
				obj := reflect.New(typ)
				f.fill(obj.Elem(), 10)
				data := marshal(t, obj.Interface())
				for range 2 { // the second time the object is known
					check(t, all, data)
					check(t, dropping, data)
				}
				if !all.messages.object(all.fresh(), data) {
					t.Fatal("this was left to the generated Unmarshal")
				}
			}
		})
	}
}

// Contract 1: what generated code never writes, but other servers may.
func TestUnusualMessagesAreDecodedAsByUnmarshal(t *testing.T) {
	pod := newPods(t)(0)
	plain := marshal(t, pod)
	meta, status := find(plain, 1), find(plain, 3)
	// A tag is the number<<3 | the wire type; that of numbers is 0.
	field := func(tag byte, value []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag}, uint64(len(value))), value...)
	}
	for name, data := range map[string][]byte{
		"nothing":                       {},
		"fields in another order":       slices.Concat(field(3<<3|2, status), field(1<<3|2, meta)),
		"a message twice is merged":     slices.Concat(plain, field(3<<3|2, field(1<<3|2, []byte("Failed")))),
		"a part twice":                  slices.Concat(field(1<<3|2, meta), field(1<<3|2, meta)),
		"a string twice":                field(3<<3|2, slices.Concat(field(1<<3|2, []byte("a")), field(1<<3|2, []byte("b")))),
		"a repeated field in two parts": field(3<<3|2, slices.Concat(field(2<<3|2, nil), field(1<<3|2, []byte("b")), field(2<<3|2, nil))),
		"unknown fields":                slices.Concat(plain, field(9<<3|2, meta), []byte{10 << 3, 0x80, 1, 11<<3 | 5, 1, 2, 3, 4, 11<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}),
		"an unknown group":              slices.Concat(plain, []byte{9<<3 | 3, 1 << 3, 5, 9<<3 | 4}),
		"an end of no group":            slices.Concat(plain, []byte{9<<3 | 4}),
		"field number zero":             slices.Concat(plain, []byte{0, 1}),
		"first field number zero":       slices.Concat([]byte{0, 1}, plain),
		"field number too high":         slices.Concat(plain, []byte{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}),
		"field number beyond 32 bits":   slices.Concat(plain, []byte{0x98, 0x80, 0x80, 0x80, 0x80, 1 << 3, 0}),
		"wrong wire type":               {1 << 3, 5},
		"wrong wire type of a string":   field(3<<3|2, []byte{1 << 3, 1, 'a'}),
		"unknown fields between parts":  field(1<<3|2, []byte{17<<3&0x7f | 0x82, 1, 0, 16<<3&0x7f | 0x82, 1, 0, 17<<3&0x7f | 0x82, 1, 0}),
		"string cut short":              {1<<3 | 2, 4, 1<<3 | 2, 5, 'a', 'b'},
		"unknown number cut short":      slices.Concat(plain, []byte{9<<3 | 1, 1, 2}),
		"time with nanoseconds":         field(1<<3|2, field(8<<3|2, []byte{1 << 3, 5, 2 << 3, 7})),
		"cut short":                     plain[:len(plain)-1],
		"length missing":                {1<<3 | 2},
		"length beyond the end":         {1<<3 | 2, 5, 0},
		"negative length":               {1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"length of eleven bytes":        {1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"number of ten bytes":           field(2<<3|2, []byte{4 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
		"negative number":               field(2<<3|2, []byte{4 << 3, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
		"packed numbers":                field(2<<3|2, field(14<<3|2, field(4<<3|2, []byte{1, 2, 0x80, 1}))),
		"map entry without a key":       field(1<<3|2, field(11<<3|2, field(2<<3|2, []byte("v")))),
		"map entry without a value":     field(1<<3|2, field(11<<3|2, field(1<<3|2, []byte("k")))),
		"map entry with more":           field(1<<3|2, field(11<<3|2, field(3<<3|2, []byte("k")))),
		"map entry with a key and more": field(1<<3|2, field(11<<3|2, slices.Concat(field(1<<3|2, []byte("k")), field(3<<3|2, []byte("k"))))),
		"map key twice":                 field(1<<3|2, slices.Concat(field(11<<3|2, field(1<<3|2, nil)), field(11<<3|2, nil))),
		"time with more":                field(1<<3|2, field(8<<3|2, []byte{1 << 3, 5, 1 << 3, 6, 2 << 3, 7, 3 << 3, 8})),
		"bad managed fields":            field(1<<3|2, slices.Concat(field(1<<3|2, []byte("n")), []byte{0x8a, 1, 2, 0xff, 0xff})),
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range []*Options{nil, {DropManagedFields: true}} {
				d := New(freshOf(reflect.TypeOf(*pod)), o)
				check(t, d, plain)
				check(t, d, data)
				check(t, d, plain)
			}
		})
	}
}

// Contract 1: its protobuf has nanoseconds, its value microseconds.
func TestMicroTimeIsCutAsByItsUnmarshal(t *testing.T) {
	d := New(freshOf(reflect.TypeFor[coordinationv1.Lease]()), nil)
	lease := &coordinationv1.Lease{}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Unix(5, 7000)}
	data := marshal(t, lease)
	i := bytes.LastIndex(data, binary.AppendUvarint([]byte{2 << 3}, 7000))
	copy(data[i+1:], binary.AppendUvarint(nil, 7001))
	check(t, d, data)
}

// handWritten has tags that say something else than its Unmarshal does.
type handWritten struct {
	metav1.ObjectMeta `protobuf:"bytes,1,opt,name=metadata"`
	metav1.TypeMeta
}

func (h *handWritten) Unmarshal(data []byte) error    { h.Name = string(data); return nil }
func (h *handWritten) DeepCopyObject() runtime.Object { return h }

// Contract 1.
func TestHandWrittenUnmarshalIsUsed(t *testing.T) {
	d := New(func() Object { return &handWritten{} }, nil)
	data := string([]byte{1<<3 | 2, 0})
	if got := check(t, d, []byte(data)); got.GetName() != data {
		t.Errorf("got %q", got.GetName())
	}
}

func TestProtobufOfATypeWithoutItIsAnError(t *testing.T) {
	d := New(func() Object { return &unstructured.Unstructured{} }, nil)
	if obj, err := d.Protobuf(nil); err == nil || obj != nil {
		t.Errorf("got %v, %v", obj, err)
	}
}

type nested struct{ inner *nested }

// Contract 5: the stack of the generated code would overflow.
func TestMessagesNestedTooDeeplyAreAnError(t *testing.T) {
	// No built-in kind has a type within itself; CustomResourceDefinition does.
	plans := &plan{typ: reflect.TypeFor[nested](), how: byFields}
	plans.fields = []*field{nil, {wire: wireBytes, shape: aMessagePtr, typ: reflect.TypeFor[*nested](), elem: plans.typ, size: 8, sub: plans}}
	nest := func(depth int) []byte {
		back := []byte{} // from its end
		for range depth {
			size := binary.AppendUvarint(nil, uint64(len(back)))
			slices.Reverse(size)
			back = append(append(back, size...), 1<<3|wireBytes)
		}
		slices.Reverse(back)
		return back
	}
	d := newPodDecoder()
	check(t, d, nil)
	d.messages.root = plans
	var got nested
	if !d.messages.message(plans, unsafe.Pointer(&got), nil, nest(500)) || got.inner.inner == nil {
		t.Error("500 levels were not decoded")
	}
	for _, data := range [][]byte{nest(100_000), append([]byte{9<<3 | 3, 9<<3 | 4}, nest(100_000)...)} {
		if obj, err := d.Protobuf(data); err != errTooDeep || obj != nil {
			t.Errorf("got %v, %v", obj, err)
		}
	}
}
