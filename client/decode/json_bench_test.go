package decode

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jsonForms makes the Decoders whose cost is measured.
var jsonForms = []struct {
	name  string
	fresh func() Object
}{
	{"typed", func() Object { return &corev1.Pod{} }},
	{"unstructured", func() Object { return &unstructured.Unstructured{} }},
	{"metadata", func() Object { return &metav1.PartialObjectMetadata{} }},
}

func podTexts(t testing.TB, n int, change func(pod *corev1.Pod)) [][]byte {
	pods := newPods(t)
	var texts [][]byte
	for i := range n {
		pod := pods(i)
		if change != nil {
			change(pod)
		}
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

func decodeTexts(t testing.TB, d *Decoder, texts [][]byte) (objects []Object) {
	for _, text := range texts {
		_, obj, err := d.JSON(text)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// One Pod of 9.5 KB, by sigs.k8s.io/json.
func BenchmarkJSONTruth(b *testing.B) {
	texts := podTexts(b, 200, nil)
	for _, form := range jsonForms {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, err := jsonTruth(texts[i%len(texts)], form.fresh(), true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One Pod of an initial list: replicas of 50.
func BenchmarkJSONFirstSight(b *testing.B) {
	texts := podTexts(b, 2_000, nil)
	for _, form := range jsonForms {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			var d *Decoder
			i := len(texts)
			for b.Loop() {
				if i == len(texts) {
					b.StopTimer()
					d, i = New(form.fresh, &Options{DropManagedFields: true}), 0
					runtime.GC()
					b.StartTimer()
				}
				if _, _, err := d.JSON(texts[i]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// One event of a Pod that is known.
func BenchmarkJSONChange(b *testing.B) {
	for _, change := range []struct {
		what   string
		change func(pod *corev1.Pod, version int)
	}{
		{"status", changeStatus},
		{"metadata", changeMetadata},
		{"all", func(pod *corev1.Pod, version int) {
			changeStatus(pod, version)
			changeMetadata(pod, version)
			changeSpec(pod, version)
		}},
	} {
		var versions [4][][]byte
		for v := range versions {
			versions[v] = podTexts(b, 500, func(pod *corev1.Pod) {
				pod.ResourceVersion = fmt.Sprint(5000 + v)
				change.change(pod, v)
			})
		}
		events := slices.Concat(versions[1:]...)
		for _, form := range jsonForms {
			b.Run(change.what+"/"+form.name, func(b *testing.B) {
				b.ReportAllocs()
				var d *Decoder
				i := len(events)
				for b.Loop() {
					if i == len(events) { // else the interner would know them all
						b.StopTimer()
						d, i = New(form.fresh, &Options{DropManagedFields: true}), 0
						decodeTexts(b, d, versions[0])
						runtime.GC()
						b.StartTimer()
					}
					if _, _, err := d.JSON(events[i]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// The memory of one of 20,000 Pods.
func BenchmarkJSONHeap(b *testing.B) {
	texts := podTexts(b, 20_000, nil)
	for _, form := range jsonForms {
		b.Run(form.name, func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				d := New(form.fresh, &Options{DropManagedFields: true})
				objects := decodeTexts(b, d, texts)
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(objects)), "heap-B/pod")
				runtime.KeepAlive(d)
				runtime.KeepAlive(objects)
			}
		})
	}
}
