package decode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// reference decodes the value of a field that can be shared: from the known
// object if it is a part, from the interner, or new. region is the message, or
// all n values of a repeated field with their tags.
func (m *messages) reference(f *field, dst, prev unsafe.Pointer, region []byte, n int) bool {
	if f.shape == nothing {
		return true
	}
	// However short it is: an empty message may be a big struct.
	try := f.shape != aMessage && len(region) <= maxShared && f.whole.try()
	if !f.part && !try {
		return m.build(f, dst, prev, region, n)
	}
	key := m.d.hasher.sum(region)
	if f.part {
		part := key.salted(f.partSalt)
		m.d.parts = append(m.d.parts, part)
		if m.last.has(part) {
			f.copy(dst, prev)
			return true
		}
	}
	if !try {
		return m.build(f, dst, prev, region, n)
	}
	key = key.salted(f.salt)
	v, seen := m.d.interner.lookup(key, len(region))
	f.whole.settle(seen)
	if seen {
		f.set(dst, v)
		return true
	}
	if !m.build(f, dst, prev, region, n) {
		return false
	}
	m.d.interner.store(key, len(region), f.get(dst))
	return true
}

// copy copies the field at src, which is not changed.
func (f *field) copy(dst, src unsafe.Pointer) {
	switch f.shape {
	case aMessage:
		reflect.NewAt(f.typ, dst).Elem().Set(reflect.NewAt(f.typ, src).Elem())
	default:
		f.set(dst, f.get(src))
	}
}

// get returns the value of a pointer, slice or map.
func (f *field) get(src unsafe.Pointer) shared {
	if f.typ.Kind() == reflect.Slice {
		s := (*slice)(src)
		return shared{s.ptr, s.len}
	}
	return shared{ptr: *(*unsafe.Pointer)(src)}
}

func (f *field) set(dst unsafe.Pointer, v shared) {
	if f.typ.Kind() == reflect.Slice {
		*(*slice)(dst) = slice{v.ptr, v.n, v.n}
	} else {
		*(*unsafe.Pointer)(dst) = v.ptr
	}
}

// build makes the value of a reference anew.
func (m *messages) build(f *field, dst, prev unsafe.Pointer, region []byte, n int) bool {
	switch f.shape {
	case aMessage:
		return m.message(f.sub, dst, prev, region)
	case aMessagePtr:
		ptr := reflect.New(f.elem).UnsafePointer()
		*(*unsafe.Pointer)(dst) = ptr
		if prev != nil {
			prev = *(*unsafe.Pointer)(prev)
		}
		return m.message(f.sub, ptr, prev, region)
	case aMap:
		return m.buildMap(f, dst, region, n)
	}
	var old slice
	if prev != nil {
		old = *(*slice)(prev)
	}
	array := reflect.MakeSlice(f.typ, n, n).UnsafePointer()
	*(*slice)(dst) = slice{array, n, n}
	for i, at := 0, 0; i < n; i++ {
		elem, oldElem := unsafe.Add(array, uintptr(i)*f.size), unsafe.Pointer(nil)
		if i < old.len {
			oldElem = unsafe.Add(old.ptr, uintptr(i)*f.size)
		}
		if at = m.element(f, elem, oldElem, region, at); at == 0 {
			return false
		}
	}
	return true
}

// element decodes the value of a repeated field whose tag is at b[i:], and
// returns where it ends.
func (m *messages) element(f *field, dst, prev unsafe.Pointer, b []byte, i int) (end int) {
	_, at := uvarint(b, i)
	if f.shape == someNumbers {
		v, end := uvarint(b, at)
		setNumber(dst, f.size, v)
		return end
	}
	start, end := length(b, at)
	if f.shape == someStrings {
		*(*string)(dst) = m.text(f, (*string)(prev), b[start:end])
		return end
	}
	if !m.message(f.sub, dst, prev, b[start:end]) {
		return 0
	}
	return end
}

// buildMap makes a map. Those of strings and quantities are by far the most.
func (m *messages) buildMap(f *field, dst unsafe.Pointer, region []byte, n int) bool {
	var texts map[string]string
	var quantities map[string]resource.Quantity
	var others reflect.Value
	// Maps whose keys and elements have the same kind have the same layout.
	switch {
	case f.sub == nil && f.elem.Kind() == reflect.String:
		texts = make(map[string]string, n)
		*(*map[string]string)(dst) = texts
	case f.elem == quantityType:
		quantities = make(map[string]resource.Quantity, n)
		*(*map[string]resource.Quantity)(dst) = quantities
	default:
		others = reflect.MakeMapWithSize(f.typ, n)
		*(*unsafe.Pointer)(dst) = others.UnsafePointer()
	}
	for i := 0; i < len(region); {
		_, at := uvarint(region, i)
		start, end := length(region, at)
		key, value, ok := mapEntry(region[start:end])
		if !ok {
			return false
		}
		k := m.text(f, nil, key)
		switch {
		case texts != nil:
			texts[k] = m.text(f, nil, value)
		case quantities != nil:
			var q resource.Quantity
			if q.Unmarshal(value) != nil {
				return false
			}
			quantities[k] = q
		default:
			elem := reflect.New(f.elem)
			if f.sub == nil {
				setBytes((*[]byte)(elem.UnsafePointer()), nil, value)
			} else if f.sub.literal(elem.UnsafePointer()); !m.message(f.sub, elem.UnsafePointer(), nil, value) {
				return false
			}
			others.SetMapIndex(reflect.ValueOf(k).Convert(f.typ.Key()), elem.Elem())
		}
		i = end
	}
	return true
}

// mapEntry returns the key and the value of one entry of a map. What lacks is
// empty.
func mapEntry(entry []byte) (key, value []byte, ok bool) {
	for i := 0; i < len(entry); {
		tag, at := uvarint(entry, i)
		start, end := length(entry, at)
		if at == 0 || end == 0 {
			return nil, nil, false
		}
		switch tag {
		case 1<<3 | wireBytes:
			key = entry[start:end]
		case 2<<3 | wireBytes:
			value = entry[start:end]
		default:
			return nil, nil, false
		}
		i = end
	}
	return key, value, true
}

var quantityType = reflect.TypeFor[resource.Quantity]()
