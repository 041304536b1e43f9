package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// ErrTooLarge is what a JSONReader returns when one value is larger than its
// limit: the stream cannot be read on.
var ErrTooLarge = errors.New("the value is larger than the limit")

// keptBuffer is up to which size a buffer is kept for the next value.
const keptBuffer = 1 << 20

// JSONReader reads a stream of JSON piece by piece, over one buffer that it uses
// again. A list is read as Delimiter('{'), then Value for a key, Delimiter(':')
// and so on; a watch as one Value per event, each looked into by OpenEvent.
type JSONReader struct {
	in       *bufio.Reader
	limit    int
	value    []byte
	complete bool // whether value is
	scanner  jsonScanner
}

// NewJSONReader returns a reader of in. limit bounds the bytes of one value.
func NewJSONReader(in *bufio.Reader, limit int) *JSONReader {
	return &JSONReader{in: in, limit: limit}
}

// Peek returns the next byte that is not white space, and leaves it there.
// io.EOF is the end of the stream.
func (r *JSONReader) Peek() (byte, error) {
	for {
		next, err := r.in.Peek(1)
		if err != nil {
			return 0, err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = r.in.Discard(1) // it was peeked
		default:
			return next[0], nil
		}
	}
}

// Delimiter takes c, which must come next: a brace, bracket, colon or comma.
func (r *JSONReader) Delimiter(c byte) error {
	next, err := r.Peek()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if next != c {
		return fmt.Errorf("invalid JSON: %q in place of %q", next, c)
	}
	_, err = r.in.Discard(1)
	return err
}

// Value reads one value, and no byte more. Its bytes are good until the next
// call. Only where it ends is known: what is within may be invalid. io.EOF is an
// end before its first byte, io.ErrUnexpectedEOF one within it.
func (r *JSONReader) Value() ([]byte, error) {
	r.scanner.reset()
	r.value = r.value[:0]
	if cap(r.value) > keptBuffer {
		r.value = nil // before the wait for the next, which may be long
	}
	first, err := r.Peek()
	if err != nil {
		return nil, err
	}
	switch first {
	case '}', ']', ':', ',':
		return nil, fmt.Errorf("invalid JSON: %q in place of a value", first)
	}
	r.complete = false
	for complete := false; !complete; {
		if _, err = r.in.Peek(1); err != nil {
			break
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		n := 0
		n, complete = r.scanner.scan(chunk)
		if len(r.value)+n > r.limit {
			return nil, ErrTooLarge
		}
		r.value = append(r.value, chunk[:n]...)
		_, _ = r.in.Discard(n) // it was peeked
	}
	r.complete = err == nil
	if err == io.EOF && r.scanner.endsWithStream() {
		return r.value, nil // a number ends where the stream does
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return r.value, err
}

var (
	eventPrefix = []byte(`{"type":"`)
	eventMiddle = []byte(`","object":{`)
)

// OpenEvent looks into the value that Value returned last, an event of a watch:
// {"type":"MODIFIED","object":{…}}. The object's bytes are part of it, and
// are not judged yet.
func (r *JSONReader) OpenEvent() (eventType string, object []byte, err error) {
	if eventType, object, ok := r.openUsualEvent(); ok {
		return eventType, object, nil
	}
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	err = json.Unmarshal(r.value, &event)
	return event.Type, event.Object, err
}

// openUsualEvent is for the very form in which API servers write an event. The
// object is the value's only child, and a brace follows.
func (r *JSONReader) openUsualEvent() (eventType string, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(r.value, eventPrefix)
	index := &r.scanner.index
	if !ok || index.children != 1 || index.lastEnd != len(r.value)-1 {
		return "", nil, false
	}
	n := 0
	for n < len(rest) && 'A' <= rest[n] && rest[n] <= 'Z' {
		n++
	}
	if !bytes.HasPrefix(rest[n:], eventMiddle) {
		return "", nil, false
	}
	return string(rest[:n]), rest[n+len(eventMiddle)-1 : len(rest)-1], true
}

// ReadsFrom tells d that the bytes given to JSON come from r: the last value, an
// object, or an object within it. They have been looked at already, which need
// not be done again. Nobody may have changed them. Other bytes may be given as
// well.
func (d *Decoder) ReadsFrom(r *JSONReader) { d.reader = r }

// cursor returns a cursor at data, if that is an object within the last value.
func (r *JSONReader) cursor(data []byte) (c jsonCursor, ok bool) {
	if !r.complete || len(data) == 0 || data[0] != '{' {
		return c, false
	}
	start := int(uintptr(unsafe.Pointer(&data[0])) - uintptr(unsafe.Pointer(&r.value[0])))
	if start < 0 || start > len(r.value)-len(data) {
		return c, false
	}
	end, index := start+len(data), &r.scanner.index
	if end > maxJSONLength || !index.valid(r.value) {
		return c, false
	}
	k, ok := index.of(start, end)
	return jsonCursor{data: r.value[:end], at: index.at, mate: index.mate, i: start, k: k}, ok
}
