package decode

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func newCompactDecoder() *Decoder {
	return New(func() Object { return &corev1.Pod{} }, &Options{DropManagedFields: true, Compact: true})
}

// The memory of one of 20,000 Pods.
func BenchmarkCompactHeap(b *testing.B) {
	messages := podMessages(b, 20_000, nil)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := newCompactDecoder()
		objects := decodeAll(b, d, messages)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(objects)), "heap-B/pod")
		delta := 0
		for _, o := range objects {
			delta += len(o.(*Compact).delta)
		}
		b.ReportMetric(float64(delta)/float64(len(objects)), "delta-B/pod")
		b.ReportMetric(float64(len(objects[1].(*Compact).base.text)), "base-B")
		runtime.KeepAlive(d)
		runtime.KeepAlive(objects)
	}
}

// One event of a Pod: decoded, to see that it can be, and made a Compact.
func BenchmarkCompactEvent(b *testing.B) {
	messages := podMessages(b, 2_000, nil)
	d, i := newCompactDecoder(), 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Protobuf(messages[i%len(messages)]); err != nil {
			b.Fatal(err)
		}
		i += 7
	}
}

// One read of a Pod.
func BenchmarkCompactNew(b *testing.B) {
	objects := decodeAll(b, newCompactDecoder(), podMessages(b, 2_000, nil))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := objects[i%len(objects)].(*Compact).New(); err != nil {
			b.Fatal(err)
		}
		i += 7
	}
}
