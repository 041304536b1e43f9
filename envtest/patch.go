package envtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// patch changes an object, or what the path names below it, by a patch; an apply may also create it.
func (s *Server) patch(c *call) (*answer, error) {
	p, err := s.newPatcher(c)
	if err != nil {
		return nil, err
	}
	o, created, err := s.updateObject(c.Context(), p.write, change{next: p.next, create: p.creates()})
	if err != nil {
		return nil, err
	}
	return s.written(p.write, o, created)
}

// patcher is a patch, understood: it makes the next state of an object out of the current one.
type patcher struct {
	server  *Server
	call    *call
	write   *write
	kind    schema.GroupVersionKind // of what is patched
	format  types.PatchType
	body    []byte
	options metav1.PatchOptions
}

// newPatcher reads a patch and its options. Which error comes first is as with the
// real server. Upstream: apiserver pkg/endpoints/handlers/patch.go.
func (s *Server) newPatcher(c *call) (*patcher, error) {
	p := &patcher{server: s, call: c, kind: c.kind()}
	mediaType, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	p.format = types.PatchType(strings.TrimSpace(mediaType))
	if !slices.Contains(patchTypes, p.format) || p.format == types.StrategicMergePatchType && c.resource.Custom != nil {
		return nil, errPatchType(c.resource.Custom != nil)
	}
	var err error
	if p.body, err = c.body(); err != nil {
		return nil, err
	}
	if err := c.decodeOptions(&p.options); err != nil {
		return nil, err
	}
	if err := errOptions("PatchOptions", validation.ValidatePatchOptions(&p.options, p.format)); err != nil {
		return nil, err
	}
	if p.format == types.ApplyYAMLPatchType {
		if _, err := yaml.ToJSON(p.body); err != nil {
			return nil, errBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
	} else if !json.Valid(p.body) {
		return nil, errBadRequest("invalid JSON patch")
	}
	p.write = c.newWrite(p.options.DryRun, p.options.FieldManager)
	p.write.options = &p.options
	return p, nil
}

// patchTypes are the formats of patches; custom kinds have no strategic merge.
var patchTypes = []types.PatchType{
	types.JSONPatchType,
	types.MergePatchType,
	types.StrategicMergePatchType,
	types.ApplyYAMLPatchType,
}

// errPatchType: the patch is in a format that the resource does not take.
func errPatchType(custom bool) error {
	if !custom { // worded by the router
		return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"415: Unsupported Media Type", &metav1.StatusDetails{})
	}
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s, %s",
			types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType), nil)
}

// creates says whether the patch may create the object.
func (p *patcher) creates() bool {
	return p.format == types.ApplyYAMLPatchType && p.call.subresource == nil
}

// next returns the object after the patch, with its managedFields: a value of its
// own. live, which is not written to, is nil if there is no object. Both are in the version of the path.
func (p *patcher) next(live client.Object) (client.Object, error) {
	patched, err := p.patched(live)
	if err != nil {
		return nil, err
	}
	if uid := patched.GetUID(); uid != "" && live == nil {
		return nil, p.write.errConflict(
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := p.write.ensureNamespace(patched); err != nil {
		return nil, err
	}
	return patched, p.write.checkName(patched)
}

func (p *patcher) patched(live client.Object) (client.Object, error) {
	var patched client.Object
	var err error
	switch p.format {
	case types.ApplyYAMLPatchType:
		return p.applied(live)
	case types.StrategicMergePatchType:
		patched, err = p.merged(live)
	default:
		patched, err = p.edited(live)
	}
	if err != nil {
		return nil, err
	}
	return patched, p.server.track(p.write, live, patched)
}

// judge does with a patch's faults what fieldValidation says; what describes the patch.
func (p *patcher) judge(what string, faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	switch p.options.FieldValidation {
	case metav1.FieldValidationIgnore:
	case metav1.FieldValidationStrict:
		return errPatch(what, runtime.NewStrictDecodingError(faults))
	default:
		p.call.warnAll(faults)
	}
	return nil
}

// errPatch: what the patch makes is no object of the kind.
func errPatch(what string, cause error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), what, cause.Error()),
	})
}
