package envtest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"governor/client"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// maxOperations is how many operations a JSON patch may have.
const maxOperations = 10_000

// edited returns an object after a JSON patch or a merge patch, which are made
// for its JSON; both are in the version of the path.
func (p *patcher) edited(old client.Object) (client.Object, error) {
	document, err := p.server.json(old)
	if err != nil {
		return nil, err
	}
	faults, err := p.scan()
	if err != nil {
		return nil, err
	}
	if p.format == types.JSONPatchType {
		document, err = p.operate(document)
	} else if document, err = jsonpatch.MergePatch(document, p.body); errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = errBadRequest(err.Error())
	}
	if err != nil {
		return nil, err
	}
	object, more, err := p.parse(document)
	if err != nil {
		return nil, errPatch(string(document), err)
	}
	return object, p.judge(string(document), append(faults, more...))
}

// jsonPatchOp is an operation of a JSON patch. Its name is in an error's text.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// scan finds the faults in the patch itself, such as a field that is given twice.
func (p *patcher) scan() ([]error, error) {
	if p.options.FieldValidation == metav1.FieldValidationIgnore {
		return nil, nil
	}
	var operations []jsonPatchOp
	var fields map[string]any
	into := any(&fields)
	if p.format == types.JSONPatchType {
		into = &operations
	}
	faults, err := kjson.UnmarshalStrict(p.body, into)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "envtest.jsonPatchOp", "handlers.jsonPatchOp")
		return nil, errBadRequest("error decoding patch: " + text)
	}
	if p.format == types.JSONPatchType {
		for i, fault := range faults {
			faults[i] = fmt.Errorf("json patch %w", fault)
		}
	}
	return faults, nil
}

// operate performs the operations of a JSON patch.
func (p *patcher) operate(document []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, errBadRequest(err.Error())
	}
	if n := len(operations); n > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, n))
	}
	document, err = operations.Apply(document)
	if err != nil {
		return nil, errUnprocessable(err)
	}
	return document, nil
}

// errUnprocessable: the patch does not fit the object. The server keeps the cause to itself.
func errUnprocessable(cause error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", cause.Error(), 0, false)
}

// merged returns an object after a strategic merge patch; both are in the version of the path.
func (p *patcher) merged(old client.Object) (client.Object, error) {
	if u, ok := old.(*unstructured.Unstructured); ok {
		old = u.DeepCopy() // the merge writes to its fields
	}
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	faults, err := kjson.UnmarshalStrict(p.body, &fields)
	if err != nil {
		return nil, errBadRequest(err.Error())
	}
	next, err := p.server.empty(p.kind)
	if err != nil {
		return nil, err
	}
	rules, err := mergeRulesOf(next)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%+v", fields) // before the merge, which writes to it
	document, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(document, fields, rules)
	if err != nil {
		return nil, errMerge(err)
	}
	more, err := p.fill(next, document)
	if err != nil {
		return nil, errPatch(what, err)
	}
	next.GetObjectKind().SetGroupVersionKind(p.kind) // which a patch cannot change
	return next, p.judge(what, append(faults, more...))
}

// fill makes an object of its fields; faults are what it does not know.
func (p *patcher) fill(object client.Object, fields map[string]any) (faults []error, err error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object = fields
		return coerce(p.call.resource, u)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, object, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return strict.Errors(), nil
	}
	return nil, err
}

// errMerge gives an error of a strategic merge its status.
func errMerge(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc),
		errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys),
		errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return errBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return errUnprocessable(err)
	}
	return err
}

// parse reads what a patch has made; faults are what only a strict server minds.
func (p *patcher) parse(document []byte) (object client.Object, faults []error, err error) {
	if !p.server.scheme.Recognizes(p.kind) {
		return p.parseUnstructured(document)
	}
	into, err := p.server.empty(p.kind)
	if err != nil {
		return nil, nil, err
	}
	info, _ := runtime.SerializerInfoForMediaType(p.server.formats, runtime.ContentTypeJSON)
	_, found, err := info.StrictSerializer.Decode(document, &p.kind, into)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		faults, err = strict.Errors(), nil
	}
	if err == nil {
		err = p.server.checkDecoded(into, *found, p.kind)
	} else if runtime.IsNotRegisteredError(err) {
		err = runtime.NewNotRegisteredErrForKind(schemeName, *found)
	}
	if err != nil {
		return nil, nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(p.kind)
	return into, faults, nil
}

// schemeName is what the server calls its scheme: the line that made it.
const schemeName = "pkg/runtime/scheme.go:111"

// parseUnstructured reads what a patch has made of an object without a Go type.
func (p *patcher) parseUnstructured(document []byte) (client.Object, []error, error) {
	u := &unstructured.Unstructured{}
	faults, err := kjson.UnmarshalStrict(document, &u.Object)
	if err != nil {
		return nil, nil, err
	}
	if u.GetKind() == "" {
		return nil, nil, runtime.NewMissingKindErr(string(document))
	}
	if gvk := u.GroupVersionKind(); gvk != p.kind { // refused later, in other words
		if gvk.GroupKind() == p.kind.GroupKind() { // in a version that nobody defines
			for _, name := range slices.Sorted(maps.Keys(u.Object)) {
				if name != "apiVersion" && name != "kind" && name != "metadata" {
					faults = append(faults, fmt.Errorf("unknown field %q", name))
				}
			}
		}
		return u, faults, nil
	}
	more, err := coerce(p.call.resource, u)
	return u, append(faults, more...), err
}
