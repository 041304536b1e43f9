package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"governor/client/decode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// decoder makes an object of its bytes: a *decode.Decoder, or plain.
type decoder interface {
	// Protobuf decodes a message that has no envelope.
	Protobuf(message []byte) (decode.Object, error)
	// JSON tells what the object claims to be, also beside an error.
	JSON(data []byte) (kind string, obj decode.Object, err error)
}

// plain is the decoder whose every object is the receiver's own.
type plain struct{ *Resource }

func (p plain) Protobuf(message []byte) (decode.Object, error) {
	obj, err := p.newObject()
	if err != nil {
		return nil, err
	}
	return obj, unmarshalProtobuf(message, obj)
}

func (p plain) JSON(data []byte) (string, decode.Object, error) {
	obj, err := p.newObject()
	if err != nil {
		return "", nil, err
	}
	kind, err := fill(data, obj)
	return kind, obj, err
}

// objects makes the objects of one stream.
type objects struct {
	*Resource
	decoder
	apiVersion string // of every object
}

func (r *Resource) objects(d *decode.Decoder) (*objects, error) {
	o := &objects{r, plain{r}, r.gvk.GroupVersion().String()}
	if d != nil {
		o.decoder = d
	} else if _, err := r.newObject(); err != nil {
		return nil, err
	}
	return o, nil
}

// jsonReader returns a reader of body. What it has looked at, a *decode.Decoder
// need not look at again.
func jsonReader(body *bufio.Reader, d decoder) *decode.JSONReader {
	in := decode.NewJSONReader(body, maxMessage)
	if d, ok := d.(*decode.Decoder); ok {
		d.ReadsFrom(in)
	}
	return in
}

// one decodes one object with its envelope, if it has one, by d, and sets its
// kind. Items of a list may lack it in data.
func (o *objects) one(data []byte, d decoder) (Object, *DecodeError) {
	var obj Object
	kind, err := "", error(nil)
	if bytes.HasPrefix(data, protobufMagic) {
		var claimed, message []byte
		if claimed, message, err = openEnvelope(data); err == nil {
			if kind = o.gvk.Kind; string(claimed) != kind {
				kind = string(claimed)
			}
			obj, err = d.Protobuf(message)
		}
	} else {
		kind, obj, err = d.JSON(data)
	}
	switch {
	case kind == "Status":
		err = statusReply(data)
	case err == nil && kind != "":
		err = o.checkKind(kind)
	}
	if err != nil {
		var known metav1.PartialObjectMetadata
		_, _ = unmarshalAny(data, &known) // as much as can be read
		return nil, o.decodeError(&known, err)
	}
	o.setKind(obj)
	return obj, nil
}

// item decodes one item of a protobuf list: it has no envelope.
func (o *objects) item(message []byte) (Object, *DecodeError) {
	obj, err := o.Protobuf(message)
	if err != nil {
		var known metav1.PartialObjectMetadata
		_ = known.Unmarshal(message) // as much as can be read
		return nil, o.decodeError(&known, err)
	}
	o.setKind(obj)
	return obj, nil
}

// setKind gives an object its kind. The objects of a stream share its text.
func (o *objects) setKind(obj Object) {
	switch kind := obj.GetObjectKind().(type) {
	case *metav1.TypeMeta:
		kind.APIVersion, kind.Kind = o.apiVersion, o.gvk.Kind
	case *unstructured.Unstructured:
		if kind.GetAPIVersion() != o.apiVersion || kind.GetKind() != o.gvk.Kind {
			kind.SetGroupVersionKind(o.gvk)
		}
	default:
		kind.SetGroupVersionKind(o.gvk)
	}
}

// named refuses an object without a name: whatever was decoded, it is none of
// the kind's.
func (o *objects) named(obj Object, err *DecodeError) (Object, *DecodeError) {
	if err != nil || obj.GetName() != "" {
		return obj, err
	}
	return nil, &DecodeError{Kind: o.gvk, UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Err: errors.New("it has no name")}
}

func (r *Resource) decodeError(known *metav1.PartialObjectMetadata, err error) *DecodeError {
	return &DecodeError{Kind: r.gvk, Key: ObjectKeyFromObject(known), UID: known.UID, ResourceVersion: known.ResourceVersion, Err: err}
}

// broken says whether an object could not be decoded because its bytes are not
// JSON at all: then nothing that follows can be trusted either.
func broken(data []byte, err *DecodeError) bool {
	return err != nil && !bytes.HasPrefix(data, protobufMagic) && !json.Valid(data)
}

// statusReply is the error that a Status in an object's place tells.
func statusReply(data []byte) error {
	var status metav1.Status
	if _, err := unmarshalAny(data, &status); err != nil {
		return fmt.Errorf("a Status that cannot be read: %w", err)
	}
	return statusError(&status)
}
