package decode

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// Contract 1, for each type that the API has.
func TestEveryBuiltinTypeIsDecodedAsByItsUnmarshal(t *testing.T) {
	types := builtin()
	if len(types) < 100 {
		t.Fatalf("there are %d types only", len(types))
	}
	for gvk, typ := range types {
		t.Run(gvk.String(), func(t *testing.T) {
			t.Parallel()
			f := newFiller(7)
			d := New(freshOf(typ), nil)
			for range 20 {
				obj := reflect.New(typ)
				f.fill(obj.Elem(), 12)
				data := marshal(t, obj.Interface())
				check(t, d, data)
				if !d.messages.object(d.fresh(), data) {
					t.Fatal("this was left to the generated Unmarshal")
				}
			}
		})
	}
}
