package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// bodies returns a client whose every request is answered with *body.
func bodies(t testing.TB, body *[]byte) *server {
	return bodiesOf(t, func() io.Reader { return bytes.NewReader(*body) })
}

// bodiesOf returns a client whose every request is answered with a next body.
func bodiesOf(t testing.TB, next func() io.Reader) *server {
	cfg := &rest.Config{Host: "http://server", Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(next())}, nil
	})}
	c, err := client.New(cfg, &client.Options{Scheme: testScheme(t), Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return &server{Direct: c}
}

// Contract 9 and 10: whatever bytes come, a watch and a list end, do not panic,
// and hand over either an object with kind and name, or an error.
func FuzzStreams(f *testing.F) {
	for _, media := range []string{jsonType, protobufType} {
		whole := frame(f, media, "ADDED", served("a", "1"))
		f.Add(whole)
		f.Add(append(whole, frame(f, media, "BOOKMARK", bookmark("2"))...))
		f.Add(whole[:len(whole)-5])
		f.Add(frame(f, media, "ERROR", &metav1.Status{Status: "Failure", Code: 410}))
		f.Add(wire(f, media, served("a", "1")))
	}
	f.Add([]byte(`{"kind":"PodList","items":[{"metadata":{"name":"a"}},null,5],"metadata":{}}`))
	f.Add([]byte("k8s\x00\x0a\x00\x12\x0e\x0a\x00\x12\x0a\x0a\x03\x0a\x01a\x12\x03\x0a\x01b"))
	f.Add([]byte{0, 0, 0, 2, 0x0a, 0xff})
	var body []byte
	s := bodies(f, &body)
	var lists []*client.ListWatch
	for _, form := range []client.Form{client.Typed, client.Unstructured, client.MetadataOnly} {
		own := podsOf(f, s, form)
		lists = append(lists, own, withDecoder(own))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body = data
		for _, lw := range lists {
			for ev, err := range lw.Watch(t.Context(), metav1.ListOptions{}) {
				checkYield(t, ev.Object, err, ev.Type != "BOOKMARK")
			}
			_, _ = lw.List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool {
				checkYield(t, obj, err, true)
				return true
			})
		}
	})
}

func checkYield(t *testing.T, obj client.Object, err error, named bool) {
	t.Helper()
	switch {
	case (obj == nil) == (err == nil):
		t.Fatalf("object %v beside error %v", obj, err)
	case err != nil:
	case obj.GetObjectKind().GroupVersionKind() != podKind:
		t.Fatalf("kind %v", obj.GetObjectKind().GroupVersionKind())
	case named && obj.GetName() == "":
		t.Fatal("an object without a name")
	}
}

// Contract 9, beside a model: of a stream cut anywhere, exactly the whole frames
// come, and an error unless the cut is between two of them.
func FuzzWatchCut(f *testing.F) {
	f.Add(uint8(3), uint16(100), true)
	f.Add(uint8(1), uint16(0), false)
	f.Add(uint8(5), uint16(9999), true)
	var body []byte
	s := bodies(f, &body)
	own := podsOf(f, s, client.Typed)
	f.Fuzz(func(t *testing.T, events uint8, cut uint16, protobuf bool) {
		media := jsonType
		if protobuf {
			media = protobufType
		}
		var all []byte
		ends := []int{0}
		for i := range int(events % 8) {
			all = append(all, bytes.TrimSpace(frame(t, media, "ADDED", served(fmt.Sprint("p", i), fmt.Sprint(i))))...)
			ends = append(ends, len(all))
		}
		body = all[:min(int(cut), len(all))]
		want, clean := 0, false
		for i, end := range ends {
			if end <= len(body) {
				want, clean = i, end == len(body)
			}
		}
		for _, lw := range []*client.ListWatch{own, withDecoder(own)} {
			got, err := seen(t.Context(), lw)
			if len(got) != want || (err == nil) != clean {
				t.Fatalf("cut at %d of %v: %d events, error %v; want %d, clean %v", len(body), ends, len(got), err, want, clean)
			}
			for i, text := range got {
				if text != fmt.Sprintf("ADDED Pod p%d@%d", i, i) {
					t.Fatalf("event %d is %s", i, text)
				}
			}
		}
	})
}

// A merge patch does what RFC 7386 says: the model applies it to base, and gets
// the object that was wanted.
func FuzzMergeFrom(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[1,2],"d":"x"}}`), []byte(`{"b":{"c":[2],"e":9007199254740993},"f":true}`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":"text"}`))
	f.Add([]byte(`{"a":[]}`), []byte(`{"a":{}}`))
	f.Fuzz(func(t *testing.T, base, wanted []byte) {
		from, to := specOf(base), specOf(wanted)
		if from == nil || to == nil {
			return // no object
		}
		data, err := client.MergeFrom(from).Data(to)
		if err != nil {
			t.Fatal(err)
		}
		patched := merged(plain(t, from.Object), decoded(t, data))
		if want := plain(t, to.Object); !reflect.DeepEqual(patched, want) {
			t.Fatalf("%s onto %v gives %v, want %v", data, from.Object, patched, want)
		}
	})
}

// specOf makes an object of JSON; nil if it is none, or has a null, which a
// merge patch cannot say.
func specOf(data []byte) *unstructured.Unstructured {
	var spec map[string]any
	if json.Unmarshal(data, &spec) != nil || spec == nil || hasNull(spec) {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "X", "spec": spec}}
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range v {
			if hasNull(inner) {
				return true
			}
		}
	}
	return false
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func plain(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, data)
}

// merged is RFC 7386, section 2, word for word.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	m, ok := target.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(m, name)
		} else {
			m[name] = merged(m[name], value)
		}
	}
	return m
}
