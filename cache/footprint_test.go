package cache

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"governor/client"
	"governor/client/decode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// replicas returns the JSON and the protobuf of Pods, 50 for each of their owners.
func replicas(t testing.TB, n int) (texts, messages [][]byte) {
	t.Helper()
	text, err := os.ReadFile("../client/decode/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		pod := &corev1.Pod{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "service-0", fmt.Sprintf("service-%d", i/50))), pod); err != nil {
			t.Fatal(err)
		}
		pod.Name, pod.UID, pod.ResourceVersion = fmt.Sprintf("%s%05d", pod.GenerateName, i), types.UID(fmt.Sprintf("uid-%032d", i)), fmt.Sprint(1000+i)
		pod.OwnerReferences[0].UID = types.UID(fmt.Sprintf("owner-%030d", i/50))
		pod.Spec.NodeName, pod.Status.PodIP = fmt.Sprintf("node-%d", i%200), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		message, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		texts, messages = append(texts, text), append(messages, message)
	}
	return texts, messages
}

// The guess is near what the heap grows by, in each form and tier.
func TestFootprint(t *testing.T) {
	const n = 2000
	texts, messages := replicas(t, n)
	typed := func() decode.Object { return &corev1.Pod{} }
	loose := func() decode.Object { return &unstructured.Unstructured{} }
	metadata := func() decode.Object { return &metav1.PartialObjectMetadata{} }
	for _, tt := range []struct {
		name  string
		fresh func() decode.Object
		data  [][]byte
		o     *decode.Options
	}{
		{"typed", typed, messages, &decode.Options{DropManagedFields: true}},
		{"unstructured", loose, texts, &decode.Options{DropManagedFields: true}},
		{"metadata-only", metadata, messages, &decode.Options{DropManagedFields: true}},
		{"typed, compact", typed, messages, &decode.Options{DropManagedFields: true, Compact: true}},
		{"unstructured, compact", loose, texts, &decode.Options{DropManagedFields: true, Compact: true}},
		{"managedFields, compact", typed, messages, &decode.Options{Compact: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			x, d := NewIndexer(), decode.New(tt.fresh, tt.o)
			objects := make([]client.Object, n)
			for i := range objects {
				var err error
				if tt.data[i][0] == '{' {
					_, objects[i], err = d.JSON(tt.data[i])
				} else {
					objects[i], err = d.Protobuf(tt.data[i])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Replace(objects, "1"); err != nil {
				t.Fatal(err)
			}
			objects, d = nil, nil
			got := float64(heap()-before) / n
			st := x.acquire()
			guess := float64(st.footprint())
			x.release(st)
			t.Logf("%.0f bytes each, guessed %.0f", got, guess)
			if guess < 0.7*got || guess > 1.4*got {
				t.Errorf("%.0f bytes each, guessed %.0f", got, guess)
			}
			runtime.KeepAlive(x)
		})
	}
	st := NewIndexer().acquire()
	if got := st.footprint(); got != 0 {
		t.Errorf("an empty store has %d bytes", got)
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	var m runtime.MemStats
	for range 3 { // what a weak pointer or a finalizer kept goes with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
