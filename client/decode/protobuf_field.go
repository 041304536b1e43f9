package decode

import "reflect"

// newField returns the plan of a field whose tag names that wire type, or false
// if it is not understood.
func (pl *planner) newField(sf reflect.StructField, wire string) (*field, bool) {
	f := &field{
		offset: sf.Offset,
		typ:    sf.Type,
		salt:   pl.salt(sf.Type),
		whole:  newCredit(),
		texts:  newCredit(),
	}
	switch sf.Type.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		f.elem = sf.Type.Elem()
		f.size = f.elem.Size()
	default:
		f.size = sf.Type.Size()
	}
	// The Go type decides: a few numbers are tagged as bytes, and are varints.
	switch {
	case wire != "varint" && wire != "bytes":
		return nil, false
	case f.setNumber():
		f.wire = wireVarint
		return f, true
	case wire == "bytes":
		f.wire = wireBytes
		return f, pl.setBytes(f)
	}
	return nil, false
}

// setNumber sets the shape of a field of numbers or truths, or returns false.
func (f *field) setNumber() bool {
	switch {
	case f.typ.Kind() == reflect.Bool:
		f.shape = aBool
	case isNumber(f.typ):
		f.shape = aNumber
	case f.typ.Kind() == reflect.Pointer && f.elem.Kind() == reflect.Bool:
		f.shape = aBoolPtr
	case f.typ.Kind() == reflect.Pointer && isNumber(f.elem):
		f.shape = aNumberPtr
	case f.typ.Kind() == reflect.Slice && isNumber(f.elem):
		f.shape = someNumbers
	default:
		return false
	}
	return true
}

func isNumber(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

func isMessage(typ reflect.Type) bool { return reflect.PointerTo(typ).Implements(messageType) }

func isBytes(typ reflect.Type) bool {
	return typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8
}

// setBytes sets the shape of a field of wire type bytes.
func (pl *planner) setBytes(f *field) bool {
	kind := f.typ.Kind()
	switch {
	case isMessage(f.typ): // also some that are slices or maps in Go
		f.shape, f.sub = aMessage, pl.plan(f.typ, within)
	case kind == reflect.String:
		f.shape = aString
	case isBytes(f.typ):
		f.shape = aBytes
	case kind == reflect.Pointer && isMessage(f.elem) && f.elem.Kind() == reflect.Struct:
		f.shape, f.sub = aMessagePtr, pl.plan(f.elem, within)
	case kind == reflect.Pointer && f.elem.Kind() == reflect.String:
		f.shape = aStringPtr
	case kind == reflect.Slice && isMessage(f.elem) && f.elem.Kind() == reflect.Struct:
		f.shape, f.sub = someMessages, pl.plan(f.elem, within)
	case kind == reflect.Slice && f.elem.Kind() == reflect.String:
		f.shape = someStrings
	case kind == reflect.Map && f.typ.Key().Kind() == reflect.String:
		f.shape = aMap
		if isMessage(f.elem) {
			f.sub = pl.plan(f.elem, within)
			return true
		}
		return f.elem.Kind() == reflect.String || isBytes(f.elem)
	default:
		return false
	}
	return true
}
