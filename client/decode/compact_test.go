package decode

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// wholeOf returns what a Compact is made of.
func wholeOf(t testing.TB, obj Object) Object {
	t.Helper()
	whole, err := obj.(*Compact).New()
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// sameMetadata fails if a Compact's getters say something else than its object's.
func sameMetadata(t testing.TB, c, whole Object) {
	t.Helper()
	all := func(o Object) []any {
		return []any{o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion(), o.GetLabels(), o.GetOwnerReferences(),
			o.GetGenerateName(), o.GetGeneration(), o.GetSelfLink(), o.GetCreationTimestamp(), o.GetDeletionTimestamp(),
			o.GetDeletionGracePeriodSeconds(), o.GetAnnotations(), o.GetFinalizers(), o.GetManagedFields()}
	}
	if diff := cmp.Diff(all(whole), all(c)); diff != "" {
		t.Error(diff)
	}
}

// Contract 1, of every kind: a Compact is made of what the generated Unmarshal, or
// sigs.k8s.io/json, makes of the same bytes, whatever objects came before.
func TestCompactsOfEveryBuiltinType(t *testing.T) {
	for gvk, typ := range builtin() {
		for _, drop := range []bool{true, false} {
			d := New(func() Object {
				obj := freshOf(typ)()
				obj.GetObjectKind().SetGroupVersionKind(gvk)
				return obj
			}, &Options{DropManagedFields: drop, Compact: true})
			f := newFiller(11)
			for i := range 6 {
				obj := freshOf(typ)()
				f.fill(reflect.ValueOf(obj).Elem(), 4)
				obj.SetName(fmt.Sprint("n", i%4))
				data := marshal(t, obj)
				compactly(t, d, gvk, data, nil)
				text, err := json.Marshal(obj)
				if err == nil {
					compactly(t, d, gvk, nil, text)
				}
			}
		}
	}
}

// compactly decodes a message or a text, and compares.
func compactly(t *testing.T, d *Decoder, gvk schema.GroupVersionKind, message, text []byte) {
	t.Helper()
	want := d.fresh()
	var wantErr, err error
	var got Object
	if text != nil {
		wantErr = kjson.UnmarshalCaseSensitivePreserveInts(text, want)
		given := slices.Clone(text)
		_, got, err = d.JSON(given)
		clear(given) // Contract 3
	} else {
		wantErr = want.(interface{ Unmarshal([]byte) error }).Unmarshal(message)
		given := slices.Clone(message)
		got, err = d.Protobuf(given)
		clear(given)
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%v: error %v, want %v", gvk, err, wantErr)
	}
	if err != nil {
		return
	}
	if d.dropManagedFields {
		want.SetManagedFields(nil)
	}
	want.GetObjectKind().SetGroupVersionKind(gvk)
	whole := wholeOf(t, got)
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Fatalf("%v: %s", gvk, diff)
	}
	sameMetadata(t, got, whole)
	again, err := d.Compact(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wholeOf(t, again), whole); diff != "" && text == nil {
		t.Fatalf("%v, encoded again: %s", gvk, diff)
	}
}

// noise returns a text that cannot be compressed.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a' + byte(r.IntN(26))
	}
	return string(text)
}

// Contract 4: replicas cost little, also when they have all changed, and after
// another rollout; and nothing outlives them.
func TestReplicasAreFewBytes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(pod *corev1.Pod, version int)
		most   int
	}{
		{"nothing", func(*corev1.Pod, int) {}, 75},
		{"status", changeStatus, 90},
		{"metadata", changeMetadata, 85},
		{"all", func(pod *corev1.Pod, version int) {
			changeStatus(pod, version)
			changeMetadata(pod, version)
			changeSpec(pod, version)
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "NEW", Value: strings.Repeat(fmt.Sprint("value ", version), 20*version)})
		}, 130},
		{"nearly everything is new", func(pod *corev1.Pod, version int) {
			pod.Annotations["config"] = noise(uint64(version), 6000)
		}, 440},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, latest := newCompactDecoder(), map[int]Object{}
			for version := range 4 {
				for i, m := range podMessages(t, 200, func(pod *corev1.Pod) { tt.change(pod, version) }) {
					latest[i] = decodeAll(t, d, [][]byte{m})[0]
				}
			}
			sum, bases := 0, map[*base]bool{}
			for _, obj := range latest {
				sum += len(obj.(*Compact).delta)
				bases[obj.(*Compact).base] = true
			}
			if sum/200 > tt.most || len(bases) > 12 {
				t.Errorf("%d bytes each, %d bases for 4 Deployments", sum/200, len(bases))
			}
		})
	}
}

// Objects that have nothing in common cost no more than their bytes and a bit, and have
// few bases.
func TestCompactsWithNothingInCommon(t *testing.T) {
	d := New(func() Object { return &corev1.Secret{} }, &Options{Compact: true})
	sum, size, bases := 0, 0, map[*base]bool{}
	for i := range 300 {
		data := []byte(noise(uint64(i), 2000))
		m := marshal(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("owner", i))}}},
			Data:       map[string][]byte{"key": data},
		})
		c := decodeAll(t, d, [][]byte{m})[0].(*Compact)
		sum, size = sum+len(c.delta), size+len(m)
		bases[c.base] = true
	}
	if sum > size+300*10 || len(bases) > 10 {
		t.Errorf("%d bytes are kept as %d, with %d bases", size, sum, len(bases))
	}
	// One that changes often is still one object.
	for i := range 50 {
		m := marshal(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: []metav1.OwnerReference{{UID: "owner"}}},
			Data:       map[string][]byte{"key": []byte(noise(uint64(i%2), 900))},
		})
		decodeAll(t, d, [][]byte{m})
	}
	if d.press.families.byOwner["owner"].base.Value() != nil {
		t.Error("one object has a base of its own")
	}
	if n := len(d.press.families.byOwner); n > 200 {
		t.Errorf("%d owners of one object are remembered", n)
	}
}

// Contract 4: what is gone is not kept by those that remain.
func TestCompactsAreCollected(t *testing.T) {
	d := newCompactDecoder()
	objects := decodeAll(t, d, podMessages(t, 300, nil))
	var gone []weak.Pointer[base]
	for _, obj := range objects[:250] {
		gone = append(gone, weak.Make(obj.(*Compact).base))
	}
	kept := objects[299].(*Compact)
	objects = nil
	decodeAll(t, d, podMessages(t, 1, nil)) // so that the last window is another
	for range 3 {
		runtime.GC()
	}
	left := map[*base]bool{}
	for _, p := range gone {
		if b := p.Value(); b != nil {
			left[b] = true
		}
	}
	if len(left) > 1 { // the writer has one
		t.Errorf("%d bases are left", len(left))
	}
	if f := kept.fresh.Value(); f != nil {
		t.Error("the decoded object is left")
	}
	wholeOf(t, kept)
	runtime.KeepAlive(d)
}

// Strings that others may keep do not keep the bytes.
func TestNamesAreApart(t *testing.T) {
	c := decodeAll(t, newCompactDecoder(), podMessages(t, 1, nil))[0].(*Compact)
	at := uintptr(unsafe.Pointer(unsafe.StringData(c.name)))
	from := uintptr(unsafe.Pointer(unsafe.StringData(c.delta)))
	if at >= from-100 && at < from+uintptr(len(c.delta)) {
		t.Error("the name is in the memory of the delta")
	}
}

// Contract 2: whoever asks for an object of his own has one; whoever reads may share.
func TestNewIsOnesOwn(t *testing.T) {
	c := decodeAll(t, newCompactDecoder(), podMessages(t, 1, nil))[0].(*Compact)
	a, b := wholeOf(t, c).(*corev1.Pod), wholeOf(t, c).(*corev1.Pod)
	a.Labels["app"], a.Spec.Containers[0].Name = "spoilt", "spoilt"
	if b.Labels["app"] == "spoilt" || b.Spec.Containers[0].Name == "spoilt" || c.GetLabels()["app"] == "spoilt" {
		t.Error("two objects share memory")
	}
	first, err := c.Read()
	if err != nil || first == Object(a) || first == Object(b) {
		t.Errorf("a reader has what another one owns, %v", err)
	}
	if second, _ := c.Read(); first != second {
		t.Error("right after the event, two readers do not share")
	}
	runtime.KeepAlive(first)
}

// Objects are read while others are decoded: with the race detector.
func TestCompactsAreReadByMany(t *testing.T) {
	d := newCompactDecoder()
	messages := podMessages(t, 60, nil)
	objects := decodeAll(t, d, messages)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				obj := objects[(i*7+w)%len(objects)]
				whole, err := obj.(*Compact).New()
				if err != nil || whole.GetName() != obj.GetName() || obj.GetAnnotations() == nil {
					t.Error(obj.GetName(), err)
				}
			}
		})
	}
	for range 10 {
		decodeAll(t, d, messages)
	}
	wg.Wait()
}

func TestManagedFieldsAreCut(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"metadata":{"name":"a","managedFields":[{"a":"}]"}],"uid":"u"},"x":1}`, `{"metadata":{"name":"a","uid":"u"},"x":1}`},
		{`{"metadata":{"name":"a","managedFields":[{"a":"\"}]"}]},"x":1}`, `{"metadata":{"name":"a"},"x":1}`},
		{`{"metadata":{"managedFields":[]}}`, `{"metadata":{}}`},
		{`{"metadata":{"managedFields":null,"n":1.5e3}}`, `{"metadata":{"n":1.5e3}}`},
		{` { "x" : [ {"managedFields":1} ] , "metadata" : { "name" : "a" , "managedFields" : [ ] } }`, ` { "x" : [ {"managedFields":1} ] , "metadata" : { "name" : "a"  } }`},
		{`{"metadata":{"annotations":{"managedFields":"x"},"name":"managedFields"}}`, ``},
		{`{"metadata":null}`, ``}, {`{"metadata":"managedFields"}`, ``}, {`{}`, ``}, {`{"a":{}}`, ``}, {`[]`, ``}, {`1`, ``}, {`"x"`, ``},
	} {
		if tt.want == "" {
			tt.want = tt.text
		}
		if got := string(cutJSON(nil, []byte(tt.text))); got != tt.want {
			t.Errorf("%s\nhas become %s\nwant       %s", tt.text, got, tt.want)
		}
	}
	pod := newPods(t)(0)
	if pod.ManagedFields == nil {
		t.Fatal("the Pod has no managedFields")
	}
	pod.ManagedFields = append(pod.ManagedFields, pod.ManagedFields...)
	whole := marshal(t, pod)
	pod.ManagedFields = nil
	if got := cutMessage(nil, whole); string(got) != string(marshal(t, pod)) {
		t.Error("protobuf: something else was cut")
	}
	text, err := json.Marshal(newPods(t)(0))
	if err != nil {
		t.Fatal(err)
	}
	_, fromJSON, err := newCompactDecoder().JSON(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range append(decodeAll(t, newCompactDecoder(), [][]byte{whole}), fromJSON) {
		c := obj.(*Compact)
		if strings.Contains(c.base.text, "f:metadata") || strings.Contains(c.delta, "f:metadata") {
			t.Error("managedFields are kept")
		}
	}
	for i := range whole { // damaged: no harm
		cutMessage(nil, whole[:i])
	}
}

// Whatever the bytes claim, an object has the kind that the Decoder's fresh ones have.
func TestCompactsHaveTheirKind(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for _, fresh := range []func() Object{
		func() Object { return &unstructured.Unstructured{} },
		func() Object { return &metav1.PartialObjectMetadata{} },
	} {
		d := New(func() Object {
			obj := fresh()
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			return obj
		}, &Options{Compact: true})
		for claimed, text := range map[string]string{
			"":                      `{"metadata":{"name":"a"}}`,
			"PartialObjectMetadata": `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}`,
		} {
			kind, obj, err := d.JSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, loose := d.fresh().(*unstructured.Unstructured); loose && kind != claimed {
				t.Errorf("%s claims to be %q", text, kind)
			}
			read, err := obj.(*Compact).Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []Object{read, wholeOf(t, obj)} {
				if got := o.GetObjectKind().GroupVersionKind(); got != gvk {
					t.Errorf("%T of %s is of kind %v", o, text, got)
				}
			}
		}
	}
}

// A transformed object, of a type that has no protobuf.
func TestCompactOfUnstructured(t *testing.T) {
	d := New(func() Object { return &unstructured.Unstructured{} }, &Options{Compact: true})
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "n": int64(5), "f": 1.5}}
	c, err := d.Compact(u)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := d.Compact(c); again != c {
		t.Error("it was made a Compact twice")
	}
	if read, err := c.(*Compact).Read(); err != nil || read == Object(u) {
		t.Errorf("what was given, and may be changed, is read: %v", err)
	}
	if diff := cmp.Diff(Object(u), wholeOf(t, c)); diff != "" {
		t.Error(diff)
	}
	if plain, err := New(d.fresh, nil).Compact(u); plain != Object(u) || err != nil {
		t.Errorf("another Decoder made %T of it, %v", plain, err)
	}
	u.Object["bad"] = func() {}
	if _, err := d.Compact(u); err == nil {
		t.Error("no error for what cannot be encoded")
	}
}
