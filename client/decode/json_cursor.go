package decode

// jsonCursor walks over a text by its index. What it returns as ok = false is
// invalid JSON. It checks the syntax as it goes; only what jump leaps over is not
// checked.
type jsonCursor struct {
	data     []byte
	at, mate []int32 // see jsonIndex
	i        int     // the offset of the next byte
	k        int     // the index, in at, of the next quote or bracket
}

// jsonPlace is where a value begins and ends.
type jsonPlace struct{ i, k, end, next int }

// peek skips white space and returns the byte after it, 0 at the end.
func (c *jsonCursor) peek() byte {
	for c.i < len(c.data) {
		b := c.data[c.i]
		if b > ' ' {
			return b
		}
		i := jsonSpaceEnd(c.data, c.i)
		if i == c.i {
			return b
		}
		c.i = i
	}
	return 0
}

// enter goes past the opening bracket that peek returned.
func (c *jsonCursor) enter() {
	c.i++
	c.k++
}

// more reports whether another member or element follows, and goes to it; else
// it goes past the closing bracket. first is true right after enter.
func (c *jsonCursor) more(closer byte, first bool) (more, ok bool) {
	next := c.peek()
	if next == closer {
		c.enter()
		return false, true
	}
	if first {
		return true, true
	}
	if next != ',' {
		return false, false
	}
	c.i++
	return true, true
}

// quoted goes past the string that peek saw the beginning of, and returns what is
// between its quotes.
func (c *jsonCursor) quoted() []byte {
	start, end := c.i+1, int(c.at[c.k+1])
	c.i = end + 1
	c.k += 2
	return c.data[start:end:end]
}

// key goes past a key and its colon, and returns what is between its quotes.
func (c *jsonCursor) key() (quoted []byte, ok bool) {
	if c.peek() != '"' {
		return nil, false
	}
	quoted = c.quoted()
	if c.peek() != ':' {
		return nil, false
	}
	c.i++
	return quoted, true
}

// place returns where the next value is. The value is not checked.
func (c *jsonCursor) place() (p jsonPlace, ok bool) {
	switch c.peek() {
	case 0:
		return p, false
	case '"':
		return jsonPlace{c.i, c.k, int(c.at[c.k+1]) + 1, c.k + 2}, true
	case '{', '[':
		next := int(c.mate[c.k])
		return jsonPlace{c.i, c.k, int(c.at[next]) + 1, next + 1}, true
	}
	end := jsonScalarEnd(c.data, c.i)
	return jsonPlace{c.i, c.k, end, c.k}, end > 0
}

// jump goes past a value.
func (c *jsonCursor) jump(p jsonPlace) { c.i, c.k = p.end, p.next }

// back goes to the beginning of a value.
func (c *jsonCursor) back(p jsonPlace) { c.i, c.k = p.i, p.k }

// bytes returns the bytes of a value.
func (c *jsonCursor) bytes(p jsonPlace) []byte { return c.data[p.i:p.end:p.end] }

// skip goes past a value and checks it.
func (c *jsonCursor) skip() bool {
	closer := c.peek()
	switch closer {
	case '{', '[':
		closer += 2 // as in ASCII
	default:
		p, ok := c.place()
		c.jump(p)
		return ok
	}
	c.enter()
	for first := true; ; first = false {
		more, ok := c.more(closer, first)
		if !more || !ok {
			return ok
		}
		if closer == '}' {
			if _, ok := c.key(); !ok {
				return false
			}
		}
		if !c.skip() {
			return false
		}
	}
}

// count returns how many members or elements the object or array has that peek
// saw the beginning of, if it is valid.
func (c *jsonCursor) count() int {
	end := int(c.mate[c.k])
	closing := int(c.at[end])
	if jsonSpaceEnd(c.data, c.i+1) == closing {
		return 0
	}
	n, i := 1, c.i+1
	for k := c.k + 1; ; {
		stop := int(c.at[k])
		for ; i < stop; i++ {
			if c.data[i] == ',' {
				n++
			}
		}
		if k == end {
			return n
		}
		if c.data[stop] == '"' {
			k++
		} else {
			k = int(c.mate[k])
		}
		i = int(c.at[k]) + 1
		k++
	}
}
