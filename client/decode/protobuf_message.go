package decode

import "unsafe"

// The decoder writes through unsafe pointers. That is sound because all memory
// was allocated by reflect with its Go type, so that the garbage collector knows
// its pointers; because each write has the field's type, or for pointers, maps
// and slices the same layout, so that the compiler emits the write barrier; and
// because objects that others have are only read.

// messages decodes one object by plans. Its methods return false for whatever
// is not understood.
type messages struct {
	d     *Decoder
	root  *plan
	meta  int   // the number of the object's ObjectMeta
	last  *last // the last state of the object that is being decoded, or nil
	depth int   // of the message that is being decoded

	// What *bool, *int32 and *int64 point to.
	truths    *[2]bool
	numbers32 *[256]uint32
	numbers64 *[256]uint64
}

// maxDepth bounds the nesting of messages: a type may contain itself.
const maxDepth = 10_000

// slice is how Go lays out a slice.
type slice struct {
	ptr      unsafe.Pointer
	len, cap int
}

// message decodes b into the zero value at dst. prev is the value of an earlier
// message of the same place, or nil: what is equal is taken from it.
//
// The fields must come in the order of their numbers, as generated code writes
// them: then a repeated one is in one piece, and none comes twice.
func (m *messages) message(p *plan, dst, prev unsafe.Pointer, b []byte) bool {
	if p.how != byFields {
		return m.special(p, dst, b)
	}
	if m.depth++; m.depth > maxDepth {
		return false
	}
	for i, before := 0, uint64(0); i < len(b); {
		tag, at := uint64(b[i]), i+1
		if tag >= 0x80 {
			if tag, at = uvarint(b, i); at == 0 {
				return false
			}
		}
		number, wire := tag>>3, tag&7
		f := p.field(number)
		if f == nil {
			if number == 0 || number < before || number > maxNumber {
				return false
			}
			if i = skip(b, at, wire); i == 0 {
				return false
			}
			before = number
			continue
		}
		if number <= before || wire != f.wire {
			return false
		}
		before = number
		if i = m.field(f, dst, prev, b, i, at); i == 0 {
			return false
		}
	}
	m.depth--
	return true
}

// field decodes the field of the message at dst whose tag is at b[i:at], and
// returns where it ends; 0 if it is not understood.
func (m *messages) field(f *field, dst, prev unsafe.Pointer, b []byte, i, at int) (end int) {
	dst = unsafe.Add(dst, f.offset)
	if prev != nil {
		prev = unsafe.Add(prev, f.offset)
	}
	if f.repeated() {
		n, end := repeats(b, i, at, f.wire)
		if end == 0 || !m.reference(f, dst, prev, b[i:end], n) {
			return 0
		}
		return end
	}
	if f.wire == wireVarint {
		v, end := uvarint(b, at)
		if end != 0 {
			m.number(f, dst, prev, v)
		}
		return end
	}
	start, end := length(b, at)
	if end == 0 {
		return 0
	}
	value, ok := b[start:end], true
	switch f.shape {
	case aString:
		if len(value) > 0 {
			*(*string)(dst) = m.text(f, (*string)(prev), value)
		}
	case aStringPtr:
		m.stringPtr(f, (**string)(dst), (**string)(prev), value)
	case aBytes:
		setBytes((*[]byte)(dst), (*[]byte)(prev), value)
	case aMessage:
		if f.part {
			ok = m.reference(f, dst, prev, value, 1)
		} else {
			ok = m.message(f.sub, dst, prev, value)
		}
	case aMessagePtr:
		ok = m.reference(f, dst, prev, value, 1)
	}
	if !ok {
		return 0
	}
	return end
}

// isDeep reports whether the messages in b are nested deeper than most, whatever
// their order, as far as they can be read.
func (p *plan) isDeep(b []byte, most int) bool {
	if most == 0 {
		return true
	}
	for i := 0; i < len(b); {
		tag, at := uvarint(b, i)
		if at == 0 {
			return false
		}
		if wire := tag & 7; wire == wireStartGroup || wire == wireEndGroup {
			i = at // what is in it is looked at as well
			continue
		}
		if i = skip(b, at, tag&7); i == 0 {
			return false
		}
		f := p.field(uint64(uint32(tag >> 3))) // as generated code cuts it
		if f == nil || f.sub == nil || tag&7 != wireBytes {
			continue
		}
		start, end := length(b, at)
		value := b[start:end]
		if f.shape == aMap {
			_, value, _ = mapEntry(value)
		}
		if f.sub.isDeep(value, most-1) {
			return true
		}
	}
	return false
}
