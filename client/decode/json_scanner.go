package decode

// jsonScanner finds where a value of a stream ends, over as many chunks as it
// comes in, and indexes objects and arrays for who decodes them. The zero value
// is before a value.
type jsonScanner struct {
	first    byte // of the value
	inString bool
	escaped  bool // a backslash came last
	index    jsonIndex
}

// reset makes s ready for the next value.
func (s *jsonScanner) reset() {
	s.first, s.inString, s.escaped = 0, false, false
	s.index.reset()
}

// scan looks at the next chunk, whose first byte, if it is the first chunk,
// begins the value. It returns how many bytes of the chunk belong to the value,
// and whether the value ends there. The end of a number shows only in the byte
// after it.
func (s *jsonScanner) scan(chunk []byte) (n int, complete bool) {
	if s.first == 0 && len(chunk) > 0 {
		s.first = chunk[0]
	}
	switch s.first {
	case '{', '[':
		return s.index.scan(chunk)
	case '"':
		return s.scanString(chunk)
	}
	return scanWord(chunk)
}

func (s *jsonScanner) scanString(chunk []byte) (n int, complete bool) {
	for n < len(chunk) {
		if s.escaped {
			s.escaped = false
			n++
			continue
		}
		if n = jsonStringStop(chunk, n); n == len(chunk) {
			break
		}
		switch chunk[n] {
		case '\\':
			s.escaped = true
		case '"':
			if s.inString {
				return n + 1, true
			}
			s.inString = true
		}
		n++
	}
	return n, false
}

func scanWord(chunk []byte) (n int, complete bool) {
	for n < len(chunk) {
		switch chunk[n] {
		case '"', '{', '[', '}', ']', ':', ',', ' ', '\t', '\r', '\n':
			return n, true
		}
		n++
	}
	return n, false
}

// endsWithStream reports whether the value, a number or a word, may end where the
// stream does.
func (s *jsonScanner) endsWithStream() bool {
	return s.first != '"' && s.first != '{' && s.first != '['
}
