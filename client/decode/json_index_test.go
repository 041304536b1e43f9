package decode

import "testing"

func BenchmarkJSONIndex(b *testing.B) {
	data := testPod(b)
	var x jsonIndex
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !x.build(data) {
			b.Fatal("invalid")
		}
	}
}
