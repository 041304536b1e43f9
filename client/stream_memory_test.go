package client_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// heavy is a pod of about so many bytes.
func heavy(name string, size int) *corev1.Pod {
	p := served(name, "1")
	p.Annotations = map[string]string{"heavy": strings.Repeat("x", size)}
	return p
}

// repeated is a body that nobody holds as a whole: a beginning, n times a
// middle, an end.
func repeated(beginning, middle []byte, n int, end []byte) io.Reader {
	parts := []io.Reader{bytes.NewReader(beginning)}
	for range n {
		parts = append(parts, bytes.NewReader(middle))
	}
	return io.MultiReader(append(parts, bytes.NewReader(end))...)
}

// listBody is a list of n equal pods.
func listBody(t *testing.T, media string, p *corev1.Pod, n int) io.Reader {
	if media == jsonType {
		whole := bytes.TrimSpace(wire(t, media, p))
		return repeated([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`),
			append(bytes.Clone(whole), ','), n-1, append(bytes.Clone(whole), `]}`...))
	}
	message, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	item := append(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(message))), message...)
	meta := []byte("\x0a\x0d\x0a\x02v1\x12\x07PodList") // field 1: TypeMeta
	beginning := append([]byte("k8s\x00"), meta...)
	beginning = binary.AppendUvarint(append(beginning, 2<<3|2), uint64(n*len(item)))
	return repeated(beginning, item, n, nil)
}

// Contract 10: a list takes the memory of one item, not of all: here 30 MB are
// listed in a few.
func TestListMemoryIsBounded(t *testing.T) {
	const items, size, most = 16, 256 << 10, 2 << 20
	for _, media := range []string{jsonType, protobufType} {
		t.Run(media, func(t *testing.T) {
			lw := podsOf(t, bodiesOf(t, func() io.Reader { return listBody(t, media, heavy("a", size), items) }), client.Typed)
			before, peak, n := heap(), 0, 0
			if _, err := lw.List(t.Context(), metav1.ListOptions{}, func(obj client.Object, err error) bool {
				if err != nil || len(obj.GetAnnotations()["heavy"]) != size {
					t.Fatalf("object %v, error %v", obj.GetName(), err)
				}
				if n++; n%4 == 0 {
					peak = max(peak, heap()-before)
				}
				return true
			}); err != nil || n != items {
				t.Fatalf("%d items, error %v", n, err)
			}
			if peak > most {
				t.Errorf("%d kB are in use, want at most %d", peak>>10, most>>10)
			}
		})
	}
}

// Contract 9: after a giant a watch gives back what it took for it, even if
// nothing comes after it but the wait.
func TestWatchGivesMemoryBack(t *testing.T) {
	for _, media := range []string{jsonType, protobufType} {
		for _, next := range []string{"a small event", "nothing"} {
			t.Run(media+", then "+next, func(t *testing.T) {
				giant := frame(t, media, "ADDED", heavy("giant", 3<<19))
				small := frame(t, media, "ADDED", served("small", "2"))
				before, after := 0, 0
				quiet := readerFunc(func([]byte) (int, error) {
					if next == "nothing" {
						after = heap()
					}
					return 0, io.EOF
				})
				body := io.MultiReader(bytes.NewReader(small), bytes.NewReader(giant), quiet, bytes.NewReader(small))
				lw := podsOf(t, bodiesOf(t, func() io.Reader { return body }), client.Typed)
				for ev, err := range lw.Watch(t.Context(), metav1.ListOptions{}) {
					switch {
					case err != nil:
						t.Fatal(err)
					case ev.Object.GetName() == "giant":
					case before == 0:
						before = heap()
					case next != "nothing":
						after = heap()
					}
				}
				if kept := after - before; before == 0 || after == 0 || kept > 600<<10 {
					t.Errorf("%d kB are still in use", kept>>10)
				}
				runtime.KeepAlive(giant)
			})
		}
	}
}

// Contract 9: what a stream claims of its length takes no memory, what comes does.
func TestClaimedLengthTakesNoMemory(t *testing.T) {
	body := append([]byte{3, 0, 0, 0}, make([]byte, 100<<10)...) // 48 MB, they say
	lw := podsOf(t, bodies(t, &body), client.Typed)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := seen(t.Context(), lw); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 2<<20 {
		t.Errorf("%d kB were taken for %d", took>>10, len(body)>>10)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
