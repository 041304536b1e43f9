package decode

import (
	"encoding/binary"
	"math/bits"
)

const (
	jsonOnes  = 0x0101010101010101
	jsonHighs = 0x8080808080808080

	// jsonGather times a word of which only the highest bit of each byte may be
	// set has these bits in its highest byte.
	jsonGather = 0x0002040810204081
)

// jsonMasks returns where quotes and brackets are, if all is ASCII without
// backslashes and control characters; else plain is false. A byte of brackets may
// be Y y _ or DEL, which outside of strings is no valid JSON either.
func jsonMasks(block *[64]byte) (quotes, brackets uint64, plain bool) {
	all := uint64(jsonHighs) // a bit that stays set for each byte that is plain
	for i := uint(0); i < 64; i += 8 {
		// No byte overflows into the next if all are ASCII.
		x := binary.LittleEndian.Uint64(block[i:])
		quote := ^((x ^ jsonOnes*'"') + jsonOnes*0x7f) & jsonHighs
		bracket := ((x | jsonOnes*0x26) + jsonOnes) & jsonHighs // any of { [ } ] | 0x26 is 0x7f
		all &= ((x ^ jsonOnes*'\\') + jsonOnes*0x7f) & (x + jsonOnes*(0x80-' ')) &^ x
		quotes |= quote * jsonGather >> 56 << (i & 63)
		brackets |= bracket * jsonGather >> 56 << (i & 63)
	}
	return quotes, brackets, all == jsonHighs
}

// jsonOddMasks returns the same for any bytes, and where backslashes and control
// characters are.
func jsonOddMasks(block *[64]byte) (quotes, brackets, slashes, controls uint64) {
	for i := uint(0); i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(block[i:])
		quotes |= jsonZeros(x^jsonOnes*'"') << (i & 63)
		brackets |= jsonZeros((x|jsonOnes*0x26)^jsonOnes*0x7f) << (i & 63)
		slashes |= jsonZeros(x^jsonOnes*'\\') << (i & 63)
		controls |= jsonZeros(x&(jsonOnes*0xe0)) << (i & 63)
	}
	return quotes, brackets, slashes, controls
}

// jsonZeros returns a bit for each byte of x, set if the byte is 0.
func jsonZeros(x uint64) uint64 {
	const low = ^uint64(jsonHighs)
	return ^((x&low + low) | x | low) * jsonGather >> 56
}

// jsonEscaped returns which bytes a backslash escapes, and whether that is so
// for the first byte after the block; escaped is the same for its first byte.
func jsonEscaped(slashes, escaped uint64) (all, after uint64) {
	for slashes &^= escaped; slashes != 0; {
		i := bits.TrailingZeros64(slashes)
		if i == 63 {
			return escaped, 1
		}
		escaped |= 2 << i
		slashes &^= 3 << i
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
