package decode

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func newCompactDecoder() *Decoder {
	return New(func() Object { return &corev1.Pod{} }, &Options{DropManagedFields: true, Compact: true})
}

// compactForms are what is measured: bytes, and the Decoder of them.
var compactForms = []struct {
	name    string
	objects func(t testing.TB, n int) [][]byte
	fresh   func() Object
	decode  func(t testing.TB, d *Decoder, data [][]byte) []Object
}{
	{"protobuf", func(t testing.TB, n int) [][]byte { return podMessages(t, n, nil) }, func() Object { return &corev1.Pod{} }, decodeAll},
	{"unstructured", func(t testing.TB, n int) [][]byte { return podTexts(t, n, nil) }, func() Object { return &unstructured.Unstructured{} }, decodeTexts},
}

// The memory of one of 20,000 Pods.
func BenchmarkCompactHeap(b *testing.B) {
	for _, f := range compactForms {
		b.Run(f.name, func(b *testing.B) {
			data := f.objects(b, 20_000)
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				d := New(f.fresh, &Options{DropManagedFields: true, Compact: true})
				objects := f.decode(b, d, data)
				for range 2 { // the second frees what weak pointers were of
					runtime.GC()
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(objects)), "heap-B/pod")
				runtime.KeepAlive(d)
				runtime.KeepAlive(objects)
			}
		})
	}
}

// One event: decoded, to see that it can be, and made a Compact.
func BenchmarkCompactEvent(b *testing.B) {
	for _, f := range compactForms {
		b.Run(f.name, func(b *testing.B) {
			data := f.objects(b, 2_000)
			d, i := New(f.fresh, &Options{DropManagedFields: true, Compact: true}), 0
			b.ReportAllocs()
			for b.Loop() {
				f.decode(b, d, data[i:i+1])
				i = (i + 7) % len(data)
			}
		})
	}
}

// One read.
func BenchmarkCompactNew(b *testing.B) {
	for _, f := range compactForms {
		b.Run(f.name, func(b *testing.B) {
			objects := f.decode(b, New(f.fresh, &Options{DropManagedFields: true, Compact: true}), f.objects(b, 2_000))
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := objects[i].(*Compact).New(); err != nil {
					b.Fatal(err)
				}
				i = (i + 7) % len(objects)
			}
		})
	}
}

// What New costs without a delta: the generated Unmarshal is BenchmarkProtobufGenerated.
func BenchmarkExpand(b *testing.B) {
	c := decodeAll(b, newCompactDecoder(), podMessages(b, 100, nil))[99].(*Compact)
	var buf []byte
	for b.Loop() {
		buf, _, _ = expand(buf, c.base.text, c.head(), c.delta[1:])
	}
}

// What an event costs besides its decoding.
func BenchmarkDelta(b *testing.B) {
	messages := podMessages(b, 2_000, nil)
	d := newCompactDecoder()
	objects := decodeAll(b, d, messages)
	w, i := &deltaWriter{}, 0
	for b.Loop() {
		c := objects[i].(*Compact)
		w.write(c.base.text, c.head(), messages[i])
		i = (i + 57) % len(messages) // another base each time
	}
}
