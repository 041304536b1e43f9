package decode

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A delta makes a text from a window: what comes before the text, which whoever
// expands the delta has as well.
//
//	delta   length of the text, then runs until it is complete
//	run     literal length, literal bytes, copy length, copy source
//
// The source is a place in the window, or in the text before it; it is written as
// the distance from where the last copy would have gone on. Two texts that differ
// here and there are so a few short runs. All numbers are varints. The last run of
// a text that ends with a literal has no copy.
//
// It is LZ77 with a preset window, without entropy coding: fast, and it needs no
// tables to expand.

const (
	// minCopy is the shortest copy where the last one would have gone on, which
	// costs two or three bytes.
	minCopy = 4
	// hashed is how many bytes are looked up to find any other copy.
	hashed = 8
	// stride is from how many bytes of the window one is looked up: enough, since
	// copies are extended backwards.
	stride = 4
	// hashBits is the size of the table: of more texts than 32 KB, not all is found.
	hashBits = 13
	// maxText bounds what is expanded: no object is larger.
	maxText = 64 << 20
)

// deltaWriter makes deltas. It keeps its buffers; one goroutine at a time.
type deltaWriter struct {
	table  [1 << hashBits]uint32 // where such bytes were last, plus one; any may be wrong
	window string                // the window that table is of
	text   []byte                // window, head and text
	out    []byte
}

func hashOf(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9E3779B97F4A7C15 >> (64 - hashBits)
}

// keptText is the largest buffer that is kept between two texts.
const keptText = 256 << 10

// write returns the delta that makes text from window and head. It is good until
// the next call. A window that is the same one as in the last call costs less.
func (w *deltaWriter) write(window, head string, text []byte) []byte {
	if cap(w.text) > keptText || cap(w.out) > keptText {
		w.text, w.out = nil, nil
	}
	w.text = append(append(append(w.text[:0], window...), head...), text...)
	if window != w.window || window == "" {
		clear(w.table[:])
		w.window = window
		w.index(0, len(window))
	}
	start := len(window) + len(head)
	w.index(len(window), start)
	w.out = binary.AppendUvarint(w.out[:0], uint64(len(text)))
	literal, next := start, 0 // where the literal began; where the last copy would go on
	for i := start; i < len(w.text); {
		from, to, size := w.find(i, literal, next+i-literal)
		if size == 0 {
			i++
			continue
		}
		w.out = binary.AppendUvarint(w.out, uint64(to-literal))
		w.out = append(w.out, w.text[literal:to]...)
		w.out = binary.AppendUvarint(w.out, uint64(size))
		w.out = binary.AppendVarint(w.out, int64(from-(next+to-literal)))
		i, literal, next = to+size, to+size, from+size
	}
	if literal < len(w.text) {
		w.out = binary.AppendUvarint(w.out, uint64(len(w.text)-literal))
		w.out = append(w.out, w.text[literal:]...)
	}
	return w.out
}

// index notes some of the places from i to end.
func (w *deltaWriter) index(i, end int) {
	for end = min(end, len(w.text)-hashed+1); i < end; i += stride {
		w.look(i)
	}
}

// look returns where the bytes at i may have been before, or -1, and notes where
// they are. What is in the window stays noted, for all texts.
func (w *deltaWriter) look(i int) (before int) {
	at := &w.table[hashOf(w.text[i:])]
	before = int(*at) - 1
	if before < 0 || before >= len(w.window) {
		*at = uint32(i + 1)
	}
	return before
}

// find returns a copy for the text at i: from where, to where, and how much; 0 if
// there is none worth while. literal is how far back it may begin.
func (w *deltaWriter) find(i, literal, expected int) (from, to, size int) {
	if expected < i {
		if size = w.equal(expected, i); size >= minCopy {
			return expected, i, size
		}
	}
	if i+hashed > len(w.text) {
		return 0, 0, 0
	}
	from, to = w.look(i), i
	if from < 0 || from >= i {
		return 0, 0, 0 // of another text
	}
	if size = w.equal(from, i); size < hashed {
		return 0, 0, 0
	}
	for from > 0 && to > literal && w.text[from-1] == w.text[to-1] {
		from, to, size = from-1, to-1, size+1
	}
	return from, to, size
}

// equal returns how many bytes are the same at a and, after it, at b.
func (w *deltaWriter) equal(a, b int) int {
	n := 0
	for len(w.text)-b-n >= 8 {
		if x := binary.LittleEndian.Uint64(w.text[a+n:]) ^ binary.LittleEndian.Uint64(w.text[b+n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for b+n < len(w.text) && w.text[a+n] == w.text[b+n] {
		n++
	}
	return n
}

// expand appends window, head, and the text that a delta makes of them, to
// buf[:0], and returns all of it, and where the text begins. False means that it
// is not a delta that was made with these.
func expand(buf []byte, window, head, delta string) (all []byte, start int, ok bool) {
	length, n := uvarintOf(delta)
	if n == 0 || length > maxText {
		return buf, 0, false
	}
	delta = delta[n:]
	start = len(window) + len(head)
	end := start + int(length)
	buf = append(append(slices.Grow(buf[:0], end), window...), head...)
	for next := 0; len(buf) < end; {
		literal, n := uvarintOf(delta)
		if n == 0 || literal > uint64(min(len(delta)-n, end-len(buf))) {
			return buf, 0, false
		}
		buf = append(buf, delta[n:n+int(literal)]...)
		delta = delta[n+int(literal):]
		if len(buf) == end {
			break
		}
		size, n := uvarintOf(delta)
		step, m := uvarintOf(delta[n:])
		from := next + int(literal) + int(int64(step>>1)^-int64(step&1))
		if n == 0 || m == 0 || size > uint64(end-len(buf)) || from < 0 || from >= len(buf) {
			return buf, 0, false
		}
		delta = delta[n+m:]
		next = from + int(size)
		for left := int(size); left > 0; { // it may go on into what it writes
			c := min(left, len(buf)-from)
			buf = append(buf, buf[from:from+c]...)
			from, left = from+c, left-c
		}
	}
	return buf, start, len(delta) == 0
}

// uvarintOf reads a number, and returns of how many bytes it is; 0 if it is none.
func uvarintOf(s string) (v uint64, n int) {
	for shift := uint(0); n < len(s) && shift < 64; shift += 7 {
		c := s[n]
		n++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}
