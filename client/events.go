package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// frames reads a watch's stream frame by frame. The object's bytes are good
// until the next call. io.EOF is an end between two frames.
type frames func() (eventType string, object []byte, err error)

// framesOf returns the frames of a stream, in whichever encoding it came.
func framesOf(body *bufio.Reader) (frames, error) {
	protobuf, err := isProtobuf(body)
	if err != nil {
		return nil, err
	}
	if protobuf {
		return protobufFrames(body), nil
	}
	return jsonFrames(body, maxMessage), nil
}

// protobufFrames reads [4 bytes of length][WatchEvent] over one buffer.
func protobufFrames(body *bufio.Reader) frames {
	var buf bytes.Buffer
	return func() (string, []byte, error) {
		var head [4]byte
		if _, err := io.ReadFull(body, head[:]); err != nil {
			return "", nil, err
		}
		frame, err := readMessage(body, &buf, uint64(binary.BigEndian.Uint32(head[:])))
		if err != nil {
			return "", nil, err
		}
		return openWatchEvent(frame)
	}
}

// jsonFrames reads {"type":…,"object":…} one after the other; limit bounds the
// bytes of one.
func jsonFrames(body io.Reader, limit int) frames {
	limited := &meter{r: body, limit: limit}
	dec := json.NewDecoder(limited)
	var frame struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"` // its array is used again
	}
	return func() (string, []byte, error) {
		limited.reset()
		frame.Type, frame.Object = "", frame.Object[:0]
		err := dec.Decode(&frame)
		return frame.Type, frame.Object, err
	}
}

// eachEvent yields the events of a stream until it ends, or breaks, or yield
// returns false. A stream that ends between two events ends without an error.
func (r *Resource) eachEvent(body *bufio.Reader, yield func(Event, error) bool) error {
	next, err := framesOf(body)
	for err == nil {
		var eventType string
		var data []byte
		if eventType, data, err = next(); err != nil {
			break
		}
		var ev Event
		ev, err = r.decodeEvent(watch.EventType(eventType), data)
		if _, isOne := errors.AsType[*DecodeError](err); err != nil && !isOne {
			return err
		}
		if !yield(ev, err) {
			return nil
		}
		err = nil
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (r *Resource) decodeEvent(eventType watch.EventType, data []byte) (Event, error) {
	switch eventType {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		obj, err := r.decodeObject(data)
		if err == nil && eventType != watch.Bookmark {
			err = r.checkNamed(obj)
		}
		if err != nil {
			return Event{}, err
		}
		return Event{Type: eventType, Object: obj}, nil
	case watch.Error:
		var status metav1.Status
		if _, err := unmarshal(data, &status); err != nil {
			return Event{}, fmt.Errorf("the server reported an error that cannot be read: %w", err)
		}
		return Event{}, apierrors.FromObject(&status)
	default:
		return Event{}, fmt.Errorf("the stream has an event of type %q: not a watch of objects", eventType)
	}
}
