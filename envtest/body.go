package envtest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// maxBody is how many bytes a request may have.
const maxBody = 3 << 20

// body reads the request's body. One that is too large is a 413.
func (c *call) body() ([]byte, error) {
	var data []byte
	var err error
	if size := c.ContentLength; size > 0 && size <= maxBody {
		data = make([]byte, size)
		_, err = io.ReadFull(c.Request.Body, data)
	} else {
		data, err = io.ReadAll(io.LimitReader(c.Request.Body, maxBody+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the request's body: %w", err)
	case len(data) > maxBody:
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, nil
}

// mediaType is what the client says its body is: JSON if it says nothing.
func (c *call) mediaType() string {
	header := c.Header.Get("Content-Type")
	switch header {
	case "":
		return runtime.ContentTypeJSON
	case runtime.ContentTypeJSON, runtime.ContentTypeProtobuf: // nearly always; it need not be parsed
		return header
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	return mediaType
}

// errUnknownFormat: the body is in a format that the resource is not taken in.
func errUnknownFormat(accepted ...string) error {
	return statusError(415, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(accepted, ", "), nil)
}

// objectFormats are the formats of a typed object's body.
var objectFormats = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}

// decode reads the request's body as an object of the kind that the path names. What it
// does not know of the object is dropped, told as a warning, or refused, as
// fieldValidation says.
func (s *Server) decode(c *call, fieldValidation string) (client.Object, error) {
	data, err := c.body()
	if err != nil {
		return nil, err
	}
	if c.subresource == nil || c.subresource.Kind == c.resource.GroupVersionKind {
		if unstructuredKind(c.resource) {
			return s.decodeUnstructured(c, data, fieldValidation)
		}
	}
	object, faults, err := s.decodeTyped(c.kind(), c.mediaType(), data)
	if err != nil {
		return nil, err
	}
	return object, c.judge(c.kind(), faults, fieldValidation)
}

// judge does what fieldValidation says with a body's unknown and duplicate fields.
func (c *call) judge(kind schema.GroupVersionKind, faults []error, fieldValidation string) error {
	if len(faults) == 0 {
		return nil
	}
	switch fieldValidation {
	case metav1.FieldValidationIgnore:
	case metav1.FieldValidationStrict:
		return errUndecodable(kind, kind, nil, runtime.NewStrictDecodingError(faults))
	default:
		c.warnAll(faults)
	}
	return nil
}

// decodeTyped reads an object of a kind that the scheme knows; faults are
// unknown and duplicate fields.
func (s *Server) decodeTyped(kind schema.GroupVersionKind, mediaType string, data []byte) (object client.Object, faults []error, err error) {
	info, ok := runtime.SerializerInfoForMediaType(s.formats, mediaType)
	if !ok || !slices.Contains(objectFormats, info.MediaType) {
		return nil, nil, errUnknownFormat(objectFormats...)
	}
	if info.MediaType == runtime.ContentTypeJSON {
		if object, faults, ok := s.decodeExpected(kind, data); ok {
			return object, faults, nil
		}
	}
	into, err := s.scheme.New(kind)
	if err != nil {
		return nil, nil, err
	}
	decoded, actual, err := info.StrictSerializer.Decode(data, &kind, into)
	if actual == nil {
		actual = &schema.GroupVersionKind{}
	}
	if strict, ok := runtime.AsStrictDecodingError(err); ok && decoded != nil {
		faults, err = strict.Errors(), nil
	}
	if err == nil {
		err = s.checkDecoded(decoded, *actual, kind)
		if _, isStatus := errors.AsType[*apierrors.StatusError](err); isStatus {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, errUndecodable(*actual, kind, data, err)
	}
	decoded.GetObjectKind().SetGroupVersionKind(kind)
	return decoded.(client.Object), faults, nil
}

// decodeExpected reads an object in JSON whose kind is the expected one, in one
// pass: the serializer reads it twice, since it has to find the kind first. It is
// not ok if there is anything to say about the object but faults; then the
// serializer finds the words.
func (s *Server) decodeExpected(kind schema.GroupVersionKind, data []byte) (object client.Object, faults []error, ok bool) {
	into, err := s.scheme.New(kind)
	if err != nil {
		return nil, nil, false
	}
	faults, err = kjson.UnmarshalStrict(data, into)
	if err != nil || into.GetObjectKind().GroupVersionKind() != kind {
		return nil, nil, false
	}
	return into.(client.Object), faults, true
}

// checkDecoded refuses an object of a kind that the path does not take.
func (s *Server) checkDecoded(decoded runtime.Object, actual, kind schema.GroupVersionKind) error {
	if s.scheme.Recognizes(actual) && actual.Kind == kind.Kind && actual.Group == kind.Group {
		if actual.Version != kind.Version {
			return errVersionInData(actual.GroupVersion(), kind.GroupVersion())
		}
		return nil
	}
	// The words of a conversion to the server's internal version, which is not ours.
	internal, _, _ := strings.Cut(kind.Group, ".")
	if internal == "" || internal == "events" {
		internal = "core"
	}
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", actual.Version, actual.Kind, internal, kind.Kind)
}

// errVersionInData: the body is of another version than the path.
func errVersionInData(actual, wanted schema.GroupVersion) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the API version in the data (%s) does not match the expected API version (%s)", actual, wanted))
}

// errUndecodable: the body is no object of the kind that the path takes.
func errUndecodable(actual, kind schema.GroupVersionKind, data []byte, err error) error {
	if runtime.IsNotRegisteredError(err) {
		// The server names the line that made its scheme.
		err = runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", actual)
	}
	if actual.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			actual.Kind, actual.Version, kind.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		kind.Kind, err, summary(data)))
}

// summary shows the beginning of a body that could not be read.
func summary(data []byte) string {
	const most = 30
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{' && len(data) > most:
		return string(data[:most]) + " ..."
	case data[0] == '{':
		return string(data)
	case len(data) > most:
		return hex.EncodeToString(data[:most]) + " ..."
	default:
		return hex.EncodeToString(data)
	}
}
