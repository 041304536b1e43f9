package decode

import "unsafe"

// minWeight is what an interner may remember, in bytes of messages, however few
// the objects are.
const minWeight = 256 << 10

// maxShared is the longest value worth remembering for other objects to share:
// what is longer is rarely equal, and costs much while nobody shares it.
const maxShared = 16 << 10

// entryWeight is what an entry costs besides its value.
const entryWeight = 64

// shared is a value that several objects have: a pointer or a map (n is 0), or
// the array of a slice (n is its length). It is never changed.
type shared struct {
	ptr unsafe.Pointer
	n   int
}

// interner remembers values and strings for the objects of one kind to share.
// It has two generations: what is used is in the young one, and once that weighs
// more than its bound the old one is dropped and the young one becomes old.
type interner struct {
	values, oldValues   map[sum]shared
	strings, oldStrings map[string]string

	weight, oldWeight int // of the generations
	bound             int // of either weight
}

func newInterner() interner {
	return interner{values: map[sum]shared{}, strings: map[string]string{}, bound: minWeight}
}

// lookup returns what was stored under key. size is the length of the bytes
// that key is the sum of.
func (in *interner) lookup(key sum, size int) (shared, bool) {
	if v, ok := in.values[key]; ok {
		return v, true
	}
	v, ok := in.oldValues[key]
	if ok {
		in.store(key, size, v)
	}
	return v, ok
}

// store remembers v under key, which says what type v is of and by which bytes
// it was made. The memory of v must be typed as the Go type says, and belong to
// nothing bigger: it is kept as a whole.
func (in *interner) store(key sum, size int, v shared) {
	if size > maxShared {
		return
	}
	in.values[key] = v
	in.add(size)
}

// string returns data as a string, and whether it had been seen before.
func (in *interner) string(data []byte) (s string, seen bool) {
	if s, seen = in.strings[string(data)]; seen {
		return s, true
	}
	if s, seen = in.oldStrings[string(data)]; !seen {
		s = string(data)
	}
	if len(data) <= maxShared {
		in.strings[s] = s
		in.add(len(data))
	}
	return s, seen
}

func (in *interner) add(size int) {
	in.weight += size + entryWeight
	if in.weight > in.bound {
		in.age()
	}
}

// age drops the old generation.
func (in *interner) age() {
	in.oldValues, in.oldStrings, in.oldWeight = in.values, in.strings, in.weight
	in.values, in.strings, in.weight = map[sum]shared{}, map[string]string{}, 0
}

// limit bounds what is remembered: total is the length of all known objects'
// bytes.
func (in *interner) limit(total int) {
	in.bound = max(minWeight, total/8)
	if in.weight > in.bound {
		in.age()
	}
	if in.oldWeight > in.bound { // there are fewer objects than before
		in.oldValues, in.oldStrings, in.oldWeight = nil, nil, 0
	}
}

// credit tells whether it pays to intern the values of some field. The
// break-even is a third of them: those that are seen for the first time cost a
// lookup and an entry for nothing.
type credit struct{ left, pause int16 }

const (
	fullCredit  = 64
	firstCredit = 32
	probeCredit = 4
	pauseLength = 512
)

func newCredit() credit { return credit{left: firstCredit} }

// try reports whether the field's next value is to be interned; the outcome
// then goes to settle.
func (c *credit) try() bool {
	if c.left > 0 {
		return true
	}
	if c.pause--; c.pause > 0 {
		return false
	}
	c.left = probeCredit
	return true
}

func (c *credit) settle(seen bool) {
	if seen {
		c.left = min(c.left+2, fullCredit)
		return
	}
	if c.left--; c.left <= 0 {
		c.pause = pauseLength
	}
}
