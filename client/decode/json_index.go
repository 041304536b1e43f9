package decode

import (
	"math/bits"
	"slices"
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

// jsonIndex says where in a text, an object or an array, the strings, objects and
// arrays are. With it the end of a value is known where it begins. The text may
// come in chunks. Its end is where as many brackets were closed as were opened;
// what is between the brackets and strings is not checked.
type jsonIndex struct {
	at   []int32 // the offsets of quotes, and of brackets outside of strings
	mate []int32 // for an opening bracket the index of the closing one, in at

	depth    int
	inString uint64  // 1 after the opening quote of a string, until the closing one
	escaped  uint64  // 1 if a backslash came last
	offset   int     // of the next chunk
	open     []int32 // the brackets that are open, by their index in at
	slashes  []int32 // the offsets of backslashes that escape something
	invalid  bool    // or too long, or too deep, for the fast path

	// children counts the objects and arrays directly within the text, lastEnd is
	// where the last of them ended.
	children int
	lastEnd  int
}

// reset makes x ready for the next text.
func (x *jsonIndex) reset() {
	if cap(x.at) > keptIndex || cap(x.slashes) > keptIndex {
		*x = jsonIndex{}
	}
	*x = jsonIndex{at: x.at[:0], mate: x.mate[:0], open: x.open[:0], slashes: x.slashes[:0]}
}

// scan indexes the next chunk; the first begins with the opening bracket. It
// returns how many bytes of the chunk belong to the text, and whether the text
// ends there.
func (x *jsonIndex) scan(chunk []byte) (n int, complete bool) {
	end := 0
	for n = 0; n < len(chunk) && end == 0; n += 64 {
		if len(chunk)-n >= 64 {
			end = x.block((*[64]byte)(chunk[n:]), x.offset+n, 64)
			continue
		}
		var tail [64]byte
		for i := copy(tail[:], chunk[n:]); i < 64; i++ {
			tail[i] = ' '
		}
		end = x.block(&tail, x.offset+n, len(chunk)-n)
	}
	if n = min(n, len(chunk)); end > 0 {
		n = (n-1)&^63 + end
	}
	x.offset += n
	return n, end > 0
}

// block indexes the next 64 bytes, of which size are not padding. end is the
// number of bytes up to where the text ends, 0 if it goes on.
func (x *jsonIndex) block(block *[64]byte, base, size int) (end int) {
	quotes, brackets, plain := jsonMasks(block)
	if !plain || x.escaped != 0 {
		quotes, brackets = x.odd(block, base, size)
	}
	within := jsonWithin(quotes, x.inString)
	x.inString = within >> 63
	brackets &^= within
	if base > maxJSONLength { // still its end is to be found
		x.at, x.mate, x.open, x.invalid = x.at[:0], x.mate[:0], x.open[:0], true
	}
	before := len(x.at)
	found := quotes | brackets
	for left := found; left != 0; left &= left - 1 {
		x.at = append(x.at, int32(base+bits.TrailingZeros64(left)))
	}
	if cap(x.mate) < len(x.at) {
		x.mate = slices.Grow(x.mate, len(x.at)-len(x.mate))
	}
	x.mate = x.mate[:len(x.at)]
	if brackets == 0 {
		return 0
	}
	return x.match(block, base, before, found, brackets)
}

// match matches the brackets of a block; found has the quotes as well, of which
// the first is the one at before in at.
func (x *jsonIndex) match(block *[64]byte, base, before int, found, brackets uint64) (end int) {
	open, depth := x.open, x.depth
	for ; brackets != 0; brackets &= brackets - 1 {
		i := bits.TrailingZeros64(brackets)
		k := int32(before + bits.OnesCount64(found&(1<<i-1)))
		c := block[i]
		switch c {
		case '{', '[':
			depth++
			open = append(open, k)
			x.invalid = x.invalid || depth > maxJSONDepth
			continue
		case '}', ']':
			depth--
		default:
			x.invalid = true
			continue
		}
		if last := len(open) - 1; last >= 0 { // it need not be of the same kind: see jsonCursor
			x.mate[open[last]] = k
			open = open[:last]
		} else {
			x.invalid = true
		}
		if depth == 1 {
			x.children++
			x.lastEnd = base + i + 1
		}
		if depth <= 0 {
			x.at, x.mate = x.at[:k+1], x.mate[:k+1]
			end = i + 1
			break
		}
	}
	x.open, x.depth = open, depth
	return end
}

// odd returns the quotes that no backslash escapes, and the brackets, of a block
// with backslashes, control characters, or more than ASCII.
func (x *jsonIndex) odd(block *[64]byte, base, size int) (quotes, brackets uint64) {
	quotes, brackets, slashes, controls := jsonOddMasks(block)
	escaped, after := jsonEscaped(slashes, x.escaped)
	if x.escaped = after; size < 64 {
		x.escaped = escaped >> size & 1
	}
	quotes &^= escaped
	within := jsonWithin(quotes, x.inString)
	x.invalid = x.invalid || controls&within != 0
	for slashes &= within &^ escaped; slashes != 0 && !x.invalid; slashes &= slashes - 1 {
		x.slashes = append(x.slashes, int32(base+bits.TrailingZeros64(slashes)))
	}
	return quotes, brackets
}

// valid reports whether the fast path may use the index of the text data, which
// is complete. It looks at what follows each backslash.
func (x *jsonIndex) valid(data []byte) bool {
	if x.invalid {
		return false
	}
	for _, slash := range x.slashes {
		if int(slash) >= x.offset {
			break // after the text, in its last block
		}
		switch data[slash+1] { // there is one: strings have ended
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if _, ok := jsonHex(data, int(slash)+2); !ok {
				return false
			}
		default:
			return false
		}
	}
	x.slashes = x.slashes[:0]
	return true
}

// of returns the index in at of the bracket that begins the text from start to
// end within the text of x, if there is one.
func (x *jsonIndex) of(start, end int) (k int, ok bool) {
	k, ok = slices.BinarySearch(x.at, int32(start))
	if !ok {
		return 0, false
	}
	mate := int(x.mate[k])
	return k, mate > k && mate < len(x.at) && int(x.at[mate])+1 == end
}
