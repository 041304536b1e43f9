package decode

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
		"unknown fields":                slices.Concat(plain, field(9<<3|2, meta), []byte{10<<3 | 0, 0x80, 1, 11<<3 | 5, 1, 2, 3, 4, 11<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}),
		"an unknown group":              slices.Concat(plain, []byte{9<<3 | 3, 1<<3 | 0, 5, 9<<3 | 4}),
		"an end of no group":            slices.Concat(plain, []byte{9<<3 | 4}),
		"field number zero":             slices.Concat(plain, []byte{0, 1}),
		"first field number zero":       slices.Concat([]byte{0, 1}, plain),
		"field number too high":         slices.Concat(plain, []byte{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}),
		"field number beyond 32 bits":   slices.Concat(plain, []byte{0x98, 0x80, 0x80, 0x80, 0x80, 1 << 3, 0}),
		"wrong wire type":               {1<<3 | 0, 5},
		"wrong wire type of a string":   field(3<<3|2, []byte{1<<3 | 0, 1, 'a'}),
		"unknown fields between parts":  field(1<<3|2, []byte{17<<3&0x7f | 0x82, 1, 0, 16<<3&0x7f | 0x82, 1, 0, 17<<3&0x7f | 0x82, 1, 0}),
		"string cut short":              {1<<3 | 2, 4, 1<<3 | 2, 5, 'a', 'b'},
		"unknown number cut short":      slices.Concat(plain, []byte{9<<3 | 1, 1, 2}),
		"time with nanoseconds":         field(1<<3|2, field(8<<3|2, []byte{1<<3 | 0, 5, 2<<3 | 0, 7})),
		"cut short":                     plain[:len(plain)-1],
		"length missing":                {1<<3 | 2},
		"length beyond the end":         {1<<3 | 2, 5, 0},
		"negative length":               {1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"length of eleven bytes":        {1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"number of ten bytes":           field(2<<3|2, []byte{4<<3 | 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
		"negative number":               field(2<<3|2, []byte{4<<3 | 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
		"packed numbers":                field(2<<3|2, field(14<<3|2, field(4<<3|2, []byte{1, 2, 0x80, 1}))),
		"map entry without a key":       field(1<<3|2, field(11<<3|2, field(2<<3|2, []byte("v")))),
		"map entry without a value":     field(1<<3|2, field(11<<3|2, field(1<<3|2, []byte("k")))),
		"map entry with more":           field(1<<3|2, field(11<<3|2, field(3<<3|2, []byte("k")))),
		"map key twice":                 field(1<<3|2, slices.Concat(field(11<<3|2, field(1<<3|2, nil)), field(11<<3|2, nil))),
		"time with more":                field(1<<3|2, field(8<<3|2, []byte{1<<3 | 0, 5, 1<<3 | 0, 6, 2<<3 | 0, 7, 3<<3 | 0, 8})),
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

// Contract 1: what is not shared is right as well.
func TestObjectsWithNothingInCommonAreDecodedAsByUnmarshal(t *testing.T) {
	pods, d := newPods(t), newPodDecoder()
	for i := range 200 {
		pod := pods(i * perDeployment)
		check(t, d, marshal(t, pod))
		check(t, d, marshal(t, pod))
	}
}

// Contract 1: equal bytes are not taken for another part.
func TestPartsAreNotTakenForEachOther(t *testing.T) {
	d, pod := newPodDecoder(), &corev1.Pod{}
	pod.Name = "web"
	pod.Status.Phase = corev1.PodRunning
	data := marshal(t, pod)
	meta, status := data[:2+int(data[1])], find(data, 3)
	part := func(tag byte, value []byte) []byte { return append([]byte{tag, byte(len(value))}, value...) }
	check(t, d, slices.Concat(meta, part(2<<3|2, nil), part(3<<3|2, status)))
	check(t, d, slices.Concat(meta, part(2<<3|2, nil), part(3<<3|2, nil)))
}

// Contract 1: its protobuf has nanoseconds, its value microseconds.
func TestMicroTimeIsCutAsByItsUnmarshal(t *testing.T) {
	d := New(freshOf(reflect.TypeFor[coordinationv1.Lease]()), nil)
	lease := &coordinationv1.Lease{}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Unix(5, 7000)}
	data := marshal(t, lease)
	i := bytes.LastIndex(data, binary.AppendUvarint([]byte{2<<3 | 0}, 7000))
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

// Contract 2.
func TestEqualPartsAreShared(t *testing.T) {
	pods, d := newPods(t), newPodDecoder()
	decode := func(pod *corev1.Pod) *corev1.Pod { return check(t, d, marshal(t, pod)).(*corev1.Pod) }
	first, replica := decode(pods(0)), decode(pods(1))
	a, b := &first.Spec.Containers[0], &replica.Spec.Containers[0]
	if &a.Env[0] != &b.Env[0] {
		t.Error("replicas have two lists of variables")
	}
	if a.LivenessProbe != b.LivenessProbe || a.LivenessProbe != b.ReadinessProbe {
		t.Error("replicas have several equal probes")
	}
	if unsafe.StringData(a.Image) != unsafe.StringData(b.Image) {
		t.Error("replicas have two texts for their image")
	}
	changed := pods(0)
	changeStatus(changed, 5)
	changed.ResourceVersion = "9"
	next := decode(changed)
	if &next.Spec.Containers[0] != &first.Spec.Containers[0] {
		t.Error("an unchanged spec was made twice")
	}
	if unsafe.StringData(next.Name) != unsafe.StringData(first.Name) {
		t.Error("an unchanged name was made twice")
	}
}

// Contract 1 and 2: whatever came before, and nothing is changed later.
func TestHistoriesAreDecodedAsIfEachEventWereTheFirst(t *testing.T) {
	for seed := range uint64(4) {
		for _, typ := range []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.ConfigMap](), reflect.TypeFor[resourcev1.ResourceSlice](), reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration]()} {
			history(t, typ, seed)
		}
	}
}

func history(t *testing.T, typ reflect.Type, seed uint64) {
	f := newFiller(seed)
	d := New(freshOf(typ), &Options{DropManagedFields: seed%2 == 0})
	var objects [6]reflect.Value
	var given []Object
	var copies []runtime.Object
	for range 100 {
		k := f.IntN(len(objects))
		if !objects[k].IsValid() {
			objects[k] = reflect.New(typ).Elem()
			f.fill(objects[k], 9)
		}
		part := objects[k].Field(f.IntN(typ.NumField()))
		if part.Type() == objectMetaType {
			part = part.Field(f.IntN(part.NumField()))
		}
		f.fill(part, 8)
		obj := objects[k].Addr().Interface().(Object)
		obj.SetName(strconv.Itoa(k))
		data := marshal(t, obj)
		switch f.IntN(12) {
		case 0:
			d.Forget(types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		case 1:
			d.StartList()
		case 2:
			d.EndList()
		case 3:
			data[f.IntN(len(data))] ^= byte(1 + f.IntN(255))
		case 4:
			d.interner.age()
		}
		if got := check(t, d, data); got != nil {
			given, copies = append(given, got), append(copies, got.DeepCopyObject())
		}
	}
	for i := range given {
		if !reflect.DeepEqual(given[i], copies[i]) {
			t.Fatalf("seed %d: object %d changed after it was given out:\n%s", seed, i, cmp.Diff(copies[i], given[i]))
		}
	}
}

// Contract 1, 3, 5.
func FuzzProtobuf(f *testing.F) {
	kinds := []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[resourcev1.ResourceSlice](), reflect.TypeFor[rbacv1.ClusterRole](), reflect.TypeFor[metav1.PartialObjectMetadata]()}
	filler := newFiller(1)
	var real [][]byte
	for k, typ := range kinds {
		obj := reflect.New(typ)
		filler.fill(obj.Elem(), 5)
		real = append(real, marshal(f, obj.Interface()))
		f.Add(uint8(k), real[k])
	}
	f.Add(uint8(0), marshal(f, newPods(f)(0)))
	f.Fuzz(func(t *testing.T, k uint8, data []byte) {
		k %= uint8(len(kinds))
		for _, o := range []*Options{nil, {DropManagedFields: true}} {
			d := New(freshOf(kinds[k]), o)
			check(t, d, real[k])
			check(t, d, data)
			check(t, d, data)
			check(t, d, real[k])
		}
	})
}
