package decode

import (
	"bytes"
	"reflect"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func setBytes(dst, prev *[]byte, value []byte) {
	if prev != nil && *prev != nil && bytes.Equal(*prev, value) {
		*dst = *prev
		return
	}
	*dst = append([]byte{}, value...)
}

// text returns value as a string; prev is what it may be equal to, or nil.
func (m *messages) text(f *field, prev *string, value []byte) string {
	if prev != nil && *prev == string(value) {
		return *prev
	}
	if !f.texts.try() {
		return string(value)
	}
	s, seen := m.d.interner.string(value)
	f.texts.settle(seen)
	return s
}

func (m *messages) stringPtr(f *field, dst, prev **string, value []byte) {
	if prev != nil && *prev != nil && **prev == string(value) {
		*dst = *prev
		return
	}
	s := m.text(f, nil, value)
	*dst = &s
}

// special decodes a message that has no fields for us.
func (m *messages) special(p *plan, dst unsafe.Pointer, b []byte) bool {
	if p.how == byUnmarshal {
		return reflect.NewAt(p.typ, dst).Interface().(message).Unmarshal(b) == nil
	}
	if len(b) == 0 {
		return true
	}
	var seconds, nanos uint64
	for i := 0; i < len(b); {
		tag, at := uvarint(b, i)
		v, end := uvarint(b, at)
		switch {
		case at == 0 || end == 0:
			return false
		case tag == 1<<3|wireVarint:
			seconds = v
		case tag == 2<<3|wireVarint:
			nanos = v
		default:
			return false
		}
		i = end
	}
	if p.how == byTime { // the nanoseconds do not count
		(*metav1.Time)(dst).Time = time.Unix(int64(seconds), 0)
		return true
	}
	short := time.Duration(int32(nanos)).Truncate(time.Microsecond)
	(*metav1.MicroTime)(dst).Time = time.Unix(int64(seconds), int64(short))
	return true
}

// number sets a number or truth. Numbers wrap as they do in generated code.
func (m *messages) number(f *field, dst, prev unsafe.Pointer, v uint64) {
	switch f.shape {
	case aBool:
		*(*bool)(dst) = v != 0
	case aNumber:
		setNumber(dst, f.size, v)
	case aBoolPtr:
		*(**bool)(dst) = &m.truths[min(v, 1)]
	case aNumberPtr:
		m.numberPtr(f, (*unsafe.Pointer)(dst), (*unsafe.Pointer)(prev), v)
	}
}

func setNumber(dst unsafe.Pointer, size uintptr, v uint64) {
	if size == 4 {
		*(*uint32)(dst) = uint32(v)
	} else {
		*(*uint64)(dst) = v
	}
}

func (m *messages) numberPtr(f *field, dst, prev *unsafe.Pointer, v uint64) {
	if prev != nil && *prev != nil {
		if f.size == 4 && *(*uint32)(*prev) == uint32(v) || f.size == 8 && *(*uint64)(*prev) == v {
			*dst = *prev
			return
		}
	}
	switch {
	case f.size == 4 && v < uint64(len(m.numbers32)):
		*dst = unsafe.Pointer(&m.numbers32[v])
		return
	case f.size == 8 && v < uint64(len(m.numbers64)):
		*dst = unsafe.Pointer(&m.numbers64[v])
		return
	}
	*dst = reflect.New(f.elem).UnsafePointer()
	setNumber(*dst, f.size, v)
}
