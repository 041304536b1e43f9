package scheme_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"governor/scheme"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	mediaJSON  = runtime.ContentTypeJSON
	mediaProto = runtime.ContentTypeProtobuf
)

var everyMedia = []string{mediaJSON, runtime.ContentTypeYAML, mediaProto, "application/cbor"}

// Every built-in kind that is an object or a list comes back as it was, with
// its kind and that of its items. Contracts 6 and 7.
func TestRoundTrip(t *testing.T) {
	s := scheme.Builtin()
	r := rand.New(rand.NewPCG(1, 2))
	for _, gvk := range objectKinds(s) {
		for _, media := range []string{mediaJSON, mediaProto} {
			roundTrip(t, s, gvk, media, r)
		}
	}
}

// FuzzRoundTrip is TestRoundTrip with any object in any of the formats.
func FuzzRoundTrip(f *testing.F) {
	s := scheme.Builtin()
	kinds := objectKinds(s)
	f.Add(uint64(1), uint16(3), uint8(3))
	f.Add(uint64(9), uint16(77), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint16, media uint8) {
		roundTrip(t, s, kinds[int(kind)%len(kinds)], everyMedia[int(media)%len(everyMedia)], rand.New(rand.NewPCG(seed, 0)))
	})
}

func roundTrip(t *testing.T, s *scheme.Scheme, gvk schema.GroupVersionKind, media string, r *rand.Rand) {
	t.Helper()
	object, err := s.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	fill(object, r)
	before := object.DeepCopyObject()
	data := encode(t, s, media, gvk.GroupVersion(), object)
	if !apiequality.Semantic.DeepEqual(object, before) {
		t.Fatalf("%v as %s: encoding changed the object", gvk, media)
	}
	got, gotKind, err := decoderOf(t, s, media).Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("%v as %s: %v", gvk, media, err)
	}
	if *gotKind != gvk || got.GetObjectKind().GroupVersionKind() != gvk {
		t.Fatalf("%v as %s: came back as %v with TypeMeta %v", gvk, media, gotKind, got.GetObjectKind())
	}
	got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	forEachItem(got, func(item runtime.Object) {
		want := gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List"))
		if got := item.GetObjectKind().GroupVersionKind(); got != want {
			t.Fatalf("%v as %s: an item is %v", gvk, media, got)
		}
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	})
	if !apiequality.Semantic.DeepEqual(got, before) {
		t.Fatalf("%v as %s: came back changed\n%s", gvk, media, cmp.Diff(before, got))
	}
}

// objectKinds returns the kinds of objects and lists, in a fixed order.
func objectKinds(s *scheme.Scheme) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for gvk := range s.AllKnownTypes() {
		object, err := s.New(gvk)
		if err != nil || gvk.Group == metav1.GroupName {
			continue
		}
		_, isObject := object.(metav1.Object)
		_, isList := object.(metav1.ListInterface)
		if isObject || isList {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// forEachItem calls fn for the items of a list, if object is one with typed items.
func forEachItem(object runtime.Object, fn func(runtime.Object)) {
	items := reflect.ValueOf(object).Elem().FieldByName("Items")
	if _, ok := object.(metav1.ListInterface); !ok || !items.IsValid() {
		return
	}
	for i := range items.Len() {
		if item, ok := items.Index(i).Addr().Interface().(runtime.Object); ok {
			fn(item)
		}
	}
}

// The bytes carry apiVersion and kind, and the object stays as it was,
// whatever its TypeMeta says. Case 51; Contract 6.
func TestBytesCarryTheKind(t *testing.T) {
	s := scheme.Builtin()
	if err := s.Install(addWidgets, func(rs *runtime.Scheme) error {
		rs.AddKnownTypes(other1, &Widget{})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	apps, core := appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion
	typed := func(apiVersion, kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
	}
	tests := []struct {
		name   string
		object runtime.Object
		target runtime.GroupVersioner
		want   schema.GroupVersionKind
	}{
		{"no TypeMeta", &appsv1.Deployment{}, apps, apps.WithKind("Deployment")},
		{"TypeMeta set", &appsv1.Deployment{TypeMeta: typed("apps/v1", "Deployment")}, apps, apps.WithKind("Deployment")},
		{"wrong TypeMeta", &appsv1.Deployment{TypeMeta: typed("v7", "Nonsense")}, apps, apps.WithKind("Deployment")},
		{"no target version", &appsv1.Deployment{}, nil, apps.WithKind("Deployment")},
		{"body of another group", &corev1.Pod{}, apps, core.WithKind("Pod")},
		{"option type, its group", &metav1.DeleteOptions{}, apps, apps.WithKind("DeleteOptions")},
		{"option type, a group that does not list it", &metav1.DeleteOptions{}, schema.GroupVersion{Group: "crd.dev", Version: "v1"}, core.WithKind("DeleteOptions")},
		{"unversioned", &metav1.Status{}, apps, core.WithKind("Status")},
		{"two kinds, by version", &Widget{}, other1, other1.WithKind("Widget")},
		{"two kinds, by TypeMeta", &Widget{TypeMeta: typed("example.dev/v1", "Widget")}, nil, v1.WithKind("Widget")},
		{"metadata", &metav1.PartialObjectMetadata{TypeMeta: typed("apps/v1", "Deployment")}, apps, apps.WithKind("Deployment")},
		{"metadata without kind", &metav1.PartialObjectMetadata{}, apps, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")},
		{"unstructured", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "crd.dev/v1", "kind": "Thing"}}, apps,
			schema.GroupVersionKind{Group: "crd.dev", Version: "v1", Kind: "Thing"}},
		{"unstructured list", &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "crd.dev/v1", "kind": "Thing"}}, apps,
			schema.GroupVersionKind{Group: "crd.dev", Version: "v1", Kind: "Thing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.object.DeepCopyObject()
			data := encode(t, s, mediaJSON, tt.target, tt.object)
			var got metav1.TypeMeta
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if got.GroupVersionKind() != tt.want {
				t.Errorf("the bytes say %v, want %v", got, tt.want)
			}
			if !apiequality.Semantic.DeepEqual(tt.object, before) {
				t.Error("the object was changed")
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	s := scheme.New()
	if err := s.AddKnownTypes(v1, &Widget{}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddKnownTypes(other1, &Widget{}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddKnownTypes(metav1.Unversioned, &Widget{}); err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]runtime.Object{
		"doubtful":              &Widget{},
		"not registered":        &Gadget{},
		"unstructured, no kind": &unstructured.Unstructured{},
		"nil":                   nil,
		"nil pointer":           (*Widget)(nil),
	} {
		var out bytes.Buffer
		if err := encoderOf(t, s, mediaJSON, nil).Encode(object, &out); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, wrote %q", name, err, out.String())
		}
	}
}

// One object may be encoded by many at once. Contract 6; with the race detector.
func TestEncodeSharedObject(t *testing.T) {
	s := scheme.Builtin()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { encode(t, s, mediaProto, corev1.SchemeGroupVersion, pod) })
	}
	wg.Wait()
}

// Nothing of the target's old content stays, in any format. Contract 7.
func TestDecodeReplacesTheTarget(t *testing.T) {
	s := scheme.Builtin()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	for _, media := range everyMedia {
		target := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{"old": "label"}},
			Spec:       corev1.PodSpec{NodeName: "old"},
		}
		got, _, err := decoderOf(t, s, media).Decode(encode(t, s, media, nil, pod), nil, target)
		if err != nil || got != runtime.Object(target) {
			t.Fatalf("%s: got %T, %v", media, got, err)
		}
		if target.Name != "new" || target.Labels != nil || target.Spec.NodeName != "" {
			t.Errorf("%s: old content stayed: %+v", media, target)
		}
		if target.Kind != "Pod" || target.APIVersion != "v1" {
			t.Errorf("%s: kind is %v", media, target.TypeMeta)
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "old": true}}
	if _, _, err := decoderOf(t, s, mediaJSON).Decode([]byte(`{"apiVersion":"v1","kind":"Pod"}`), nil, u); err != nil {
		t.Fatal(err)
	}
	if _, ok := u.Object["old"]; ok {
		t.Errorf("unstructured: old content stayed: %v", u.Object)
	}
}

// Case 51; Contract 7: a kind that the bytes leave out is filled in.
func TestDecodeFillsInKinds(t *testing.T) {
	s := scheme.Builtin()
	if err := s.Install(addWidgets); err != nil {
		t.Fatal(err)
	}
	into := func(data string, target runtime.Object) {
		t.Helper()
		if _, _, err := decoderOf(t, s, mediaJSON).Decode([]byte(data), nil, target); err != nil {
			t.Fatal(err)
		}
	}
	var widget Widget
	if into(`{"metadata":{"name":"a"}}`, &widget); widget.GroupVersionKind() != v1.WithKind("Widget") {
		t.Errorf("object: %v", widget.TypeMeta)
	}
	if into(`{"kind":"Widget"}`, &widget); widget.GroupVersionKind() != v1.WithKind("Widget") {
		t.Errorf("object with half of it: %v", widget.TypeMeta)
	}
	var list WidgetList
	into(`{"apiVersion":"example.dev/v1","kind":"WidgetList","items":[{"metadata":{"name":"a"}},{"apiVersion":"x/v1","kind":"Y"}]}`, &list)
	if got := list.Items[0].GroupVersionKind(); got != v1.WithKind("Widget") {
		t.Errorf("item without kind: %v", got)
	}
	if got := list.Items[1].Kind; got != "Y" {
		t.Errorf("item with a kind: %v", got)
	}
	var partial metav1.PartialObjectMetadataList
	into(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","items":[{"metadata":{"name":"a"}}]}`, &partial)
	if got := partial.Items[0].Kind; got != "PartialObjectMetadata" {
		t.Errorf("metadata item: %v", got)
	}
	for _, kind := range []string{"Thing", "ThingList"} { // both spellings
		var u unstructured.UnstructuredList
		into(`{"apiVersion":"crd.dev/v1","kind":"`+kind+`","items":[{"metadata":{"name":"a"}}]}`, &u)
		if got := u.Items[0].GetKind(); got != "Thing" {
			t.Errorf("unstructured item of a %s: %q", kind, got)
		}
	}
	var raw corev1.List
	into(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"}]}`, &raw)
	if len(raw.Items) != 1 {
		t.Errorf("raw items: %v", raw)
	}
}

func TestDecodeErrors(t *testing.T) {
	s := scheme.New()
	var status metav1.Status
	for name, tt := range map[string]struct {
		data string
		into runtime.Object
	}{
		"empty":        {"", nil},
		"no JSON":      {"{", nil},
		"no kind":      {`{"metadata":{}}`, nil},
		"unknown kind": {`{"apiVersion":"v9","kind":"Pot"}`, nil},
		"nil target":   {`{"apiVersion":"v1","kind":"Status"}`, (*metav1.Status)(nil)},
	} {
		if _, _, err := decoderOf(t, s, mediaJSON).Decode([]byte(tt.data), nil, tt.into); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Unknown fields are dropped, or reported by the strict serializer.
	data := []byte(`{"apiVersion":"v1","kind":"Status","nonsense":1}`)
	if _, _, err := decoderOf(t, s, mediaJSON).Decode(data, nil, &status); err != nil {
		t.Error(err)
	}
	info, _ := runtime.SerializerInfoForMediaType(s.Codecs().SupportedMediaTypes(), mediaJSON)
	if _, _, err := s.Codecs().DecoderToVersion(info.StrictSerializer, nil).Decode(data, nil, &status); !runtime.IsStrictDecodingError(err) {
		t.Errorf("strict: %v", err)
	}
}

// What rest.Config asks for: formats by name, streams for those that are watched.
func TestNegotiation(t *testing.T) {
	s := scheme.New()
	n := runtime.NewClientNegotiator(s.Codecs(), metav1.Unversioned)
	for _, media := range everyMedia {
		if _, err := n.Encoder(media, nil); err != nil {
			t.Errorf("%s: %v", media, err)
		}
		if _, err := n.Decoder(media, nil); err != nil {
			t.Errorf("%s: %v", media, err)
		}
		_, _, framer, err := n.StreamDecoder(media, nil)
		if streams := media != runtime.ContentTypeYAML; (err == nil) != streams || streams && framer == nil {
			t.Errorf("%s: stream with framer %v, %v", media, framer, err)
		}
	}
	// Kinds that come later are known to serializers handed out before.
	d := decoderOf(t, s, mediaJSON)
	if err := s.Install(addWidgets); err != nil {
		t.Fatal(err)
	}
	if object, _, err := d.Decode([]byte(`{"apiVersion":"example.dev/v1","kind":"Widget"}`), nil, nil); err != nil {
		t.Errorf("%T, %v", object, err)
	}
	one := encoderOf(t, s, mediaJSON, v1).Identifier()
	if two := encoderOf(t, s, mediaJSON, v2).Identifier(); one == two {
		t.Errorf("encoders of two versions are both %q", one)
	}
}

func encoderOf(t testing.TB, s *scheme.Scheme, media string, gv runtime.GroupVersioner) runtime.Encoder {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(s.Codecs().SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no serializer for %s", media)
	}
	return s.Codecs().EncoderForVersion(info.Serializer, gv)
}

func encode(t testing.TB, s *scheme.Scheme, media string, gv runtime.GroupVersioner, object runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := encoderOf(t, s, media, gv).Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decoderOf(t testing.TB, s *scheme.Scheme, media string) runtime.Decoder {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(s.Codecs().SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no serializer for %s", media)
	}
	return s.Codecs().DecoderToVersion(info.Serializer, nil)
}
