package decode

import "hash/maphash"

// sum stands for some bytes: equal sums are taken for equal bytes. 128 bits
// under a secret key make a collision less likely than a fault of the memory,
// also for someone who chooses the bytes.
type sum struct{ a, b uint64 }

// salted returns the sum of the same bytes in another meaning, such as those of
// another Go type.
func (s sum) salted(salt sum) sum { return sum{s.a + salt.a, s.b + salt.b} }

// hasher makes sums. Those of two hashers do not compare.
type hasher struct{ a, b maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h *hasher) sum(data []byte) sum {
	return sum{maphash.Bytes(h.a, data), maphash.Bytes(h.b, data)}
}

// salt is the sum of a name, to be given to salted.
func (h *hasher) salt(name string) sum {
	return sum{maphash.String(h.a, name), maphash.String(h.b, name)}
}
