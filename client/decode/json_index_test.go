package decode

import "testing"

func BenchmarkJSONIndex(b *testing.B) {
	data := testPod(b)
	var x jsonIndex
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		x.reset()
		if n, complete := x.scan(data); n != len(data) || !complete || !x.valid(data) {
			b.Fatal("invalid")
		}
	}
}
