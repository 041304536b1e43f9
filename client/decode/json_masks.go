package decode

import (
	"encoding/binary"
	"math/bits"
)

const (
	jsonOnes  = 0x0101010101010101
	jsonHighs = 0x8080808080808080
)

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
