package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"governor/client/decode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// frames reads a watch's stream frame by frame. The object's bytes are good
// until the next call. io.EOF is an end between two frames.
type frames func() (eventType watch.EventType, object []byte, err error)

// framesOf returns the frames of a stream, in whichever encoding it came. d is
// for the objects.
func framesOf(body *bufio.Reader, d decoder) (frames, error) {
	protobuf, err := isProtobuf(body)
	if err != nil {
		return nil, err
	}
	if protobuf {
		return protobufFrames(body), nil
	}
	return jsonFrames(jsonReader(body, d)), nil
}

// protobufFrames reads [4 bytes of length][WatchEvent].
func protobufFrames(body *bufio.Reader) frames {
	in := messageReader{in: body}
	return func() (watch.EventType, []byte, error) {
		frame, err := in.frame()
		if err != nil {
			return "", nil, err
		}
		eventType, object, err := openWatchEvent(frame)
		return eventTypeOf(eventType), object, err
	}
}

// jsonFrames reads {"type":…,"object":…} one after the other.
func jsonFrames(in *decode.JSONReader) frames {
	return func() (watch.EventType, []byte, error) {
		if _, err := in.Value(); err != nil {
			return "", nil, tooLong(err)
		}
		eventType, object, err := in.OpenEvent()
		return watch.EventType(eventType), object, err
	}
}

// tooLong is the one error for both encodings.
func tooLong(err error) error {
	if errors.Is(err, decode.ErrTooLarge) {
		return errTooLong
	}
	return err
}

// eventTypeOf spares a string for each event.
func eventTypeOf(text []byte) watch.EventType {
	switch string(text) {
	case string(watch.Added):
		return watch.Added
	case string(watch.Modified):
		return watch.Modified
	case string(watch.Deleted):
		return watch.Deleted
	case string(watch.Bookmark):
		return watch.Bookmark
	}
	return watch.EventType(text)
}

// eachEvent yields the events of a stream until it ends, or breaks, or yield
// returns false. A stream that ends between two events ends without an error.
func (o *objects) eachEvent(body *bufio.Reader, yield func(Event, *DecodeError) bool) error {
	next, err := framesOf(body, o.decoder)
	for err == nil {
		var ev Event
		var data []byte
		if ev.Type, data, err = next(); err != nil {
			break
		}
		var bad *DecodeError
		switch ev.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			ev.Object, bad = o.named(o.one(data, o.decoder))
		case watch.Bookmark:
			// It is no state of an object: no decoder is to remember it.
			ev.Object, bad = o.one(data, plain{o.Resource})
		case watch.Error:
			return statusEvent(data)
		default:
			return fmt.Errorf("the stream has an event of type %q: not a watch of objects", ev.Type)
		}
		if broken(data, bad) {
			return bad.Err
		}
		if !yield(ev, bad) {
			return nil
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// statusEvent is the error that an event of the server tells.
func statusEvent(data []byte) error {
	var status metav1.Status
	if _, err := unmarshalAny(data, &status); err != nil {
		return fmt.Errorf("the server reported an error that cannot be read: %w", err)
	}
	return apierrors.FromObject(&status)
}
