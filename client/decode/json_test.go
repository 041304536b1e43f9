package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// jsonTruth is what sigs.k8s.io/json makes of data.
func jsonTruth(data []byte, fresh Object, drop bool) (kind string, obj Object, err error) {
	if u, ok := fresh.(*unstructured.Unstructured); ok {
		var content map[string]any
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, &content)
		u.Object = content
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, fresh)
	}
	if err != nil {
		var claimed metav1.TypeMeta
		_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &claimed)
		return claimed.Kind, nil, err
	}
	if drop {
		fresh.SetManagedFields(nil)
	}
	if u, ok := fresh.(*unstructured.Unstructured); ok {
		kind, _ = u.Object["kind"].(string)
		return kind, fresh, nil
	}
	return fresh.GetObjectKind().GroupVersionKind().Kind, fresh, nil
}

// checkJSON decodes data, and compares with the truth. The buffer is scribbled
// over afterwards: nothing may keep it.
func checkJSON(t testing.TB, d *Decoder, data []byte) Object {
	t.Helper()
	wantKind, want, wantErr := jsonTruth(data, d.fresh(), d.dropManagedFields)
	buffer := bytes.Clone(data)
	kind, got, err := d.JSON(buffer)
	for i := range buffer {
		buffer[i] = '#'
	}
	if d.dropManagedFields && wantErr != nil && err == nil {
		return nil // what was skipped may have been wrong
	}
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q\nerror %v\nwant  %v", data, err, wantErr)
	}
	if kind != wantKind {
		t.Fatalf("%q\nkind %q, want %q", data, kind, wantKind)
	}
	if err != nil {
		if got != nil {
			t.Fatalf("%q\nan object beside %v", data, err)
		}
		return nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%.2000q\n%s", data, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
	}
	return got
}

func jsonDecoders(drop bool) map[string]*Decoder {
	o := &Options{DropManagedFields: drop}
	return map[string]*Decoder{
		"typed":        New(func() Object { return &corev1.Pod{} }, o),
		"odd":          New(func() Object { return &odd{} }, o),
		"metadata":     New(func() Object { return &metav1.PartialObjectMetadata{} }, o),
		"unstructured": New(func() Object { return &unstructured.Unstructured{} }, o),
	}
}

// Contract 1, for each type that the API has, in each form; Contract 3.
func TestEveryBuiltinTypeIsDecodedAsBySigsJSON(t *testing.T) {
	for gvk, typ := range builtin() {
		t.Run(gvk.String(), func(t *testing.T) {
			t.Parallel()
			f := newFiller(8)
			decoders := jsonDecoders(true)
			decoders["typed"] = New(freshOf(typ), &Options{DropManagedFields: true})
			for range 2 {
				obj := reflect.New(typ)
				f.fill(obj.Elem(), 9)
				data, err := json.Marshal(obj.Interface())
				if err != nil {
					t.Fatal(err)
				}
				for name, d := range decoders {
					if name == "odd" {
						continue
					}
					checkJSON(t, d, data)
					checkJSON(t, d, data) // now it is known
					if _, ok := d.objects.decode(data); !ok {
						t.Fatalf("%s: this was left to sigs.k8s.io/json: %s", name, data)
					}
				}
			}
		})
	}
}

// Contract 1 and 2: whatever came before, and nothing is changed later.
func TestHistoriesOfJSONAreDecodedAsIfEachEventWereTheFirst(t *testing.T) {
	for seed := range uint64(2) {
		for _, typ := range []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.ConfigMap](), reflect.TypeFor[resourcev1.ResourceSlice]()} {
			for form := range 3 {
				fresh := [](func() Object){freshOf(typ), jsonForms[1].fresh, jsonForms[2].fresh}[form]
				jsonHistory(t, typ, New(fresh, &Options{DropManagedFields: seed%2 == 0}), newFiller(seed))
			}
		}
	}
}

func jsonHistory(t *testing.T, typ reflect.Type, d *Decoder, f *filler) {
	var objects [6]reflect.Value
	var given []Object
	var copies []runtime.Object
	for range 50 {
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
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
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
		case 5:
			data = data[:f.IntN(len(data))]
		case 6:
			data = bytes.ReplaceAll(data, []byte(`,"`), []byte(", \n\""))
		}
		if got := checkJSON(t, d, data); got != nil {
			given, copies = append(given, got), append(copies, got.DeepCopyObject())
		}
	}
	for i := range given {
		if !reflect.DeepEqual(given[i], copies[i]) {
			t.Fatalf("object %d changed after it was given out:\n%s", i, cmp.Diff(copies[i], given[i]))
		}
	}
}

// Contract 1: what a reader has looked at already is decoded all the same, and
// what is none of its bytes as well.
func TestJSONThatComesFromAReader(t *testing.T) {
	texts := append(oddObjects("spec.any"), string(testPod(t)))
	for name, d := range jsonDecoders(false) {
		for _, form := range []string{`%s`, `{"type":"ADDED","object":%s}`, `{"type":"ADDED","object":{"a":"\x","b":%s}}`} {
			for _, text := range texts {
				event := fmt.Sprintf(form, text)
				r := NewJSONReader(bufio.NewReaderSize(strings.NewReader(event), 100), len(event)+1)
				d.ReadsFrom(r)
				value, err := r.Value()
				start := strings.Index(event, text)
				if err != nil || start+len(text) > len(value) {
					continue
				}
				data := value[start : start+len(text)]
				wantKind, want, wantErr := jsonTruth(bytes.Clone(data), d.fresh(), false)
				for _, data := range [][]byte{data, bytes.Clone(data)} {
					kind, got, err := d.JSON(data)
					if kind != wantKind || fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: %s: %s %v\n%s", name, event, kind, err, cmp.Diff(want, got))
					}
				}
			}
		}
	}
	d := New(jsonForms[0].fresh, nil)
	r := NewJSONReader(bufio.NewReader(strings.NewReader(`{"type":"ADDED","object":`+string(testPod(t))+"}")), 1<<20)
	if _, err := r.Value(); err != nil {
		t.Fatal(err)
	}
	_, object, err := r.OpenEvent()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.cursor(object); !ok {
		t.Error("the index of the reader is not used")
	}
	d.ReadsFrom(r)
	if _, obj, err := d.JSON(object); err != nil || obj.GetName() != "service-0-7d9c5b8f6d-00007" {
		t.Error(obj, err)
	}
}

func TestJSONOfAPod(t *testing.T) {
	for name, d := range jsonDecoders(true) {
		pod := testPod(t)
		first := checkJSON(t, d, pod)
		if len(d.parts) == 0 {
			t.Errorf("%s: the fast path was not taken", name)
		}
		before, _ := json.Marshal(first)
		for _, old := range []string{`"Running"`, `"app"`, `"team":"team-7"`, `IfNotPresent`, `"1007"`} {
			checkJSON(t, d, []byte(strings.ReplaceAll(string(pod), old, `"other"`)))
			checkJSON(t, d, pod)
		}
		after, _ := json.Marshal(first)
		if !bytes.Equal(before, after) {
			t.Errorf("%s: an object has changed", name)
		}
	}
}
