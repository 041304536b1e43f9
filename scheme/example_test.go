package scheme_test

import (
	"fmt"

	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A scheme for built-in kinds and those of an API package, whose generated
// AddToScheme is used as it is.
func ExampleScheme_Install() {
	s := scheme.Builtin()
	if err := s.Install(addWidgets); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.GVKForObject(&corev1.ConfigMap{}))
	fmt.Println(s.GVKForObject(&Widget{}))
	// Output:
	// /v1, Kind=ConfigMap <nil>
	// example.dev/v1, Kind=Widget <nil>
}

// Two types claim one kind: the error names both, and nothing is registered.
func ExampleConflictError() {
	s := scheme.New()
	_ = s.AddKnownTypes(v1, &Widget{})
	err := s.AddKnownTypeWithName(v1.WithKind("Widget"), &Gadget{})
	fmt.Println(err)
	// Output:
	// scheme: kind example.dev/v1 Widget belongs to governor/scheme_test.Widget and cannot be governor/scheme_test.Gadget as well
}

// One type under two kinds: the object has to say which.
func ExampleScheme_GVKForObject() {
	s := scheme.New()
	_ = s.AddKnownTypes(v1, &Widget{})
	_ = s.AddKnownTypes(other1, &Widget{})
	var w Widget
	_, err := s.GVKForObject(&w)
	fmt.Println(err)
	w.SetGroupVersionKind(other1.WithKind("Widget"))
	fmt.Println(s.GVKForObject(&w))
	// Output:
	// *scheme_test.Widget may be example.dev/v1 Widget or other.dev/v1 Widget: set its TypeMeta to say which
	// other.dev/v1, Kind=Widget <nil>
}

// The serializers write the kind, whatever the object's TypeMeta says.
func ExampleScheme_Codecs() {
	codecs := scheme.Builtin().Codecs()
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	ns := &corev1.Namespace{}
	ns.Name = "demo"
	data, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), ns)
	fmt.Print(string(data), err, "\n")
	// Output:
	// {"kind":"Namespace","apiVersion":"v1","metadata":{"name":"demo"},"spec":{},"status":{}}
	// <nil>
}
