package envtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"governor/client"
	"governor/envtest/kinds"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// callError is a webhook that gave no answer, which its failurePolicy may forgive.
type callError struct {
	webhook string
	cause   error
}

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.webhook, e.cause)
}

// ask asks one webhook about a change, in a version of the resource, and does what it says.
func (s *Server) ask(ctx context.Context, h *hook, a *admission, as *kinds.Resource) error {
	err := s.askOnce(ctx, h, a, as)
	var call *callError
	switch {
	case !errors.As(err, &call):
		return err
	case h.FailurePolicy == nil || *h.FailurePolicy == admissionregistrationv1.Fail:
		return apierrors.NewInternalError(call)
	case ctx.Err() != nil:
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	return nil // failurePolicy: Ignore
}

func (s *Server) askOnce(ctx context.Context, h *hook, a *admission, as *kinds.Resource) error {
	failed := func(format string, args ...any) error {
		return &callError{webhook: h.Name, cause: fmt.Errorf(format, args...)}
	}
	if a.dryRun {
		switch {
		case h.SideEffects == nil:
			return failed("Webhook SideEffects is nil")
		case *h.SideEffects != admissionregistrationv1.SideEffectClassNone && *h.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun:
			return errBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.Name))
		}
	}
	request, err := s.admissionRequest(a, as)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	timeout := 10 * time.Second
	if h.TimeoutSeconds != nil {
		timeout = time.Duration(*h.TimeoutSeconds) * time.Second
	}
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var review admissionv1.AdmissionReview
	question := admissionv1.AdmissionReview{TypeMeta: reviewType, Request: request}
	if err := s.webhooks.call(callCtx, h.ClientConfig, question, &review, timeout); err != nil {
		return failed("failed to call webhook: %w", err)
	}
	if err := checkResponse(&review, request, h.mutating); err != nil {
		return failed("received invalid webhook response: %w", err)
	}
	for _, text := range review.Response.Warnings {
		a.warn(text)
	}
	if !review.Response.Allowed {
		return denial(h.Name, review.Response.Result)
	}
	if len(review.Response.Patch) == 0 {
		return nil
	}
	return s.applyPatch(h, a, as, request.Object.Raw, review.Response)
}

var reviewType = metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"}

// admissionRequest is what a webhook is told.
func (s *Server) admissionRequest(a *admission, as *kinds.Resource) (*admissionv1.AdmissionRequest, error) {
	kind := a.kind
	if a.subresource == "" {
		kind = as.GroupVersionKind
	}
	group := func(k schema.GroupVersionKind) metav1.GroupVersionKind { return metav1.GroupVersionKind(k) }
	r := &admissionv1.AdmissionRequest{
		UID:                uuid.NewUUID(),
		Kind:               group(kind),
		Resource:           metav1.GroupVersionResource(as.GroupVersionResource),
		SubResource:        a.subresource,
		RequestSubResource: a.subresource,
		Name:               a.name,
		Namespace:          a.namespace,
		Operation:          admissionv1.Operation(a.operation),
		UserInfo:           userInfo(a.user),
		DryRun:             &a.dryRun,
	}
	requestKind, requestResource := group(a.kind), metav1.GroupVersionResource(a.resource.GroupVersionResource)
	r.RequestKind, r.RequestResource = &requestKind, &requestResource
	var err1, err2, err3 error
	r.Object, err1 = s.raw(a.object, a, as)
	r.OldObject, err2 = s.raw(a.old, a, as)
	if a.options != nil {
		r.Options.Raw, err3 = json.Marshal(a.options)
	}
	return r, errors.Join(err1, err2, err3)
}

// raw is an object in JSON, in the version that a webhook wants.
func (s *Server) raw(o client.Object, a *admission, as *kinds.Resource) (raw runtime.RawExtension, err error) {
	if o == nil {
		return raw, nil
	}
	// What is stored may be in a third version. A subresource's object stays as it is.
	if kind := o.GetObjectKind().GroupVersionKind(); kind != as.GroupVersionKind && kind.GroupKind() == as.GroupVersionKind.GroupKind() {
		if o, err = as.Convert(o, as.GroupVersionKind.GroupVersion()); err != nil {
			return raw, err
		}
	}
	raw.Raw, err = s.json(o)
	return raw, err
}

// userInfo is a user as the API writes it.
func userInfo(u User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for key, values := range u.Extra {
		if info.Extra == nil {
			info.Extra = make(map[string]authenticationv1.ExtraValue)
		}
		info.Extra[key] = values
	}
	return info
}

// checkResponse says what is wrong with a webhook's answer.
func checkResponse(review *admissionv1.AdmissionReview, request *admissionv1.AdmissionRequest, mutating bool) error {
	r := review.Response
	switch {
	case r == nil:
		return errors.New("webhook response was absent")
	case r.UID != request.UID:
		return fmt.Errorf("expected response.uid=%q, got %q", request.UID, r.UID)
	case review.TypeMeta != reviewType:
		return fmt.Errorf("expected webhook response of %v, got %v", reviewType.GroupVersionKind(), review.GroupVersionKind())
	case !mutating && len(r.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && r.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(r.Patch) > 0 && r.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(r.Patch) == 0 && r.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case r.PatchType != nil && *r.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *r.PatchType)
	}
	return nil
}

// denial is what a client hears of a webhook that refuses.
func denial(webhook string, result *metav1.Status) error {
	status := metav1.Status{}
	if result != nil {
		status = *result
	}
	status.Code = max(status.Code, 0)
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	by := fmt.Sprintf("admission webhook %q denied the request", webhook)
	switch {
	case status.Message != "":
		status.Message = by + ": " + status.Message
	case status.Reason != "":
		status.Message = by + ": " + string(status.Reason)
	default:
		status.Message = by + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// applyPatch changes the object as a webhook wants.
func (s *Server) applyPatch(h *hook, a *admission, as *kinds.Resource, sent []byte, r *admissionv1.AdmissionResponse) error {
	patch, err := jsonpatch.DecodePatch(r.Patch)
	if err != nil {
		return &callError{h.Name, fmt.Errorf("received undecodable patch in webhook response: %w", err)}
	}
	switch {
	case len(patch) == 0:
		return nil
	case a.object == nil:
		return apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	case *r.PatchType != admissionv1.PatchTypeJSONPatch:
		return &callError{h.Name, fmt.Errorf("unsupported patch type %q", *r.PatchType)}
	}
	patched, err := patch.Apply(sent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	object, err := parseLike(a.object, patched)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if as != a.resource && object.GetObjectKind().GroupVersionKind() == as.GroupVersionKind {
		if object, err = as.Convert(object, a.resource.GroupVersionKind.GroupVersion()); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	if u, ok := object.(*unstructured.Unstructured); ok && a.resource.Rules != nil && a.subresource != "scale" {
		a.resource.Rules.Prune(u)
		a.resource.Rules.Default(u)
	}
	a.object = object
	return nil
}

// parseLike reads JSON into an object of another one's Go type.
func parseLike(like client.Object, data []byte) (client.Object, error) {
	if _, ok := like.(*unstructured.Unstructured); ok {
		u := &unstructured.Unstructured{}
		return u, u.UnmarshalJSON(data)
	}
	object := reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
	return object, json.Unmarshal(data, object)
}
