package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stream reads the frames of a watch, in JSON or protobuf.
type stream struct {
	next func() (json.RawMessage, error) // io.EOF at a clean end
}

func newStream(resp *http.Response) *stream {
	if strings.Contains(resp.Header.Get("Content-Type"), "protobuf") {
		return &stream{func() (json.RawMessage, error) { return protobufFrame(resp.Body) }}
	}
	d := json.NewDecoder(resp.Body)
	return &stream{func() (json.RawMessage, error) {
		var frame json.RawMessage
		err := d.Decode(&frame)
		return frame, err
	}}
}

// protobufFrame reads a length and a WatchEvent, whose object is in an envelope of its own.
func protobufFrame(body io.Reader) (json.RawMessage, error) {
	var size uint32
	if err := binary.Read(body, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, fmt.Errorf("frame of %d bytes: %w", size, err)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	object, err := decodeProtobuf(event.Object.Raw)
	if err != nil {
		return nil, fmt.Errorf("event's object: %w", err)
	}
	return json.Marshal(map[string]any{"type": event.Type, "object": object})
}
