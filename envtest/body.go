package envtest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxBody is how many bytes a request may have.
const maxBody = 3 << 20

// body reads the request's body, once.
func (c *call) body() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(c.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case len(b) > maxBody:
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return b, nil
}

// decode reads the object in the request's body: of the call's kind (see call.kind), in the
// version that it says it has, which may be another one of the same kind. Its kind is always set.
// What only a strict server would mind (fields that nobody knows, fields given
// twice) comes back as faults: fieldValidation says what to do with them.
func (s *Server) decode(c *call) (obj client.Object, faults []error, err error) {
	body, err := c.body()
	if err != nil {
		return nil, nil, err
	}
	kind := c.kind()
	into, faults, err := s.decodeBody(c, body, kind)
	if err != nil {
		return nil, nil, err
	}
	obj, ok := into.(client.Object)
	if !ok || obj.GetObjectKind().GroupVersionKind() != kind {
		return nil, nil, errBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: the body is a %s",
			kind.Kind, kind.Version, kind.Kind, into.GetObjectKind().GroupVersionKind()))
	}
	return obj, faults, nil
}

// decodeBody decodes a body by its Content-Type, of a kind that it need not name.
func (s *Server) decodeBody(c *call, body []byte, kind schema.GroupVersionKind) (runtime.Object, []error, error) {
	mediaType, err := c.contentType()
	if err != nil {
		return nil, nil, err
	}
	if !s.scheme.Recognizes(kind) {
		return decodeUnstructured(mediaType, body, kind)
	}
	info, _ := runtime.SerializerInfoForMediaType(s.scheme.Codecs().SupportedMediaTypes(), mediaType)
	decoder := info.StrictSerializer
	if decoder == nil {
		decoder = info.Serializer
	}
	obj, _, err := decoder.Decode(body, &kind, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		return obj, strict.Errors(), nil
	}
	if err != nil {
		return nil, nil, errUndecodable(kind, err)
	}
	return obj, nil, nil
}

// decodeUnstructured decodes what has no Go type.
func decodeUnstructured(mediaType string, body []byte, kind schema.GroupVersionKind) (runtime.Object, []error, error) {
	if mediaType == runtime.ContentTypeYAML {
		var err error
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil, nil, errUndecodable(kind, err)
		}
	}
	u := &unstructured.Unstructured{}
	faults, err := kjson.UnmarshalStrict(body, &u.Object)
	if err != nil {
		return nil, nil, errUndecodable(kind, err)
	}
	if u.Object == nil {
		return nil, nil, errUndecodable(kind, errors.New("the body is no object"))
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(kind.GroupVersion().String())
	}
	if u.GetKind() == "" {
		u.SetKind(kind.Kind)
	}
	return u, faults, nil
}

// contentType is the media type of the call's body.
func (c *call) contentType() (string, error) {
	header := c.Header.Get("Content-Type")
	if header == "" {
		return runtime.ContentTypeJSON, nil
	}
	has := mediaTypes
	if !hasProtobuf(c.resource) {
		has = mediaTypes[:2]
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err == nil {
		for _, m := range has {
			if m == mediaType {
				return m, nil
			}
		}
	}
	return "", statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(has, ", "), nil)
}

// errUndecodable: the body is not what it should be.
func errUndecodable(kind schema.GroupVersionKind, cause error) error {
	return errBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, cause))
}
