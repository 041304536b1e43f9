package decode

import (
	"encoding/binary"
	"math/bits"
)

// jsonEnd finds where a JSON value ends, over as many chunks as it comes in.
// It counts brackets and minds strings, and judges nothing else: whoever decodes
// the value will. The zero value is before a value.
type jsonEnd struct {
	first    byte   // of the value
	depth    int    // brackets that are open
	inString uint64 // 1 after the opening quote of a string, until the closing one
	escaped  uint64 // 1 if a backslash came last
	offset   int    // bytes seen in earlier chunks

	// children counts the objects and arrays directly within the value, lastEnd
	// is where the last of them ended.
	children int
	lastEnd  int
}

// scan looks at the next chunk, whose first byte, if it is the first chunk,
// begins the value. It returns how many bytes of the chunk belong to the value,
// and whether the value ends there. The end of a number shows only in the byte
// after it.
func (e *jsonEnd) scan(chunk []byte) (n int, complete bool) {
	if e.first == 0 && len(chunk) > 0 {
		e.first = chunk[0]
	}
	switch e.first {
	case '{', '[':
		n, complete = e.scanContainer(chunk)
	case '"':
		n, complete = e.scanString(chunk)
	default:
		n, complete = e.scanWord(chunk)
	}
	e.offset += n
	return n, complete
}

func (e *jsonEnd) scanContainer(chunk []byte) (n int, complete bool) {
	var tail [64]byte
	for ; n < len(chunk); n += 64 {
		block := &tail
		if n+64 <= len(chunk) {
			block = (*[64]byte)(chunk[n:])
		} else {
			copy(tail[:], chunk[n:])
		}
		quotes, brackets, odd := jsonMasks(block)
		if odd || e.escaped != 0 {
			slashes, _ := jsonOddMasks(block)
			escaped, after := jsonEscaped(slashes, e.escaped)
			if size := len(chunk) - n; size < 64 {
				after = escaped >> size & 1
			}
			quotes &^= escaped
			e.escaped = after
		}
		within := jsonWithin(quotes, e.inString)
		e.inString = within >> 63
		for found := brackets &^ within; found != 0; found &= found - 1 {
			i := bits.TrailingZeros64(found)
			switch block[i] {
			case '{', '[':
				e.depth++
			case '}', ']':
				e.depth--
				if e.depth <= 0 {
					return n + i + 1, true
				}
				if e.depth == 1 {
					e.children++
					e.lastEnd = e.offset + n + i + 1
				}
			}
		}
	}
	return len(chunk), false
}

func (e *jsonEnd) scanString(chunk []byte) (n int, complete bool) {
	for n < len(chunk) {
		if e.escaped != 0 {
			e.escaped = 0
			n++
			continue
		}
		if n = jsonStringStop(chunk, n); n == len(chunk) {
			break
		}
		switch chunk[n] {
		case '\\':
			e.escaped = 1
		case '"':
			if e.inString != 0 {
				return n + 1, true
			}
			e.inString = 1
		}
		n++
	}
	return n, false
}

// endsWithStream reports whether the value, a number or a word, may end where the
// stream does.
func (e *jsonEnd) endsWithStream() bool {
	return e.first != '"' && e.first != '{' && e.first != '['
}

func (e *jsonEnd) scanWord(chunk []byte) (n int, complete bool) {
	for n < len(chunk) {
		switch chunk[n] {
		case '"', '{', '[', '}', ']', ':', ',', ' ', '\t', '\r', '\n':
			return n, true
		}
		n++
	}
	return n, false
}

const (
	jsonOnes  = 0x0101010101010101
	jsonHighs = 0x8080808080808080
)

// jsonStringStop returns the index, from i on, of the first quote, backslash or
// control character; len(b) if there is none. It takes 8 bytes at a time.
func jsonStringStop(b []byte, i int) int {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote := x ^ (jsonOnes * '"')
		slash := x ^ (jsonOnes * '\\')
		// The lowest flag is exact; higher ones may be false after a borrow.
		stop := ((quote - jsonOnes) &^ quote) | ((slash - jsonOnes) &^ slash) | ((x - jsonOnes*' ') &^ x)
		if stop &= jsonHighs; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return min(i, len(b))
}
