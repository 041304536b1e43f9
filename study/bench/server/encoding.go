package server

import (
	"encoding/binary"
	"encoding/json"

	"governor/study/bench/workload"

	corev1 "k8s.io/api/core/v1"
)

// version is one state of an object, encoded. Versions of one object share the
// parts that did not change.
type version struct {
	resourceVersion        uint64
	metadata, spec, status []byte
}

// encoding puts parts together to what goes over the wire.
type encoding interface {
	// encode fills in the parts of v; those that are there already stay.
	encode(v *version, pod *corev1.Pod) error
	contentType(watch bool) string
	// appendEvent appends one frame of a watch.
	appendEvent(b []byte, eventType string, v *version) []byte
	// appendListStart appends what comes before the items of a list, appendItem
	// one of them, and appendListEnd what comes after. size is that of all items.
	appendListStart(b []byte, meta listMeta, size int) []byte
	appendItem(b []byte, v *version, first bool) []byte
	appendListEnd(b []byte) []byte
	// itemSize is how many bytes appendItem appends.
	itemSize(v *version) int
}

// listMeta is what a list says about itself.
type listMeta struct{ resourceVersion, next string }

// jsonEncoding is that of the custom resource. Its keys are sorted, at each
// level, as a real server sorts them.
type jsonEncoding struct{}

func (jsonEncoding) contentType(bool) string { return "application/json" }

func (jsonEncoding) encode(v *version, pod *corev1.Pod) (err error) {
	v.metadata, err = sortedJSON(pod.ObjectMeta)
	if err == nil && v.spec == nil {
		v.spec, err = sortedJSON(pod.Spec)
	}
	if err == nil && v.status == nil {
		v.status, err = sortedJSON(pod.Status)
	}
	return err
}

func sortedJSON(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var sorted map[string]any
	if err := json.Unmarshal(data, &sorted); err != nil {
		return nil, err
	}
	return json.Marshal(sorted)
}

const workloadJSON = `{"apiVersion":"bench.governor.dev/v1","kind":"Workload","metadata":`

func (jsonEncoding) appendObject(b []byte, v *version) []byte {
	b = append(b, workloadJSON...)
	b = append(b, v.metadata...)
	if v.spec != nil { // a bookmark has none
		b = append(append(b, `,"spec":`...), v.spec...)
		b = append(append(b, `,"status":`...), v.status...)
	}
	return append(b, '}')
}

func (e jsonEncoding) appendEvent(b []byte, eventType string, v *version) []byte {
	b = append(append(b, `{"type":"`...), eventType...)
	b = e.appendObject(append(b, `","object":`...), v)
	return append(b, "}\n"...)
}

func (jsonEncoding) appendListStart(b []byte, meta listMeta, _ int) []byte {
	data, _ := json.Marshal(map[string]string{"resourceVersion": meta.resourceVersion, "continue": meta.next})
	b = append(append(b, `{"apiVersion":"`+workload.GroupVersion.String()+`","kind":"WorkloadList","metadata":`...), data...)
	return append(b, `,"items":[`...)
}

func (e jsonEncoding) appendItem(b []byte, v *version, first bool) []byte {
	if !first {
		b = append(b, ',')
	}
	return e.appendObject(b, v)
}

func (jsonEncoding) appendListEnd(b []byte) []byte { return append(b, "]}\n"...) }

func (jsonEncoding) itemSize(*version) int { return 0 } // only protobuf needs it

// protobufEncoding is that of Pods. The messages' layouts are in apimachinery's
// pkg/runtime and pkg/apis/meta/v1 generated.proto.
type protobufEncoding struct{}

// The tags of the fields that are written here: number<<3 | 2, with a length.
const (
	field1 = 1<<3 | 2
	field2 = 2<<3 | 2
	field3 = 3<<3 | 2
)

// magic begins each protobuf object but a watch event, and ends, as all of
// them do, with an empty contentEncoding and contentType.
const magic, unknownEnd = "k8s\x00", "\x1a\x00\x22\x00"

func (protobufEncoding) contentType(watch bool) string {
	if watch {
		return "application/vnd.kubernetes.protobuf;stream=watch"
	}
	return "application/vnd.kubernetes.protobuf"
}

func (protobufEncoding) encode(v *version, pod *corev1.Pod) error {
	type message interface{ Marshal() ([]byte, error) }
	part := func(into *[]byte, tag byte, m message) error {
		data, err := m.Marshal()
		*into = appendField(nil, tag, data)
		return err
	}
	err := part(&v.metadata, field1, &pod.ObjectMeta)
	if err == nil && v.spec == nil {
		err = part(&v.spec, field2, &pod.Spec)
	}
	if err == nil && v.status == nil {
		err = part(&v.status, field3, &pod.Status)
	}
	return err
}

func (v *version) size() int { return len(v.metadata) + len(v.spec) + len(v.status) }

func (v *version) appendParts(b []byte) []byte {
	return append(append(append(b, v.metadata...), v.spec...), v.status...)
}

func (protobufEncoding) appendEvent(b []byte, eventType string, v *version) []byte {
	kind := typeMeta("v1", "Pod")
	object := len(magic) + len(kind) + fieldSize(v.size()) + len(unknownEnd)
	extension := fieldSize(object)
	b = binary.BigEndian.AppendUint32(b, uint32(fieldSize(len(eventType))+fieldSize(extension)))
	b = appendField(b, field1, []byte(eventType))
	b = appendHead(b, field2, extension)
	b = appendHead(b, field1, object)
	b = append(append(b, magic...), kind...)
	b = v.appendParts(appendHead(b, field2, v.size()))
	return append(b, unknownEnd...)
}

func (protobufEncoding) appendListStart(b []byte, meta listMeta, size int) []byte {
	inner := appendField(nil, field2, []byte(meta.resourceVersion))
	inner = appendField(inner, field3, []byte(meta.next))
	head := appendField(nil, field1, inner)
	b = append(append(b, magic...), typeMeta("v1", "PodList")...)
	return append(appendHead(b, field2, len(head)+size), head...)
}

func (protobufEncoding) appendItem(b []byte, v *version, _ bool) []byte {
	return v.appendParts(appendHead(b, field2, v.size()))
}

func (protobufEncoding) itemSize(v *version) int { return fieldSize(v.size()) }

func (protobufEncoding) appendListEnd(b []byte) []byte { return append(b, unknownEnd...) }

// typeMeta is the field of runtime.Unknown that says what the object is.
func typeMeta(apiVersion, kind string) []byte {
	inner := appendField(nil, field1, []byte(apiVersion))
	return appendField(nil, field1, appendField(inner, field2, []byte(kind)))
}

func appendHead(b []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(b, tag), uint64(size))
}

func appendField(b []byte, tag byte, data []byte) []byte {
	return append(appendHead(b, tag, len(data)), data...)
}

// fieldSize is how many bytes a field of size bytes takes.
func fieldSize(size int) int {
	n := 2 + size
	for rest := size; rest >= 0x80; rest >>= 7 {
		n++
	}
	return n
}
