package client

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// protoMessage is what the generated protobuf code of Kubernetes' types has.
type protoMessage interface{ Unmarshal([]byte) error }

// errStatusReply is a reply that says "done" and brings no object.
var errStatusReply = errors.New("the server answered with a Status in place of an object")

var errNoKind = errors.New("it has no kind: no API server answered")

// withKind returns obj with its kind set: obj itself, or a shallow copy, since
// the caller's object must not be touched.
func withKind[T runtime.Object](obj T, gvk schema.GroupVersionKind) T {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	fresh := copied.Interface().(T)
	fresh.GetObjectKind().SetGroupVersionKind(gvk)
	return fresh
}

// decodeInto replaces obj by the object in data: nothing of its old content
// stays. check judges the kind that data claims to be. On an error obj is as it
// was.
func decodeInto(data []byte, obj runtime.Object, check func(kind string) error) error {
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	kind, err := fill(data, fresh.Interface().(runtime.Object))
	if err == nil {
		err = check(kind)
	}
	if err != nil {
		return fmt.Errorf("decode the reply: %w", err)
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return nil
}

// fill decodes data into a new object or list of any form, and returns the kind
// that data claims to be. A Status in its place is an error.
func fill(data []byte, fresh runtime.Object) (string, error) {
	u, ok := fresh.(runtime.Unstructured)
	if !ok {
		return unmarshal(data, fresh)
	}
	kind, content, err := decodeContent(data)
	if err != nil {
		return kind, err
	}
	return kind, setContent(u, content)
}

// unmarshal decodes JSON or protobuf, whichever data is, into a new object, and
// returns the kind that data claims to be. A Status that was not asked for is
// an error.
func unmarshal(data []byte, fresh runtime.Object) (string, error) {
	kind, err := unmarshalAny(data, fresh)
	if _, asked := fresh.(*metav1.Status); kind == "Status" && !asked {
		var status metav1.Status
		if _, err := unmarshalAny(data, &status); err != nil {
			return kind, err
		}
		return kind, statusError(&status)
	}
	return kind, err
}

// statusError turns a Status into an error: its own, or errStatusReply.
func statusError(status *metav1.Status) error {
	if status.Status == metav1.StatusSuccess {
		return errStatusReply
	}
	return apierrors.FromObject(status)
}

// unmarshalAny decodes data; it tells the kind also beside an error.
func unmarshalAny(data []byte, fresh runtime.Object) (string, error) {
	if bytes.HasPrefix(data, protobufMagic) {
		kind, raw, err := openEnvelope(data)
		if err != nil {
			return "", err
		}
		return string(kind), unmarshalProtobuf(raw, fresh)
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

// unmarshalProtobuf decodes bytes that have no envelope.
func unmarshalProtobuf(raw []byte, fresh runtime.Object) error {
	msg, ok := fresh.(protoMessage)
	if !ok {
		return fmt.Errorf("the server sent protobuf, which %T does not have", fresh)
	}
	return msg.Unmarshal(raw)
}

// decodeContent decodes an unstructured object; whole numbers stay int64.
func decodeContent(data []byte) (string, map[string]any, error) {
	if bytes.HasPrefix(data, protobufMagic) {
		return "", nil, errors.New("the server sent protobuf for an unstructured object")
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return "", nil, err
	}
	kind, _ := content["kind"].(string)
	if kind == "Status" && content["apiVersion"] == "v1" {
		var status metav1.Status
		if err := json.Unmarshal(data, &status); err != nil {
			return kind, nil, err
		}
		return kind, nil, statusError(&status)
	}
	return kind, content, nil
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

// checkListKind refuses a reply that cannot be a list. The kind of a custom
// resource's list is the author's choice.
func (r *Resource) checkListKind(claimed string) error {
	if claimed == "" {
		return errNoKind
	}
	return nil
}

// checkKind refuses a reply that is something else than what was asked for: a
// proxy's page in JSON would else be taken for an object without content.
func (r *Resource) checkKind(claimed string) error {
	switch {
	case claimed == r.gvk.Kind:
		return nil
	case r.form == MetadataOnly && strings.HasPrefix(claimed, "PartialObjectMetadata"):
		return nil
	case claimed == "":
		return errNoKind
	}
	return fmt.Errorf("it is of kind %s, not %s", claimed, r.gvk.Kind)
}
