package decode

import (
	"encoding/binary"
	"math/bits"
)

// jsonEnd finds where a JSON value ends, over as many chunks as it comes in.
// It counts brackets and minds strings, and judges nothing else: whoever decodes
// the value will. The zero value is before a value.
type jsonEnd struct {
	depth    int
	inString bool
	escaped  bool // the last byte was a backslash in a string
	bare     bool // within a number or a word at depth 0
	offset   int  // bytes seen in earlier chunks

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
	depth, i := e.depth, 0
	defer func() { e.offset += n }()
	if e.inString {
		goto str
	}
plain:
	for ; i < len(chunk); i++ {
		switch jsonClass[chunk[i]] {
		case jsonQuote:
			if e.bare {
				return i, true
			}
			e.inString = true
			i++
			goto str
		case jsonOpen:
			if e.bare {
				return i, true
			}
			depth++
		case jsonClose:
			if e.bare {
				return i, true
			}
			depth--
			if depth <= 0 {
				return i + 1, true
			}
			if depth == 1 {
				e.children++
				e.lastEnd = e.offset + i + 1
			}
		case jsonDelimiter:
			if depth == 0 {
				return i, true
			}
		case jsonOther:
			if depth == 0 {
				e.bare = true
			}
		}
	}
	e.depth = depth
	return i, false
str:
	if e.escaped && i < len(chunk) {
		e.escaped = false
		i++
	}
	for {
		i = jsonStringStop(chunk, i)
		if i >= len(chunk) {
			e.depth = depth
			return len(chunk), false
		}
		if chunk[i] == '"' {
			break
		}
		if chunk[i] != '\\' {
			i++ // a control character: whoever decodes will complain
			continue
		}
		if i+1 == len(chunk) {
			e.escaped, e.depth = true, depth
			return len(chunk), false
		}
		i += 2
	}
	i++
	e.inString = false
	if depth == 0 {
		return i, true
	}
	goto plain
}

// What a byte is, outside of strings.
const (
	jsonOther     = iota // digits, letters, and what has no place in JSON
	jsonQuote            // "
	jsonOpen             // { [
	jsonClose            // } ]
	jsonDelimiter        // : , and white space
)

var jsonClass = [256]uint8{
	'"': jsonQuote,
	'{': jsonOpen, '[': jsonOpen,
	'}': jsonClose, ']': jsonClose,
	':': jsonDelimiter, ',': jsonDelimiter,
	' ': jsonDelimiter, '\t': jsonDelimiter, '\r': jsonDelimiter, '\n': jsonDelimiter,
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
