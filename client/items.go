package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errLeft is how the reading of a list ends when yield returned false.
var errLeft = errors.New("left")

// eachItem yields the items of a list's body as they arrive.
func (r *Resource) eachItem(body *bufio.Reader, yield func(Object, error) bool) (metav1.ListMeta, error) {
	var listed metav1.ListMeta
	protobuf, err := isProtobuf(body)
	switch {
	case err != nil:
	case protobuf:
		err = r.eachProtobufItem(body, &listed, yield)
	default:
		err = r.eachJSONItem(body, &listed, yield)
	}
	if err == errLeft {
		return listed, nil
	}
	return listed, noEOF(err)
}

// yieldItem decodes one item and hands it over.
func (r *Resource) yieldItem(data []byte, decode func([]byte) (Object, error), yield func(Object, error) bool) error {
	obj, err := decode(data)
	if err == nil {
		err = r.checkNamed(obj)
	}
	if _, isOne := errors.AsType[*DecodeError](err); err != nil && !isOne {
		return err
	}
	if err != nil {
		obj = nil
	}
	if !yield(obj, err) {
		return errLeft
	}
	return nil
}

// eachJSONItem walks the list's top level; items are decoded one by one.
func (r *Resource) eachJSONItem(body io.Reader, listed *metav1.ListMeta, yield func(Object, error) bool) error {
	limited := &meter{r: body, limit: maxMessage}
	limited.reset()
	dec := json.NewDecoder(limited)
	if _, err := dec.Token(); err != nil { // the brace
		return err
	}
	var kind string
	for dec.More() {
		limited.reset()
		field, err := dec.Token()
		if err != nil {
			return err
		}
		switch field {
		case "kind":
			err = dec.Decode(&kind)
			if kind == "Status" {
				return errStatusReply
			}
		case "metadata":
			err = dec.Decode(listed)
		case "items":
			err = r.eachElement(dec, limited, yield)
		default:
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return err
	}
	return r.checkListKind(kind)
}

// eachElement yields the elements of the array that comes next; null is none.
func (r *Resource) eachElement(dec *json.Decoder, limited *meter, yield func(Object, error) bool) error {
	start, err := dec.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return errors.New("the items of the list are not an array")
	}
	var item json.RawMessage // its array is used again
	for dec.More() {
		limited.reset()
		item = item[:0]
		if err := dec.Decode(&item); err != nil {
			return err
		}
		if err := r.yieldItem(item, r.decodeObject, yield); err != nil {
			return err
		}
	}
	_, err = dec.Token() // the closing bracket
	return err
}

// eachProtobufItem walks "k8s\0" + Unknown{2: List{1: ListMeta, 2: item…}}.
func (r *Resource) eachProtobufItem(body *bufio.Reader, listed *metav1.ListMeta, yield func(Object, error) bool) error {
	magic := make([]byte, len(protobufMagic))
	if _, err := io.ReadFull(body, magic); err != nil {
		return noEOF(err)
	}
	if !bytes.Equal(magic, protobufMagic) {
		return errWire
	}
	var buf bytes.Buffer
	var kind string
	for complete := false; ; {
		num, size, err := readField(body)
		if err == io.EOF && complete {
			return r.checkListKind(kind)
		}
		if err != nil {
			return err
		}
		if num == 2 {
			if size > math.MaxInt64 {
				return errWire
			}
			if err := r.eachListField(&io.LimitedReader{R: body, N: int64(size)}, &buf, listed, yield); err != nil {
				return err
			}
			complete = true
			continue
		}
		data, err := readMessage(body, &buf, size)
		if err != nil {
			return err
		}
		if num == 1 {
			gvk, err := openTypeMeta(data)
			if err != nil {
				return err
			}
			if kind = gvk.Kind; kind == "Status" {
				return errStatusReply
			}
		}
	}
}

// eachListField reads ListMeta and items from the inner message.
func (r *Resource) eachListField(in *io.LimitedReader, buf *bytes.Buffer, listed *metav1.ListMeta, yield func(Object, error) bool) error {
	inner := bufio.NewReader(in)
	for {
		num, size, err := readField(inner)
		if err == io.EOF {
			if in.N > 0 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		if err != nil {
			return err
		}
		data, err := readMessage(inner, buf, size)
		if err != nil {
			return err
		}
		switch num {
		case 1:
			err = listed.Unmarshal(data)
		case 2:
			err = r.yieldItem(data, r.decodeMessage, yield)
		}
		if err != nil {
			return err
		}
	}
}

// readField reads the head of one length-delimited field. io.EOF is an end
// between two fields.
func readField(in *bufio.Reader) (num, size uint64, err error) {
	tag, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, 0, err
	}
	if tag&7 != wireBytes {
		return 0, 0, errWire
	}
	size, err = binary.ReadUvarint(in)
	return tag >> 3, size, noEOF(err)
}
