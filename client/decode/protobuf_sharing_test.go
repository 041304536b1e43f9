package decode

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

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
