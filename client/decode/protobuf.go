package decode

import "fmt"

// message is what the generated protobuf code of Kubernetes' types has.
type message interface{ Unmarshal([]byte) error }

// messages decodes protobuf by plans.
type messages struct{}

func (d *Decoder) decodeProtobuf(data []byte) (Object, error) {
	obj := d.fresh()
	msg, ok := obj.(message)
	if !ok {
		return nil, fmt.Errorf("the server sent protobuf, which %T does not have", obj)
	}
	if err := msg.Unmarshal(data); err != nil {
		return nil, err
	}
	if d.dropManagedFields {
		obj.SetManagedFields(nil)
	}
	d.parts = d.parts[:0]
	d.remember(obj, len(data))
	return obj, nil
}
