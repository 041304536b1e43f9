package decode

import (
	"encoding/binary"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonText turns what is between two quotes, which jsonIndex has checked, into
// the text it stands for: quoted itself, or scratch.
type jsonText struct{ scratch []byte }

func (t *jsonText) text(quoted []byte) []byte {
	if jsonPlain(quoted) || jsonPlainUTF8(quoted) {
		return quoted
	}
	t.scratch = appendJSONText(t.scratch[:0], quoted)
	text := t.scratch
	if cap(t.scratch) > keptBuffer {
		t.scratch = nil
	}
	return text
}

// jsonPlain reports whether all is ASCII without a backslash.
func jsonPlain(b []byte) bool {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		slash := x ^ jsonOnes*'\\'
		if ((slash-jsonOnes)&^slash|x)&jsonHighs != 0 {
			return false
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '\\' || b[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// jsonPlainUTF8 reports whether all is UTF-8 without a backslash.
func jsonPlainUTF8(b []byte) bool {
	for _, c := range b {
		if c == '\\' {
			return false
		}
	}
	return utf8.Valid(b)
}

// appendJSONText appends the text of valid escapes, and U+FFFD for each byte
// that is not UTF-8 and for each lone surrogate.
func appendJSONText(to, quoted []byte) []byte {
	for i := 0; i < len(quoted); {
		c := quoted[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(quoted[i:])
			to = utf8.AppendRune(to, r)
			i += size
			continue
		case c != '\\':
			to = append(to, c)
			i++
			continue
		}
		c = quoted[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, size := jsonRune(quoted, i)
			to = utf8.AppendRune(to, r)
			i += size
			continue
		}
		to = append(to, c)
	}
	return to
}

// jsonRune returns the rune whose \u stands before i, and how many bytes it
// takes from there.
func jsonRune(quoted []byte, i int) (r rune, size int) {
	r, _ = jsonHex(quoted, i)
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if i+10 <= len(quoted) && quoted[i+4] == '\\' && quoted[i+5] == 'u' {
		low, _ := jsonHex(quoted, i+6)
		if r := utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
			return r, 10
		}
	}
	return unicode.ReplacementChar, 4
}
