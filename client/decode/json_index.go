package decode

import (
	"encoding/binary"
	"math/bits"
)

// maxJSONDepth is how deep a value may be for the fast path. sigs.k8s.io/json
// allows 10,000: far below it, nothing depends on where in an object a shared
// value was found.
const maxJSONDepth = 1000

// maxJSONLength is how long a text may be for the fast path, whose index may take
// as much again several times. etcd stores 1.5 MB by default, and 8 MB is the
// most that its operators are advised to allow.
const maxJSONLength = 8 << 20

// keptIndex is up to which size an index is kept for the next text.
const keptIndex = 1 << 18

// jsonIndex says where in a text the strings, objects and arrays are. With it
// the end of a value is known where it begins. What is between them is not
// checked yet.
type jsonIndex struct {
	data []byte
	at   []int32 // the offsets of quotes, and of brackets outside of strings
	mate []int32 // for an opening bracket the index of the closing one, in at
	open []int32 // scratch
}

// build makes the index of data. It is false if strings or brackets are invalid,
// or if data is too long or too deep for the fast path.
func (x *jsonIndex) build(data []byte) bool {
	x.data = data
	return len(data) <= maxJSONLength && x.find() && x.match()
}

// release lets go of the text.
func (x *jsonIndex) release() {
	x.data = nil
	if cap(x.at) > keptIndex {
		x.at, x.mate, x.open = nil, nil, nil
	}
}

// find fills x.at, 64 bytes at a time.
func (x *jsonIndex) find() bool {
	data, at := x.data, x.at[:0]
	if need := len(data) + 64; cap(at) < need/4 {
		at = make([]int32, 0, need/4) // most texts have fewer
	}
	var inString, escaped uint64 // 1 or 0, what the block before ended in
	var tail [64]byte
	for base := 0; base < len(data); base += 64 {
		var block *[64]byte
		if base+64 <= len(data) {
			block = (*[64]byte)(data[base:])
		} else {
			block = &tail
			for n := copy(tail[:], data[base:]); n < 64; n++ {
				tail[n] = ' '
			}
		}
		quotes, brackets, odd := jsonMasks(block)
		if odd || escaped != 0 {
			slashes, controls := jsonOddMasks(block)
			var after uint64
			after, escaped = jsonEscaped(slashes, escaped)
			quotes &^= after
			within := jsonWithin(quotes, inString)
			if controls&within != 0 || !x.checkEscapes(base, slashes&^after&within) {
				return false
			}
		}
		within := jsonWithin(quotes, inString)
		inString = within >> 63
		for found := quotes | brackets&^within; found != 0; found &= found - 1 {
			at = append(at, int32(base+bits.TrailingZeros64(found)))
		}
	}
	x.at = at
	return inString == 0
}

// jsonMasks returns where quotes and brackets are. brackets may have bytes that
// are none; outside of strings, none of those is valid JSON. odd is true if there
// are backslashes or control characters.
func jsonMasks(block *[64]byte) (quotes, brackets uint64, odd bool) {
	var odds uint64
	for i := uint(0); i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(block[i:])
		quotes |= jsonZeros(x^jsonOnes*'"') << (i & 63)
		// { [ } ] become 0, and so do Y y _ and DEL.
		brackets |= jsonZeros(((x|jsonOnes*0x20)^jsonOnes*'{')&^(jsonOnes*6)) << (i & 63)
		slash := x ^ jsonOnes*'\\'
		odds |= (slash-jsonOnes)&^slash | (x-jsonOnes*' ')&^x
	}
	return quotes, brackets, odds&jsonHighs != 0
}

// jsonOddMasks returns where backslashes and control characters are.
func jsonOddMasks(block *[64]byte) (slashes, controls uint64) {
	for i := uint(0); i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(block[i:])
		slashes |= jsonZeros(x^jsonOnes*'\\') << (i & 63)
		controls |= jsonZeros(x&(jsonOnes*0xe0)) << (i & 63)
	}
	return slashes, controls
}

// jsonZeros returns a bit for each byte of x, set if the byte is 0.
func jsonZeros(x uint64) uint64 {
	const low = ^uint64(jsonHighs)
	return ^((x&low + low) | x | low) * 0x0002040810204081 >> 56
}

// jsonEscaped returns which bytes a backslash escapes, and whether that is so
// for the first byte after the block; escaped is the same for its first byte.
func jsonEscaped(slashes, escaped uint64) (all, after uint64) {
	for slashes &^= escaped; slashes != 0; {
		i := bits.TrailingZeros64(slashes)
		if i == 63 {
			return escaped, 1
		}
		escaped |= 2 << (i & 63)
		slashes &^= 3 << (i & 63)
	}
	return escaped, 0
}

// jsonWithin returns which bytes are in a string: from its opening quote on, to
// the byte before the closing one.
func jsonWithin(quotes, inString uint64) uint64 {
	for shift := 1; shift < 64; shift <<= 1 {
		quotes ^= quotes << shift
	}
	return quotes ^ -inString
}

// checkEscapes looks at what follows each backslash of slashes, whose bits count
// from base.
func (x *jsonIndex) checkEscapes(base int, slashes uint64) bool {
	for ; slashes != 0; slashes &= slashes - 1 {
		i := base + bits.TrailingZeros64(slashes) + 1
		if i >= len(x.data) {
			return false
		}
		switch x.data[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if _, ok := jsonHex(x.data, i+1); !ok {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// match fills x.mate.
func (x *jsonIndex) match() bool {
	if cap(x.mate) < len(x.at) {
		x.mate = make([]int32, cap(x.at))
	}
	mate, open := x.mate[:len(x.at)], x.open[:0]
	for k := 0; k < len(x.at); k++ {
		switch c := x.data[x.at[k]]; c {
		case '"':
			k++ // the closing quote
		case '{', '[':
			open = append(open, int32(k))
		case '}', ']':
			if len(open) == 0 {
				return false
			}
			top := open[len(open)-1]
			if open = open[:len(open)-1]; x.data[x.at[top]] != c-2 { // as in ASCII
				return false
			}
			mate[top] = int32(k)
		default:
			return false
		}
		if len(open) > maxJSONDepth {
			return false
		}
	}
	x.mate, x.open = mate, open
	return len(open) == 0
}
