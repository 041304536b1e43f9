package envtest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// page returns the bytes of a list: those of its objects, which are made once,
// with something before, between and after them.
func (e *encoder) page(p *page) ([]byte, error) {
	items := make([][]byte, len(p.objects))
	for i, o := range p.objects {
		b, err := e.bytes(o)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", o.Resource, o.Key(), err)
		}
		items[i] = b
	}
	return e.join(p, items)
}

// join returns the bytes of a list of items' bytes, as they are sent.
func (e *encoder) join(p *page, items [][]byte) ([]byte, error) {
	if e.format.mediaType == runtime.ContentTypeProtobuf {
		return e.protobufPage(p, items)
	}
	return e.jsonPage(p, items)
}

// listKind is the kind of a list of what e writes.
func (e *encoder) listKind() schema.GroupVersionKind {
	if e.format.as.Kind != "" {
		return e.kind.GroupVersion().WithKind("PartialObjectMetadataList")
	}
	return e.kind.GroupVersion().WithKind(e.resource.ListKind)
}

func (p *page) meta() metav1.ListMeta {
	return metav1.ListMeta{
		ResourceVersion:    formatVersion(p.resourceVersion),
		Continue:           p.next,
		RemainingItemCount: p.remaining,
	}
}

func (e *encoder) jsonPage(p *page, items [][]byte) ([]byte, error) {
	meta, err := json.Marshal(p.meta())
	if err != nil {
		return nil, err
	}
	if e.customList() && p.next == "" { // lists of custom objects always have the field
		meta = append([]byte(`{"continue":"",`), meta[1:]...)
	}
	kind, size := e.listKind(), len(meta)+200
	for _, item := range items {
		size += len(item) + 1
	}
	b := make([]byte, 0, size)
	b = fmt.Appendf(b, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind.Kind, kind.GroupVersion(), meta)
	dropped := e.droppedPrefix()
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		if len(dropped) > 0 && len(item) > len(dropped) && string(item[:len(dropped)]) == dropped {
			b, item = append(b, '{'), item[len(dropped):]
		}
		b = append(b, item...)
	}
	return append(b, "]}\n"...), nil
}

// customList says whether e writes whole objects of a custom kind.
func (e *encoder) customList() bool { return e.format.as.Kind == "" && e.resource.Custom != nil }

// droppedPrefix is what the items of a list of typed objects do not have, although
// each of them alone has it: its kind.
func (e *encoder) droppedPrefix() string {
	if e.format.as.Kind != "" || e.resource.Custom != nil {
		return ""
	}
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, e.kind.Kind, e.kind.GroupVersion())
}

// protobufPage writes a list as every list type declares it: metadata as field
// 1, items as field 2.
func (e *encoder) protobufPage(p *page, items [][]byte) ([]byte, error) {
	listMeta := p.meta()
	meta, err := listMeta.Marshal()
	if err != nil {
		return nil, err
	}
	length := 1 + varintLen(len(meta)) + len(meta)
	for _, item := range items {
		length += 1 + varintLen(len(item)) + len(item)
	}
	kind := e.listKind()
	b := appendEnvelopeHead(make([]byte, 0, envelopeLen(kind, length)), kind, length)
	b = append(appendTag(b, 1, len(meta)), meta...)
	for _, item := range items {
		b = append(appendTag(b, 2, len(item)), item...)
	}
	return append(b, envelopeTail...), nil
}
