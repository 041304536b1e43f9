package client_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// realisticPod has what a controller's replica has in a real cluster: two
// containers, probes, conditions, managedFields.
func realisticPod(b testing.TB) *corev1.Pod {
	b.Helper()
	data, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	var p corev1.Pod
	if err := json.Unmarshal(data, &p); err != nil {
		b.Fatal(err)
	}
	return &p
}

// variants are the ways in which a pod is read.
var variants = []struct {
	name, media string
	form        client.Form
}{
	{"typed-protobuf", protobufType, client.Typed},
	{"typed-json", jsonType, client.Typed},
	{"unstructured-json", jsonType, client.Unstructured},
	{"metadata-protobuf", protobufType, client.MetadataOnly},
}

// sent is the pod as a server sends it to the form, after some changes.
func sent(b testing.TB, media string, form client.Form, eventType string, changes ...func(*corev1.Pod)) []byte {
	p := realisticPod(b)
	for _, change := range changes {
		change(p)
	}
	if form == client.MetadataOnly {
		m := &metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}
		m.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
		if eventType == "" {
			return wire(b, media, m)
		}
		return frame(b, media, eventType, m)
	}
	if eventType == "" {
		return wire(b, media, p)
	}
	return frame(b, media, eventType, p)
}

func emptyOf(form client.Form) client.Object {
	switch form {
	case client.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(podKind)
		return u
	case client.MetadataOnly:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(podKind)
		return m
	}
	return &corev1.Pod{}
}

// BenchmarkGet is a whole Get but for the network: request, reply, decode.
func BenchmarkGet(b *testing.B) {
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			body := sent(b, v.media, v.form, "")
			s := bodies(b, &body)
			key := client.ObjectKey{Namespace: "default", Name: "a"}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := s.Get(b.Context(), key, emptyOf(v.form)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWatch is one event of a stream: frame, envelopes, decode. The events
// are those of one pod, whose status changes.
func BenchmarkWatch(b *testing.B) {
	for _, v := range variants {
		for _, shared := range []bool{false, true} {
			name := v.name + "/own"
			if shared {
				name = v.name + "/decoder"
			}
			b.Run(name, func(b *testing.B) {
				const batch = 200
				var body []byte
				for i := range batch {
					body = append(body, sent(b, v.media, v.form, "MODIFIED", func(p *corev1.Pod) {
						p.ResourceVersion = fmt.Sprint(100000 + i)
						p.Status.Conditions[i%3].Message = fmt.Sprint("message ", i)
					})...)
				}
				lw := podsOf(b, bodies(b, &body), v.form)
				if shared {
					lw = withDecoder(lw)
				}
				b.ReportAllocs()
				b.SetBytes(int64(len(body) / batch))
				left := 0
				for b.Loop() {
					// One iteration is one event; a stream is opened each 200.
					if left--; left > 0 {
						continue
					}
					left = batch
					n := 0
					for _, err := range lw.Watch(b.Context(), metav1.ListOptions{}) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
					if n != batch {
						b.Fatalf("%d events", n)
					}
				}
			})
		}
	}
}

// BenchmarkMergeFrom is the making of a patch that changes one label.
func BenchmarkMergeFrom(b *testing.B) {
	base := realisticPod(b)
	changed := base.DeepCopy()
	changed.Labels["changed"] = "yes"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.MergeFrom(base).Data(changed); err != nil {
			b.Fatal(err)
		}
	}
}
