package decode

import (
	"runtime"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func keyOf(obj Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Contract 4.
func TestAListForgetsWhatItLacks(t *testing.T) {
	d, messages := newPodDecoder(), podMessages(t, 600, nil)
	has := func(want int) {
		t.Helper()
		size := 0
		for _, l := range d.known.objects {
			size += l.size
		}
		if len(d.known.objects) != want || d.known.size != size {
			t.Errorf("%d objects are known, of %d bytes by the count and %d in truth; want %d", len(d.known.objects), d.known.size, size, want)
		}
	}
	d.StartList()
	decodeAll(t, d, messages)
	d.EndList()
	has(600)

	d.StartList()
	decodeAll(t, d, messages[:10]) // then it fails: nothing is forgotten
	has(600)

	d.StartList()
	decodeAll(t, d, messages[5:20])
	d.EndList()
	has(15)
	for _, m := range messages[5:20] {
		if d.known.get(find(find(m, 1), metaNamespace), find(find(m, 1), metaName)) == nil {
			t.Fatal("an object of the list was forgotten")
		}
	}
}

// Contract 4: a deleted object does not stay in memory.
func TestForgottenObjectIsCollected(t *testing.T) {
	d, messages := newPodDecoder(), podMessages(t, 2, nil)
	kept := decodeAll(t, d, messages[1:])
	gone := func() weak.Pointer[corev1.Pod] {
		obj := decodeAll(t, d, [][]byte{messages[0], messages[0]})[1]
		if d.known.get([]byte(obj.GetNamespace()), []byte(obj.GetName())) == nil {
			t.Error("the object is not known")
		}
		d.Forget(keyOf(obj))
		d.Forget(keyOf(obj)) // twice is once
		return weak.Make(obj.(*corev1.Pod))
	}()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("a forgotten object is still in memory")
	}
	if len(d.known.objects) != 1 || d.known.size != len(messages[1]) {
		t.Errorf("%d objects, %d bytes are known; want 1, %d", len(d.known.objects), d.known.size, len(messages[1]))
	}
	runtime.KeepAlive(kept)
}

// Bookmarks have no name.
func TestObjectsWithoutANameAreNotKnown(t *testing.T) {
	d := newPodDecoder()
	pod := &corev1.Pod{}
	pod.ResourceVersion = "5"
	check(t, d, marshal(t, pod))
	if len(d.known.objects) > 0 {
		t.Error("it is known")
	}
}
