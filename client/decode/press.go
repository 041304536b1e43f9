package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// press makes the Compacts of one Decoder, and decodes them.
type press struct {
	metav1.Object // nil: whoever sets something of a Compact has a bug

	decoder *Decoder // whose slow ways are used: they remember nothing
	kind    schema.GroupVersionKind
	buffers sync.Pool // of *[]byte, for any goroutine

	// For the Decoder's goroutine.
	writer   deltaWriter
	families families
	scratch  []byte
}

func newPress(d *Decoder) *press {
	return &press{
		decoder: d,
		kind:    d.fresh().GetObjectKind().GroupVersionKind(),
		buffers: sync.Pool{New: func() any { return new([]byte) }},
	}
}

// marshaler is what the generated protobuf code of Kubernetes' types has.
type marshaler interface{ Marshal() ([]byte, error) }

// Compact makes obj, which is of the Decoder's Go type, a Compact, if the Decoder
// makes such; else it returns obj. What JSON and protobuf do not have, such as
// fields without a tag, is not kept.
func (d *Decoder) Compact(obj Object) (Object, error) {
	if _, is := obj.(*Compact); is || d.press == nil {
		return obj, nil
	}
	if m, ok := obj.(marshaler); ok {
		data, err := m.Marshal()
		if err != nil {
			return nil, fmt.Errorf("encode %T: %w", obj, err)
		}
		return d.press.compact(obj, data, asProtobuf), nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	return d.press.compact(obj, data, asJSON), nil
}

func (p *press) protobuf(data []byte) (Object, error) {
	d := p.decoder
	if len(data) > 2*maxDepth { // less cannot be nested so deeply
		if d.messages == nil {
			d.messages = newMessages(d, reflect.TypeOf(d.fresh()))
		}
		if d.messages.root.isDeep(data, maxDepth) {
			return nil, errTooDeep
		}
	}
	obj, err := p.decoder.slowProtobuf(data)
	if err != nil {
		return nil, err
	}
	p.setKind(obj)
	if p.decoder.dropManagedFields {
		data = p.cut(cutMessage, data)
	}
	return p.decoded(obj, data, asProtobuf), nil
}

// decoded is compact for an object that was decoded from these bytes.
func (p *press) decoded(obj Object, data []byte, encoding byte) *Compact {
	c := p.compact(obj, data, encoding)
	c.fresh = weak.Make(&fresh{obj})
	return c
}

func (p *press) json(data []byte) (kind string, _ Object, err error) {
	obj := p.decoder.fresh()
	if kind, err = p.decoder.slowJSON(data, obj); err != nil {
		return kind, nil, err
	}
	kind = claimedKind(obj)
	p.setKind(obj)
	if p.decoder.dropManagedFields {
		data = p.cut(cutJSON, data)
	}
	return kind, p.decoded(obj, data, asJSON), nil
}

// cut returns data without managedFields, until the next call.
func (p *press) cut(cut func(out, data []byte) []byte, data []byte) []byte {
	if cap(p.scratch) > keptText {
		p.scratch = nil
	}
	p.scratch = cut(p.scratch[:0], data)
	return p.scratch
}

// decode decodes what a Compact has kept. It is for any goroutine.
func (p *press) decode(data []byte, encoding byte) (obj Object, err error) {
	if encoding == asProtobuf {
		obj, err = p.decoder.slowProtobuf(data)
	} else {
		obj = p.decoder.fresh()
		_, err = p.decoder.slowJSON(data, obj)
	}
	if err == nil {
		p.setKind(obj)
	}
	return obj, err
}

// setKind gives an object the kind that the Decoder's fresh ones have, if any.
func (p *press) setKind(obj Object) {
	if kind := obj.GetObjectKind(); !p.kind.Empty() && kind.GroupVersionKind() != p.kind {
		kind.SetGroupVersionKind(p.kind)
	}
}
