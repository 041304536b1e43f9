package envtest

import (
	"encoding/binary"
	"encoding/json"
	"net/http"

	"governor/client"
	"governor/envtest/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// streamTypes are the formats of watches, as errors name them.
var streamTypes = []string{"application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"}

// streamBuffer is how many bytes of events are held back for one write, while more are waiting.
const streamBuffer = 64 << 10

// eventStream writes the events of a watch: lines of JSON, or protobuf messages with their
// length before them. Objects' bytes are made once for all watches. Events
// that come together leave in one write.
type eventStream struct {
	server   *Server
	call     *call
	selected *selection
	encoder  *encoder
	buffer   []byte
	begun    bool
	// headed: a Table has gone out, so that later ones go without the columns.
	headed bool
}

func (s *Server) newEventStream(c *call, selected *selection) *eventStream {
	return &eventStream{server: s, call: c, selected: selected, encoder: s.encoder(c.resource, c.format)}
}

// change sends what a change means for those who watch a selection: an object that begins to
// match is added, one that ceases to is deleted, in the state in which it
// last matched.
func (e *eventStream) change(c storage.Change) error {
	if !e.inScope(c.Object) {
		return nil
	}
	before := c.Previous != nil && e.selected.matches(c.Previous)
	now := c.Type != storage.Deleted && e.selected.matches(c.Object)
	switch {
	case now && before:
		return e.event("MODIFIED", c.Object)
	case now:
		return e.event("ADDED", c.Object)
	case before && c.Type == storage.Deleted:
		return e.event("DELETED", c.Object)
	case before:
		return e.event("DELETED", c.Departure())
	}
	return nil
}

// inScope says whether an object is in the namespace, if there is one.
func (e *eventStream) inScope(o *storage.Object) bool {
	namespace := e.call.namespace()
	return namespace == "" || o.Namespace == namespace
}

// event sends an event about a stored object.
func (e *eventStream) event(kind string, o *storage.Object) error {
	if e.call.format.as.Kind == "Table" {
		return e.tableEvent(kind, o)
	}
	b, err := e.encoder.bytes(o)
	if err != nil {
		return err
	}
	return e.frame(kind, e.encoder.kind, b)
}

// tableEvent sends an event with a Table of one row. Only the first has columns.
func (e *eventStream) tableEvent(kind string, o *storage.Object) error {
	table, err := e.server.table(e.call, &answer{object: o})
	if err != nil {
		return err
	}
	if e.headed {
		table.ColumnDefinitions = nil
	}
	e.headed = true
	b, err := e.server.json(table)
	if err != nil {
		return err
	}
	return e.frame(kind, table.GroupVersionKind(), b)
}

// frame puts an event into the buffer, and the buffer out if it is full. kind is that of the
// object.
func (e *eventStream) frame(event string, kind schema.GroupVersionKind, object []byte) error {
	if e.call.format.mediaType == runtime.ContentTypeProtobuf {
		e.buffer = appendProtobufEvent(e.buffer, event, kind, object)
	} else {
		e.buffer = append(append(e.buffer, `{"type":"`...), event...)
		e.buffer = append(append(e.buffer, `","object":`...), object...)
		e.buffer = append(e.buffer, "}\n"...)
	}
	if len(e.buffer) < streamBuffer {
		return nil
	}
	return e.flush()
}

// appendProtobufEvent appends the length of a metav1.WatchEvent, and it: the type is field
// 1; field 2 is a RawExtension, whose field 1 is the object in its envelope.
func appendProtobufEvent(b []byte, event string, kind schema.GroupVersionKind, object []byte) []byte {
	envelope := envelopeLen(kind, len(object))
	raw := 1 + varintLen(envelope) + envelope
	length := 2 + len(event) + 1 + varintLen(raw) + raw
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	b = append(appendTag(b, 1, len(event)), event...)
	b = appendTag(appendTag(b, 2, raw), 1, envelope)
	return appendEnvelope(b, kind, object)
}

// bookmark sends a resourceVersion up to which there is nothing more to tell. The first one after all
// initial objects says so.
func (e *eventStream) bookmark(resourceVersion uint64, initialEventsEnd bool) {
	value := e.emptyObject()
	value.SetResourceVersion(formatVersion(resourceVersion))
	if initialEventsEnd {
		value.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	if e.call.format.as.Kind == "Table" {
		_ = e.tableEvent("BOOKMARK", storage.NewObject(e.call.stored(), value, resourceVersion))
		return
	}
	if b, err := e.encoder.encode(value); err == nil { // it has no contents that could fail
		_ = e.frame("BOOKMARK", e.encoder.kind, b)
	}
}

// emptyObject returns an object of the watched kind, in the request's version.
func (e *eventStream) emptyObject() client.Object {
	kind := e.call.resource.GroupVersionKind
	if object, err := e.server.scheme.New(kind); err == nil && e.call.resource.Custom == nil {
		object.GetObjectKind().SetGroupVersionKind(kind)
		return object.(client.Object)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// fail sends an error as the last event.
func (e *eventStream) fail(err error) {
	status := statusOf(err)
	b, err := json.Marshal(status)
	if e.call.format.mediaType == runtime.ContentTypeProtobuf {
		b, err = status.Marshal()
	}
	if err == nil {
		_ = e.frame("ERROR", schema.GroupVersionKind{Version: "v1", Kind: "Status"}, b)
	}
}

// flush sends what is in the buffer, and the header if it is not out yet. The error says that
// the client is gone.
func (e *eventStream) flush() error {
	if !e.begun {
		e.begun = true
		contentType := e.call.format.mediaType
		if contentType == runtime.ContentTypeProtobuf {
			contentType += ";stream=watch"
		}
		e.call.w.Header().Set("Content-Type", contentType)
		e.call.w.WriteHeader(http.StatusOK)
	}
	if len(e.buffer) > 0 {
		_, err := e.call.w.Write(e.buffer)
		e.buffer = e.buffer[:0]
		if err != nil {
			return err
		}
	}
	return http.NewResponseController(e.call.w).Flush()
}

// end sends what is left.
func (e *eventStream) end() { _ = e.flush() }
