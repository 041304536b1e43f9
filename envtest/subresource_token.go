package envtest

import (
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// audience is who tokens are for, unless the client says otherwise.
const audience = "https://kubernetes.default.svc"

// createToken issues a token for a service account, with which one can make
// requests until it expires.
func (s *Server) createToken(c *call) (*answer, error) {
	o, err := c.createOptions()
	if err != nil {
		return nil, err
	}
	obj, err := s.decode(c, o.FieldValidation)
	if err != nil {
		return nil, err
	}
	w := c.newWrite(o.DryRun, o.FieldManager)
	request := obj.(*authenticationv1.TokenRequest)
	if err := w.ensureNamespace(request); err != nil {
		return nil, err
	}
	if err := s.ledger.admits(c.resource, w.namespace, w.name); err != nil {
		return nil, err
	}
	live := s.store.Get(w.resource.Storage, w.namespace, w.name)
	if live == nil {
		return nil, w.errNotFound()
	}
	account := live.Value.(*corev1.ServiceAccount)
	if err := s.track(w, nil, request); err != nil {
		return nil, err
	}
	if err := fillTokenRequest(request, account); err != nil {
		return nil, err
	}
	if err := s.checkBound(request, w.namespace); err != nil {
		return nil, err
	}
	expires := time.Now().Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second)
	request.Status = authenticationv1.TokenRequestStatus{ExpirationTimestamp: metav1.NewTime(expires.Truncate(time.Second))}
	request.Status.Token = s.users.issue(serviceAccount(account.Namespace, account.Name, string(account.UID)), expires)
	return &answer{code: http.StatusCreated, value: request}, nil
}

// fillTokenRequest fills in what the client has left open, and refuses what makes no sense.
func fillTokenRequest(r *authenticationv1.TokenRequest, account *corev1.ServiceAccount) error {
	kind := authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind()
	switch {
	case r.Name != "" && r.Name != account.Name:
		return apierrors.NewInvalid(kind, account.Name, field.ErrorList{
			field.Invalid(metadataPath.Child("name"), r.Name, "must match the service account name if specified")})
	case r.UID != "" && r.UID != account.UID:
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, account.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", r.UID, account.UID))
	}
	r.Name, r.UID, r.CreationTimestamp = account.Name, account.UID, now()
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = []string{audience}
	}
	if r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = ptr(3600)
	}
	path := field.NewPath("spec").Child("expirationSeconds")
	switch seconds := *r.Spec.ExpirationSeconds; {
	case seconds < 600:
		return apierrors.NewInvalid(kind, "", field.ErrorList{field.Invalid(path, seconds, "may not specify a duration less than 10 minutes")})
	case seconds > 1<<32:
		return apierrors.NewInvalid(kind, "", field.ErrorList{field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")})
	}
	return nil
}

// checkBound looks up the object that a token is to be bound to.
func (s *Server) checkBound(r *authenticationv1.TokenRequest, namespace string) error {
	ref := r.Spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	at, ok := map[schema.GroupKind]place{
		{Kind: "Pod"}:    {pods, namespace, ref.Name},
		{Kind: "Secret"}: {schema.GroupResource{Resource: "secrets"}, namespace, ref.Name},
		{Kind: "Node"}:   {nodes, "", ref.Name},
	}[kind.GroupKind()]
	if !ok {
		return errBadRequest("cannot bind token to object of type " + kind.String())
	}
	bound := s.store.Get(at.resource, at.namespace, at.name)
	if bound == nil {
		return apierrors.NewNotFound(at.resource, ref.Name)
	}
	if pod, ok := bound.Value.(*corev1.Pod); ok && pod.Spec.ServiceAccountName != r.Name {
		return errBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", r.Name))
	}
	if ref.UID != "" && ref.UID != bound.Value.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}
