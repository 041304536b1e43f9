package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"

	"governor/client/decode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errLeft is how the reading of a list ends when yield returned false.
var errLeft = errors.New("left")

// page reads one page of a list.
type page struct {
	*objects
	ctx    context.Context // of the one call that reads the page: it ends between two items too
	listed metav1.ListMeta
	yield  func(Object, error) bool
}

// read yields the items as they arrive. errLeft is an end that yield wanted.
func (p *page) read(body *bufio.Reader) error {
	protobuf, err := isProtobuf(body)
	switch {
	case err != nil:
	case protobuf:
		err = p.readProtobuf(body)
	default:
		err = tooLong(p.readJSON(jsonReader(body, p.decoder)))
	}
	return noEOF(err)
}

// handOver yields one item; data is what it was made of.
func (p *page) handOver(obj Object, bad *DecodeError) error {
	obj, bad = p.named(obj, bad)
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if bad == nil && p.yield(obj, nil) || bad != nil && p.yield(nil, bad) {
		return nil
	}
	return errLeft
}

// readJSON walks the list's top level; items are decoded one by one.
func (p *page) readJSON(in *decode.JSONReader) error {
	var kind string
	err := eachMember(in, func(name string) error {
		if name == "items" {
			return p.readItems(in)
		}
		data, err := in.Value()
		if err != nil {
			return err
		}
		switch name {
		case "kind":
			err = json.Unmarshal(data, &kind)
			if kind == "Status" {
				return errStatusReply
			}
		case "metadata":
			err = json.Unmarshal(data, &p.listed)
		default:
			if !json.Valid(data) {
				err = errJSON
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.checkListKind(kind)
}

// readItems yields the elements of the array that comes next; null is none.
func (p *page) readItems(in *decode.JSONReader) error {
	start, err := in.Peek()
	if err != nil {
		return err
	}
	if start != '[' {
		if data, err := in.Value(); err != nil || string(data) == "null" {
			return err
		}
		return errors.New("the items of the list are not an array")
	}
	return eachElement(in, '[', ']', func() error {
		data, err := in.Value()
		if err != nil {
			return err
		}
		obj, bad := p.one(data, p.decoder)
		if broken(data, bad) {
			return bad.Err
		}
		return p.handOver(obj, bad)
	})
}

// readProtobuf walks "k8s\0" + Unknown{1: TypeMeta, 2: List}.
func (p *page) readProtobuf(body *bufio.Reader) error {
	in := messageReader{in: body}
	magic, err := in.message(uint64(len(protobufMagic)))
	if err != nil {
		return err
	}
	if !bytes.Equal(magic, protobufMagic) {
		return errWire
	}
	var kind string
	for complete := false; ; {
		num, size, _, err := in.field()
		if err == io.EOF && complete {
			return p.checkListKind(kind)
		}
		if err != nil {
			return err
		}
		if num == 2 {
			if err := p.readList(&in, size); err != nil {
				return err
			}
			complete = true
			continue
		}
		data, err := in.message(size)
		if err != nil {
			return err
		}
		if num == 1 {
			claimed, err := openTypeMeta(data)
			if err != nil {
				return err
			}
			if kind = string(claimed); kind == "Status" {
				return errStatusReply
			}
		}
	}
}

// readList walks List{1: ListMeta, 2: item, 2: item, …} of so many bytes.
func (p *page) readList(in *messageReader, left uint64) error {
	for left > 0 {
		num, size, head, err := in.field()
		if err != nil {
			return noEOF(err)
		}
		if size > math.MaxInt64 || uint64(head)+size > left {
			return errWire
		}
		left -= uint64(head) + size
		data, err := in.message(size)
		if err != nil {
			return err
		}
		switch num {
		case 1:
			err = p.listed.Unmarshal(data)
		case 2:
			err = p.handOver(p.item(data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
