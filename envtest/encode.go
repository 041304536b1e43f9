package envtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"governor/envtest/kinds"
	"governor/envtest/storage"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// encoder writes stored objects of one resource in one format. What it writes is made
// once per object version: the JSON of the object with its kind, or its
// protobuf message without the envelope that names the kind. Lists, watch
// events and single objects are these bytes with something around them.
type encoder struct {
	server   *Server
	resource *kinds.Resource
	format   format
	// kind is that of the objects as they are written.
	kind schema.GroupVersionKind
	// cached names the encoding in an object's cache; empty if it is not kept.
	cached string
}

func (s *Server) encoder(resource *kinds.Resource, f format) *encoder {
	e := &encoder{server: s, resource: resource, format: f, kind: resource.GroupVersionKind}
	form := "json"
	if f.mediaType == runtime.ContentTypeProtobuf {
		form = "protobuf"
	}
	if f.as.Kind != "" { // Tables of metadata are made elsewhere
		e.kind = f.as.GroupVersion().WithKind("PartialObjectMetadata")
	}
	e.cached = form + " " + e.kind.GroupVersion().String() + " " + e.kind.Kind
	return e
}

// bytes returns an object's encoding: shared, not to be written to.
func (e *encoder) bytes(o *storage.Object) ([]byte, error) {
	return o.Encoded(e.cached, func() ([]byte, error) {
		value, err := e.resource.Convert(o.Value, e.resource.GroupVersionKind.GroupVersion())
		if err != nil {
			return nil, err
		}
		return e.encode(value)
	})
}

// encode makes the bytes of an object in the version of the resource.
func (e *encoder) encode(value runtime.Object) ([]byte, error) {
	if e.format.as.Kind != "" {
		value = partialOf(value.(metav1.Object), e.kind)
	}
	if e.format.mediaType == runtime.ContentTypeProtobuf {
		return message(value)
	}
	return e.server.json(value)
}

// partialOf is an object's metadata as an object of its own.
func partialOf(o metav1.Object, kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	p := meta.AsPartialObjectMetadata(o)
	p.SetGroupVersionKind(kind)
	return p
}

// json returns an object as JSON, with its kind and without a newline.
func (s *Server) json(value runtime.Object) ([]byte, error) {
	switch v := value.(type) {
	case *unstructured.Unstructured:
		return json.Marshal(v.Object)
	case *metav1.PartialObjectMetadata, *metav1.Status, *metav1.Table:
		return json.Marshal(v) // has its kind, whatever the scheme knows
	}
	info, _ := runtime.SerializerInfoForMediaType(s.formats, runtime.ContentTypeJSON)
	var b bytes.Buffer
	if err := info.Serializer.Encode(value, &b); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// message returns an object as a protobuf message, without its kind.
func message(value runtime.Object) ([]byte, error) {
	m, ok := value.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf encoding", value)
	}
	return m.Marshal()
}

// protobufMagic is what every protobuf object begins with.
const protobufMagic = "k8s\x00"

// envelopeTail is what comes after the message: contentEncoding and contentType, which are empty.
const envelopeTail = "\x1a\x00\x22\x00"

// appendEnvelope appends a protobuf message with its kind around it: what apimachinery calls
// runtime.Unknown.
func appendEnvelope(b []byte, kind schema.GroupVersionKind, message []byte) []byte {
	b = append(appendEnvelopeHead(b, kind, len(message)), message...)
	return append(b, envelopeTail...)
}

// appendEnvelopeHead appends what comes before a message of a length.
func appendEnvelopeHead(b []byte, kind schema.GroupVersionKind, message int) []byte {
	apiVersion := kind.GroupVersion().String()
	b = append(b, protobufMagic...)
	b = appendTag(b, 1, 2+varintLen(len(apiVersion))+len(apiVersion)+varintLen(len(kind.Kind))+len(kind.Kind))
	b = append(appendTag(b, 1, len(apiVersion)), apiVersion...)
	b = append(appendTag(b, 2, len(kind.Kind)), kind.Kind...)
	return appendTag(b, 2, message)
}

// envelopeLen is how many bytes appendEnvelope appends.
func envelopeLen(kind schema.GroupVersionKind, message int) int {
	apiVersion := len(kind.GroupVersion().String())
	types := 2 + varintLen(apiVersion) + apiVersion + varintLen(len(kind.Kind)) + len(kind.Kind)
	return len(protobufMagic) + 1 + varintLen(types) + types + 1 + varintLen(message) + message + len(envelopeTail)
}

// appendTag appends the head of a length-delimited protobuf field.
func appendTag(b []byte, field byte, length int) []byte {
	return binary.AppendUvarint(append(b, field<<3|2), uint64(length))
}

func varintLen(n int) int {
	length := 1
	for ; n >= 0x80; n >>= 7 {
		length++
	}
	return length
}

// writeAnswer answers a request with what its verb's method returned.
func (s *Server) writeAnswer(c *call, a *answer) {
	code := a.code
	if code == 0 {
		code = http.StatusOK
	}
	if a.status != nil {
		s.writeStatus(c.w, c.Request, code, typed(*a.status))
		return
	}
	body, err := s.answerBody(c, a)
	if err != nil {
		s.writeError(c.w, c.Request, err)
		return
	}
	writeBody(c.w, c.format, code, body)
}

// answerBody returns an answer's bytes: JSON (which writeBody turns into YAML) or protobuf.
func (s *Server) answerBody(c *call, a *answer) ([]byte, error) {
	switch {
	case c.format.as.Kind == "Table":
		table, err := s.table(c, a)
		if err != nil {
			return nil, err
		}
		return s.json(table)
	case a.page != nil:
		if c.format.as.Kind == "PartialObjectMetadata" {
			return nil, c.errNotTransformable("a list", c.resource.ListKind)
		}
		return s.encoder(c.resource, c.format).page(a.page)
	case c.format.as.Kind == "PartialObjectMetadataList":
		return nil, c.errNotTransformable("not a list", c.kind().Kind)
	case a.object != nil:
		e := s.encoder(c.resource, c.format)
		b, err := e.bytes(a.object)
		return e.whole(b), err
	default:
		e := s.encoder(c.resource, c.format)
		if c.format.as.Kind == "" {
			e.kind = c.kind()
		}
		b, err := e.encode(a.value)
		return e.whole(b), err
	}
}

// whole returns an object's bytes as they stand alone.
func (e *encoder) whole(b []byte) []byte {
	if e.format.mediaType == runtime.ContentTypeProtobuf {
		return appendEnvelope(nil, e.kind, b)
	}
	return b
}

// errNotTransformable: metadata of one object is asked for where there is a list, or
// the other way round. The text names the Go type that the real server has in its hands.
func (c *call) errNotTransformable(what, kind string) error {
	goType := "unstructured.Unstructured"
	switch {
	case c.resource.Custom == nil:
		group, _, _ := strings.Cut(cmp.Or(c.stored().Group, "core"), ".")
		goType = group + "." + kind
	case what == "a list":
		goType += "List"
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		fmt.Sprintf("you requested %s, but the requested object is %s (*%s)", c.format.as.Kind, what, goType), nil)
}

// writeStatus answers with a Status, in a format that the client accepts, or else in JSON.
func (s *Server) writeStatus(w http.ResponseWriter, r *http.Request, code int, status *metav1.Status) {
	f, err := negotiateFor(r, func(f format) bool { return f.as.Empty() })
	if err != nil {
		f = format{mediaType: runtime.ContentTypeJSON, pretty: true}
	}
	var body []byte
	if f.mediaType == runtime.ContentTypeProtobuf {
		var m []byte
		if m, err = status.Marshal(); err == nil {
			body = appendEnvelope(nil, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, m)
		}
	} else {
		body, err = json.Marshal(status)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, f, code, body)
}

// withNewline returns bytes, which are shared, and a newline: the one that the serializer has
// left behind them, or else a copy.
func withNewline(b []byte) []byte {
	if n := len(b); cap(b) > n && b[:n+1][n] == '\n' {
		return b[:n+1]
	}
	return append(b[:len(b):len(b)], '\n')
}

// writeBody writes a body that is JSON or, if the format says so, protobuf.
func writeBody(w http.ResponseWriter, f format, code int, body []byte) {
	switch {
	case f.mediaType == runtime.ContentTypeProtobuf:
	case f.mediaType == runtime.ContentTypeYAML:
		if y, err := yaml.JSONToYAML(body); err == nil {
			body = y
		}
	case f.pretty:
		var b bytes.Buffer
		if err := json.Indent(&b, bytes.TrimSuffix(body, []byte("\n")), "", "  "); err == nil {
			body = b.Bytes()
		}
	case !bytes.HasSuffix(body, []byte("\n")):
		body = withNewline(body)
	}
	w.Header().Set("Content-Type", f.mediaType+f.named)
	w.WriteHeader(code)
	_, _ = w.Write(body) // if the client is gone there is nobody to tell
}
