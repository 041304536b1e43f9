package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
