package client

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"governor/scheme"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
	asMetadata    = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// format is how objects of one kind and form travel.
type format struct {
	// accept is the Accept header; the server picks from it.
	accept string
	// contentType is that of the bodies we send.
	contentType string
}

// protobufPackages are the Go packages whose types the API server itself
// serves, and so in protobuf too. Custom resources are served in JSON only,
// whatever methods their Go types have.
var protobufPackages = []string{
	"k8s.io/api/",
	"k8s.io/apiextensions-apiserver/",
	"k8s.io/kube-aggregator/",
}

// protoMessage is what the generated protobuf code of Kubernetes' types has.
type protoMessage interface{ Unmarshal([]byte) error }

// hasProtobuf says whether the server has a protobuf form of obj's kind.
func hasProtobuf(obj runtime.Object) bool {
	if _, ok := obj.(protoMessage); !ok {
		return false
	}
	pkg := reflect.TypeOf(obj).Elem().PkgPath()
	for _, prefix := range protobufPackages {
		if strings.HasPrefix(pkg, prefix) {
			return true
		}
	}
	return false
}

// formatOf returns the format for a form; protobuf says whether it may be used
// at all. Of Typed, an example tells whether the kind has it.
func formatOf(form Form, protobuf bool, example runtime.Object) format {
	switch {
	case form == MetadataOnly && protobuf:
		return format{accept: mediaProtobuf + asMetadata + "," + mediaJSON + asMetadata + "," + mediaJSON, contentType: mediaJSON}
	case form == MetadataOnly:
		return format{accept: mediaJSON + asMetadata + "," + mediaJSON, contentType: mediaJSON}
	case form == Typed && protobuf && hasProtobuf(example):
		return format{accept: mediaProtobuf + "," + mediaJSON, contentType: mediaProtobuf}
	default:
		return format{accept: mediaJSON, contentType: mediaJSON}
	}
}

// encode returns an object's bytes, with apiVersion and kind whatever the
// object's TypeMeta says. The object itself is not touched.
func encode(s *scheme.Scheme, obj runtime.Object, gvk schema.GroupVersionKind, contentType string) ([]byte, error) {
	if FormOf(obj) != Unstructured {
		// A shallow copy is enough: TypeMeta is all that is changed.
		copied := reflect.New(reflect.TypeOf(obj).Elem())
		copied.Elem().Set(reflect.ValueOf(obj).Elem())
		obj = copied.Interface().(runtime.Object)
		obj.GetObjectKind().SetGroupVersionKind(gvk)
	}
	info, ok := runtime.SerializerInfoForMediaType(s.Codecs().SupportedMediaTypes(), contentType)
	if !ok {
		return nil, fmt.Errorf("no serializer for %s", contentType)
	}
	return runtime.Encode(info.Serializer, obj)
}

// errStatusReply is a reply that says "done" and brings no object.
var errStatusReply = errors.New("the server answered with a Status in place of the object")

// decodeInto replaces obj by the object in data: nothing of its old content
// stays. On an error obj is as it was. A server that answers with a Status of
// success yields errStatusReply.
func decodeInto(data []byte, obj runtime.Object) error {
	if u, ok := obj.(runtime.Unstructured); ok {
		content, err := decodeContent(data)
		if err != nil {
			return err
		}
		if err := setContent(u, content); err != nil {
			return err
		}
		return nil
	}
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	if err := unmarshal(data, fresh.Interface().(runtime.Object)); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return nil
}

// unmarshal decodes JSON or protobuf, whichever data is, into a new object. A
// Status that comes instead is returned as an error.
func unmarshal(data []byte, fresh runtime.Object) error {
	kind, err := unmarshalKind(data, fresh)
	if _, asked := fresh.(*metav1.Status); kind == "Status" && !asked {
		var status metav1.Status
		if _, err := unmarshalKind(data, &status); err != nil {
			return err
		}
		return statusError(&status)
	}
	return err
}

// statusError turns a Status into an error: its own, or errStatusReply.
func statusError(status *metav1.Status) error {
	if status.Status == metav1.StatusSuccess {
		return errStatusReply
	}
	return apierrors.FromObject(status)
}

// unmarshalKind decodes data and returns the kind that it claims to be, also
// beside an error.
func unmarshalKind(data []byte, fresh runtime.Object) (string, error) {
	if bytes.HasPrefix(data, protobufMagic) {
		gvk, raw, err := openEnvelope(data)
		if err != nil {
			return "", err
		}
		msg, ok := fresh.(protoMessage)
		if !ok {
			return gvk.Kind, fmt.Errorf("the server sent protobuf, which %T does not have", fresh)
		}
		return gvk.Kind, msg.Unmarshal(raw)
	}
	err := json.Unmarshal(data, fresh)
	if err == nil {
		return fresh.GetObjectKind().GroupVersionKind().Kind, nil
	}
	var claimed metav1.TypeMeta
	if json.Unmarshal(data, &claimed) != nil {
		return "", err
	}
	return claimed.Kind, err
}

// decodeContent decodes an unstructured object; whole numbers stay int64.
func decodeContent(data []byte) (map[string]any, error) {
	if bytes.HasPrefix(data, protobufMagic) {
		return nil, errors.New("the server sent protobuf for an unstructured object")
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	if content == nil {
		return nil, errors.New("the server sent null for an object")
	}
	if kind, _ := content["kind"].(string); kind == "Status" && content["apiVersion"] == "v1" {
		var status metav1.Status
		if err := json.Unmarshal(data, &status); err != nil {
			return nil, err
		}
		return nil, statusError(&status)
	}
	return content, nil
}

// setContent gives an unstructured object or list its content.
func setContent(u runtime.Unstructured, content map[string]any) error {
	list, ok := u.(*unstructured.UnstructuredList)
	if !ok {
		u.SetUnstructuredContent(content)
		return nil
	}
	raw, ok := content["items"].([]any)
	if !ok && content["items"] != nil {
		return errors.New("the items of the list are not an array")
	}
	items := make([]unstructured.Unstructured, len(raw))
	for i, r := range raw {
		m, ok := r.(map[string]any)
		if !ok {
			return fmt.Errorf("item %d of the list is not an object", i)
		}
		items[i].Object = m
	}
	delete(content, "items")
	list.Object, list.Items = content, items
	return nil
}
