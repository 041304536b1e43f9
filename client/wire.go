package client

import (
	"encoding/binary"
	"errors"
)

// Protobuf from an API server comes in envelopes:
//
//	one object   "k8s\0" + Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: the object}
//	a list       the same, around List{1: ListMeta, 2: item, 2: item, …}
//	a watch      frames of [4 bytes of length][WatchEvent{1: type, 2: RawExtension{1: one object, as above}}]
//
// The functions here look into them in place; only the innermost bytes are
// given to the generated Unmarshal, which copies what it keeps.

// protobufMagic begins each protobuf body.
var protobufMagic = []byte("k8s\x00")

// maxMessage bounds one frame of a watch and one item of a list: a broken
// stream must not make the process allocate without end. etcd stores 1.5 MB by
// default, and 8 MB is the most that its operators are advised to allow.
const maxMessage = 64 << 20

var (
	errWire    = errors.New("not valid protobuf")
	errTooLong = errors.New("a message is longer than 64 MiB: not a stream of objects")
)

// wireBytes is the protobuf wire type of strings, bytes and messages: the only
// one that envelopes use.
const wireBytes = 2

// eachField calls f with each length-delimited field of a message, and skips
// numbers.
func eachField(msg []byte, f func(num uint64, value []byte) error) error {
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 {
			return errWire
		}
		msg = msg[n:]
		switch tag & 7 {
		case 0: // a varint
			if _, n = binary.Uvarint(msg); n <= 0 {
				return errWire
			}
		case 1: // 8 bytes
			n = 8
		case 5: // 4 bytes
			n = 4
		case wireBytes:
			size, m := binary.Uvarint(msg)
			if m <= 0 || size > uint64(len(msg)-m) {
				return errWire
			}
			n = m + int(size)
			if err := f(tag>>3, msg[m:n]); err != nil {
				return err
			}
		default:
			return errWire
		}
		if n > len(msg) {
			return errWire
		}
		msg = msg[n:]
	}
	return nil
}

// openEnvelope returns the kind and the bytes of one object that begins with
// protobufMagic.
func openEnvelope(data []byte) (kind, raw []byte, err error) {
	err = eachField(data[len(protobufMagic):], func(num uint64, value []byte) error {
		switch num {
		case 1:
			kind, err = openTypeMeta(value)
			return err
		case 2:
			raw = value
		}
		return nil
	})
	return kind, raw, err
}

// openTypeMeta returns the kind.
func openTypeMeta(data []byte) (kind []byte, err error) {
	err = eachField(data, func(num uint64, value []byte) error {
		if num == 2 {
			kind = value
		}
		return nil
	})
	return kind, err
}

// openWatchEvent returns the type and the object of one frame of a watch.
func openWatchEvent(frame []byte) (eventType, object []byte, err error) {
	err = eachField(frame, func(num uint64, value []byte) error {
		switch num {
		case 1:
			eventType = value
		case 2:
			return eachField(value, func(num uint64, value []byte) error {
				if num == 1 {
					object = value
				}
				return nil
			})
		}
		return nil
	})
	return eventType, object, err
}
