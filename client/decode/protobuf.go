package decode

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// message is what the generated protobuf code of Kubernetes' types has.
type message interface{ Unmarshal([]byte) error }

// errTooDeep is about messages that would make the generated Unmarshal overflow
// the stack, which ends the process. No API server has such.
var errTooDeep = errors.New("messages are nested too deeply")

func (d *Decoder) decodeProtobuf(data []byte) (Object, error) {
	obj := d.fresh()
	if _, ok := obj.(message); !ok {
		return nil, fmt.Errorf("the server sent protobuf, which %T does not have", obj)
	}
	if d.messages == nil {
		d.messages = newMessages(d, reflect.TypeOf(obj))
	}
	if d.messages.object(obj, data) {
		return obj, nil
	}
	if d.messages.root.isDeep(data, maxDepth) {
		return nil, errTooDeep
	}
	// Whatever it is, the generated code knows better.
	obj = d.fresh()
	if err := obj.(message).Unmarshal(data); err != nil {
		return nil, err
	}
	if d.dropManagedFields {
		obj.SetManagedFields(nil)
	}
	d.parts = d.parts[:0]
	d.remember(obj, len(data))
	return obj, nil
}

func newMessages(d *Decoder, typ reflect.Type) *messages {
	pl := planner{hasher: &d.hasher, dropManagedFields: d.dropManagedFields, plans: map[planKey]*plan{}, salts: map[reflect.Type]sum{}}
	m := &messages{
		d:         d,
		root:      pl.plan(typ.Elem(), root),
		truths:    &[2]bool{false, true},
		numbers32: new([256]uint32),
		numbers64: new([256]uint64),
	}
	for v := range m.numbers32 {
		m.numbers32[v], m.numbers64[v] = uint32(v), uint64(v)
	}
	m.meta = slices.IndexFunc(m.root.fields, func(f *field) bool { return f != nil && f.typ == objectMetaType })
	return m
}

// object decodes data into obj, and remembers obj.
func (m *messages) object(obj Object, data []byte) bool {
	if m.root.how != byFields || m.meta < 0 {
		return false
	}
	m.depth, m.d.parts = 0, m.d.parts[:0]
	meta := find(data, uint64(m.meta))
	m.last = m.d.known.get(find(meta, metaNamespace), find(meta, metaName))
	var prev unsafe.Pointer
	if m.last != nil {
		prev = reflect.ValueOf(m.last.object).UnsafePointer()
	}
	ok := m.message(m.root, reflect.ValueOf(obj).UnsafePointer(), prev, data)
	m.last = nil // else it were kept although it is forgotten
	if !ok {
		return false
	}
	m.d.remember(obj, len(data))
	return true
}

// The numbers of the fields of ObjectMeta that make up the key.
const (
	metaName      = 1
	metaNamespace = 3
)
