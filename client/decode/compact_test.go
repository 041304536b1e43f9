package decode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestCompactIsWhatWasDecoded(t *testing.T) {
	messages := podMessages(t, 200, nil)
	d := newCompactDecoder()
	for _, m := range messages {
		obj, err := d.Protobuf(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := obj.(*Compact).New()
		if err != nil {
			t.Fatal(err)
		}
		want := &corev1.Pod{}
		if err := want.Unmarshal(m); err != nil {
			t.Fatal(err)
		}
		want.ManagedFields = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
