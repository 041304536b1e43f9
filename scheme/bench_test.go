package scheme_test

import (
	"testing"

	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func BenchmarkObjectKinds(b *testing.B) {
	s, pod := scheme.Builtin(), &corev1.Pod{}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.ObjectKinds(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGVKForObject(b *testing.B) {
	s, pod := scheme.Builtin(), &corev1.Pod{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.GVKForObject(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	s, gvk := scheme.Builtin(), corev1.SchemeGroupVersion.WithKind("Pod")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.New(gvk); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		scheme.Builtin()
	}
}

func BenchmarkInstall(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := scheme.Builtin().Install(addWidgets); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	s := scheme.Builtin()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	for _, media := range []string{mediaJSON, mediaProto} {
		b.Run(media, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encode(b, s, media, corev1.SchemeGroupVersion, pod)
			}
		})
	}
}
