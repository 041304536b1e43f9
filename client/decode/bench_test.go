package decode

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func newPodDecoder() *Decoder {
	return New(func() Object { return &corev1.Pod{} }, &Options{DropManagedFields: true})
}

func podMessages(t testing.TB, n int, change func(pod *corev1.Pod)) [][]byte {
	pods := newPods(t)
	var messages [][]byte
	for i := range n {
		pod := pods(i)
		if change != nil {
			change(pod)
		}
		messages = append(messages, marshal(t, pod))
	}
	return messages
}

func decodeAll(t testing.TB, d *Decoder, messages [][]byte) (objects []Object) {
	for _, m := range messages {
		obj, err := d.Protobuf(m)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// One Pod of 6.5 KB, by the code that protobuf generated.
func BenchmarkProtobufGenerated(b *testing.B) {
	messages := podMessages(b, 200, nil)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := new(corev1.Pod).Unmarshal(messages[i%len(messages)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// One Pod of an initial list: replicas of 50.
func BenchmarkProtobufFirstSight(b *testing.B) {
	messages := podMessages(b, 5_000, nil)
	b.ReportAllocs()
	d, i := newPodDecoder(), 0
	for b.Loop() {
		if i == len(messages) {
			b.StopTimer()
			d, i = newPodDecoder(), 0
			runtime.GC()
			b.StartTimer()
		}
		if _, err := d.Protobuf(messages[i]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// One event of a Pod that is known.
func BenchmarkProtobufChange(b *testing.B) {
	for _, bb := range []struct {
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
		b.Run(bb.what, func(b *testing.B) {
			var versions [4][][]byte
			for v := range versions {
				versions[v] = podMessages(b, 1_000, func(pod *corev1.Pod) {
					pod.ResourceVersion = fmt.Sprint(5000 + v)
					bb.change(pod, v)
				})
			}
			events := slices.Concat(versions[1:]...)
			b.ReportAllocs()
			var d *Decoder
			i := len(events)
			for b.Loop() {
				if i == len(events) { // else the interner would know them all
					b.StopTimer()
					d, i = newPodDecoder(), 0
					decodeAll(b, d, versions[0])
					runtime.GC()
					b.StartTimer()
				}
				if _, err := d.Protobuf(events[i]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func changeStatus(pod *corev1.Pod, version int) {
	pod.Status.ContainerStatuses[0].RestartCount = int32(version)
	pod.Status.Conditions[1].LastTransitionTime.Time = pod.CreationTimestamp.AddDate(0, 0, version)
}

func changeMetadata(pod *corev1.Pod, version int) {
	pod.Annotations["seen-by"] = fmt.Sprint(pod.Name, version)
}

func changeSpec(pod *corev1.Pod, version int) {
	pod.Spec.Containers[0].Image = fmt.Sprintf("registry.example.test/platform/app:v%d", version)
}

// The memory of one of 20,000 Pods.
func BenchmarkProtobufHeap(b *testing.B) {
	messages := podMessages(b, 20_000, nil)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := newPodDecoder()
		objects := decodeAll(b, d, messages)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(objects)), "heap-B/pod")
		runtime.KeepAlive(d)
		runtime.KeepAlive(objects)
	}
}
