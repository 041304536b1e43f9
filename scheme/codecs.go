package scheme

import (
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// Codecs returns the serializers of this scheme, for rest.Config and others: JSON,
// YAML, protobuf and CBOR. They neither convert nor default, they follow later
// registrations, and they keep Contracts 6 and 7. Unknown fields are dropped;
// the strict serializers report them. Upstream: serializer.NewCodecFactory(…)
// .WithoutConversion().
func (s *Scheme) Codecs() runtime.NegotiatedSerializer { return s.codecs }

// codecs implements runtime.NegotiatedSerializer.
type codecs struct {
	scheme *Scheme
	media  []runtime.SerializerInfo
}

func newCodecs(s *Scheme) *codecs {
	return &codecs{scheme: s, media: []runtime.SerializerInfo{s.json(), s.yaml(), s.protobuf(), cbor.NewSerializerInfo(s, s)}}
}

// SupportedMediaTypes lists the formats, JSON first.
func (c *codecs) SupportedMediaTypes() []runtime.SerializerInfo { return slices.Clone(c.media) }

// EncoderForVersion returns an encoder that picks a version's kind where an
// object may have several. A nil version leaves that to the object's TypeMeta.
func (c *codecs) EncoderForVersion(e runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	return &encoder{scheme: c.scheme, bytes: e, version: gv}
}

// DecoderToVersion returns a decoder that ignores the version: there is no
// conversion.
func (c *codecs) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return &decoder{scheme: c.scheme, bytes: d}
}

func (s *Scheme) jsonSerializer(o json.SerializerOptions) *json.Serializer {
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, o)
}

func (s *Scheme) json() runtime.SerializerInfo {
	plain := s.jsonSerializer(json.SerializerOptions{})
	return runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeJSON,
		MediaTypeType:    "application",
		MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       plain,
		PrettySerializer: s.jsonSerializer(json.SerializerOptions{Pretty: true}),
		StrictSerializer: s.jsonSerializer(json.SerializerOptions{Strict: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    plain,
			Framer:        json.Framer,
		},
	}
}

// yaml has no stream: no server sends one.
func (s *Scheme) yaml() runtime.SerializerInfo {
	return runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeYAML,
		MediaTypeType:    "application",
		MediaTypeSubType: "yaml",
		EncodesAsText:    true,
		Serializer:       s.jsonSerializer(json.SerializerOptions{Yaml: true}),
		StrictSerializer: s.jsonSerializer(json.SerializerOptions{Yaml: true, Strict: true}),
	}
}

// protobuf streams frames without the envelope that names the kind: a watch
// frame is always a WatchEvent. It has no strict form.
func (s *Scheme) protobuf() runtime.SerializerInfo {
	enveloped := protobuf.NewSerializer(s, s)
	return runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeProtobuf,
		MediaTypeType:    "application",
		MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer:       enveloped,
		StrictSerializer: enveloped,
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(s, s),
			Framer:     protobuf.LengthDelimitedFramer,
		},
	}
}

// encoder writes objects under the kind that they have in one version.
type encoder struct {
	scheme  *Scheme
	bytes   runtime.Encoder
	version runtime.GroupVersioner
}

// Encode writes an object. It is an error, and nothing is written, if its kind is
// not certain.
func (e *encoder) Encode(object runtime.Object, w io.Writer) error {
	gvk, err := e.kindOnWire(object)
	if err != nil {
		return err
	}
	if object.GetObjectKind().GroupVersionKind() != gvk {
		object = withKind(object, gvk)
	}
	return e.bytes.Encode(object, w)
}

// kindOnWire is GVKForObject, except that the encoder's version decides between
// several kinds, and that what has no kind of its own goes under the one that
// its type has: metadata without a kind, unversioned types, and option types
// (DeleteOptions), which go as v1 to a group that does not list them.
func (e *encoder) kindOnWire(object runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := e.scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	kinds = served(kinds)
	if len(kinds) > 1 && e.version != nil {
		if gvk, ok := e.version.KindForGroupVersionKinds(kinds); ok && slices.Contains(kinds, gvk) {
			return gvk, nil
		}
	}
	gvk, err := e.scheme.GVKForObject(object)
	if err == nil {
		return gvk, nil
	}
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	_, isObject := object.(metav1.Object)
	if i := slices.IndexFunc(kinds, inCoreV1); i >= 0 && !isObject {
		return kinds[i], nil
	}
	return schema.GroupVersionKind{}, err
}

func inCoreV1(gvk schema.GroupVersionKind) bool { return gvk.GroupVersion() == metav1.Unversioned }

// Identifier tells encoders of different formats or versions apart.
func (e *encoder) Identifier() runtime.Identifier {
	id := "governor/" + string(e.bytes.Identifier())
	if e.version != nil {
		id += "/" + e.version.Identifier()
	}
	return runtime.Identifier(id)
}

// withKind returns a shallow copy under another kind, since the object may be
// one that others read at this moment.
func withKind(object runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	v := reflect.New(reflect.TypeOf(object).Elem())
	v.Elem().Set(reflect.ValueOf(object).Elem())
	object = v.Interface().(runtime.Object)
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return object
}

// decoder reads objects and leaves their kind on them.
type decoder struct {
	scheme *Scheme
	bytes  runtime.Decoder
}

// Decode reads into the target, or, without one, into a new object of the kind
// that the bytes name. If an error comes without an object the target is empty.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		if err := runtime.SetZeroValue(into); err != nil {
			return nil, nil, err
		}
	}
	object, gvk, err := d.bytes.Decode(data, defaults, into)
	if object == nil || gvk == nil {
		return object, gvk, err
	}
	if object.GetObjectKind().GroupVersionKind() != *gvk {
		object.GetObjectKind().SetGroupVersionKind(*gvk) // the bytes left out a part
	}
	if itemErr := d.setItemKinds(object, *gvk); err == nil {
		err = itemErr
	}
	return object, gvk, err
}

// setItemKinds gives the items of a typed list their kind, which the server
// leaves out.
func (d *decoder) setItemKinds(object runtime.Object, gvk schema.GroupVersionKind) error {
	if _, ok := object.(metav1.ListInterface); !ok || !meta.IsListType(object) {
		return nil
	}
	itemKind := gvk
	itemKind.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return meta.EachListItem(object, func(item runtime.Object) error {
		kinds, _, err := d.scheme.ObjectKinds(item)
		if err != nil || !item.GetObjectKind().GroupVersionKind().Empty() {
			return nil // it carries its own kind, or it is raw
		}
		if slices.Contains(kinds, itemKind) {
			item.GetObjectKind().SetGroupVersionKind(itemKind)
		} else if len(kinds) == 1 {
			item.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		return nil
	})
}
