package envtest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The envelope is byte for byte what apimachinery writes.
func TestEnvelope(t *testing.T) {
	for _, message := range []string{"", "x", strings.Repeat("y", 127), strings.Repeat("z", 70_000)} {
		for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Group: strings.Repeat("g", 130), Version: "v1", Kind: "K"}} {
			unknown := &runtime.Unknown{
				TypeMeta: runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
				Raw:      []byte(message),
			}
			want, err := unknown.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			got := appendEnvelope(nil, kind, []byte(message))
			if string(got) != protobufMagic+string(want) {
				t.Errorf("%s with %d bytes: %d bytes, want %d", kind.Kind, len(message), len(got), len(want)+4)
			}
			if n := envelopeLen(kind, len(message)); n != len(got) {
				t.Errorf("envelopeLen says %d, it is %d", n, len(got))
			}
		}
	}
}

func TestProtobufEvent(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for _, object := range []string{"", strings.Repeat("x", 300)} {
		event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: appendEnvelope(nil, kind, []byte(object))}}
		want, err := event.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got := appendProtobufEvent(nil, "ADDED", kind, []byte(object))
		if string(got[4:]) != string(want) || int(got[3])|int(got[2])<<8 != len(want) {
			t.Errorf("%d bytes: %x, want %x", len(object), got, want)
		}
	}
}

// Lists are put together by hand, on the promise that all list types have their
// metadata as protobuf field 1, and their items as 2.
func TestListsOfAllKindsDecode(t *testing.T) {
	s := newQuiet(t)
	types := scheme.Builtin()
	checked := 0
	for _, resource := range s.kinds.All() {
		object, err := types.New(resource.GroupVersionKind)
		if err != nil || resource.ListKind == "" || !hasProtobuf(resource) || resource.Storage.Empty() {
			continue
		}
		object.(metav1.Object).SetName("a")
		object.GetObjectKind().SetGroupVersionKind(resource.GroupVersionKind)
		for _, mediaType := range mediaTypes {
			if mediaType == runtime.ContentTypeYAML {
				continue
			}
			e := s.encoder(resource, format{mediaType: mediaType})
			item, err := e.encode(object)
			if err != nil {
				t.Fatal(err)
			}
			p := &page{resourceVersion: 7, next: "n"}
			b, err := e.join(p, [][]byte{item, item})
			if err != nil {
				t.Fatal(err)
			}
			info, _ := runtime.SerializerInfoForMediaType(types.Codecs().SupportedMediaTypes(), mediaType)
			list, _, err := info.Serializer.Decode(b, nil, nil)
			if err != nil {
				t.Fatalf("%s %s: %v", mediaType, resource.GroupVersionKind, err)
			}
			items := reflect.ValueOf(list).Elem().FieldByName("Items")
			accessor := list.(metav1.ListMetaAccessor).GetListMeta()
			if items.Len() != 2 || items.Index(1).Addr().Interface().(metav1.Object).GetName() != "a" ||
				accessor.GetResourceVersion() != "7" || accessor.GetContinue() != "n" {
				t.Errorf("%s %s: %+v", mediaType, resource.GroupVersionKind, list)
			}
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d kinds were checked", checked)
	}
}

// What a list of typed objects says is what apimachinery would write.
func TestListIsAsAPIMachineryWrites(t *testing.T) {
	s := newQuiet(t)
	var want corev1.ConfigMapList
	for _, name := range []string{"a", "b"} {
		o := &corev1.ConfigMap{ObjectMeta: metaNamed("default", name), Data: map[string]string{"k": `"<&>` + "\u2028"}}
		putObject(t, s, "configmaps", o)
		item := *o.DeepCopy()
		item.TypeMeta = metav1.TypeMeta{}
		want.Items = append(want.Items, item)
	}
	want.TypeMeta = metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}
	want.ResourceVersion = formatVersion(s.store.ResourceVersion())
	wantText, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if _, body := askServer(t, s, "GET", "/api/v1/namespaces/default/configmaps"); body != string(wantText) {
		t.Errorf("got\n%s\nwant\n%s", body, wantText)
	}
}

func TestNegotiation(t *testing.T) {
	s := newQuiet(t)
	putObject(t, s, "configmaps", &corev1.ConfigMap{ObjectMeta: metaNamed("default", "a")})
	const one, all = "/api/v1/namespaces/default/configmaps/a", "/api/v1/namespaces/default/configmaps"
	const partial, partialList = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	tests := []struct {
		path, accept string
		code         int
		contentType  string
		contains     string
	}{
		{one, "", 200, "application/json", `{"kind":"ConfigMap","apiVersion":"v1",`},
		{one, "*/*", 200, "application/json", `{"kind":"ConfigMap"`},
		{one, "text/html, application/*;q=0.5", 200, "application/json", `{"kind":"ConfigMap"`},
		{one, "application/yaml", 200, "application/yaml", "kind: ConfigMap\n"},
		{one, "application/json;q=0.1, application/vnd.kubernetes.protobuf", 200, "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{one, "application/json;pretty=1", 200, "application/json", "{\n  \"kind\": \"ConfigMap\","},
		{one, partial, 200, "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"`},
		{one, strings.Replace(partial, "v1", "v1beta1", 1), 200, "application/json", `"apiVersion":"meta.k8s.io/v1beta1"`},
		{all, partialList, 200, "application/json", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"`},
		{all, partialList, 200, "application/json", `"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{`},
		{all, strings.Replace(partialList, "json", "vnd.kubernetes.protobuf", 1), 200, "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{one, partialList, 406, "application/json", "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"},
		{all, partial, 406, "application/json", "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"},
		{one, "application/json;as=Foo;g=meta.k8s.io;v=v1", 406, "application/json", `"only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"`},
		{one, "application/json;as=Foo;g=meta.k8s.io;v=v1, application/json", 200, "application/json", `"kind":"ConfigMap"`},
		{one, "text/html", 406, "application/json", `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"`},
		{all, "text/html", 406, "application/json", `application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"`},
		{all + "?watch=1", "application/yaml", 406, "application/yaml", "only the following media types are accepted: application/json;stream=watch"},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/vnd.kubernetes.protobuf, application/json", 200, "application/json", `"kind":"CustomResourceDefinitionList"`},
		{all + "/nope", "application/vnd.kubernetes.protobuf", 404, "application/vnd.kubernetes.protobuf", "k8s\x00\n\x0c\n\x02v1\x12\x06Status"},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.accept, func(t *testing.T) {
			var header []string
			if tt.accept != "" {
				header = append(header, "Accept: "+tt.accept)
			}
			resp, body := askServer(t, s, "GET", tt.path, header...)
			if resp.StatusCode != tt.code || resp.Header.Get("Content-Type") != tt.contentType || !strings.Contains(body, tt.contains) {
				t.Errorf("%d %s\n%q\nwant %d %s with\n%q", resp.StatusCode, resp.Header.Get("Content-Type"), body, tt.code, tt.contentType, tt.contains)
			}
		})
	}
}
