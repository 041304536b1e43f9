package envtest

import (
	"context"
	"net/http"

	"governor/client"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// review answers a question that is put as an object: who am I, whose token is this, may
// somebody do something. question is written to.
// Upstream: kubernetes pkg/registry/{authentication,authorization}.
func (s *Server) review(c *call, question client.Object) (*answer, error) {
	o, err := c.createOptions()
	if err != nil {
		return nil, err
	}
	w := c.newWrite(o.DryRun, o.FieldManager)
	if err := w.ensureNamespace(question); err != nil {
		return nil, err
	}
	if err := s.track(w, nil, question); err != nil {
		return nil, err
	}
	value, err := s.reviewed(c.Context(), c.attributes.User, question)
	if err != nil {
		return nil, err
	}
	return &answer{code: http.StatusCreated, value: value}, nil
}

// reviewed returns a question with its answer.
func (s *Server) reviewed(ctx context.Context, user User, question runtime.Object) (runtime.Object, error) {
	switch q := question.(type) {
	case *authenticationv1.SelfSubjectReview:
		q.ObjectMeta = metav1.ObjectMeta{CreationTimestamp: metav1.Now()}
		q.Status.UserInfo = userInfo(user)
	case *authenticationv1.TokenReview:
		if q.Spec.Token == "" {
			return nil, errBadRequest("token is required for TokenReview in authentication")
		}
		q.Status = s.tokenStatus(q.Spec)
	case *authorizationv1.SelfSubjectAccessReview:
		faults := checkAccessSpec(q.Spec.ResourceAttributes, q.Spec.NonResourceAttributes)
		faults = append(faults, checkEmpty(q.ObjectMeta, "must be empty")...)
		if len(faults) > 0 {
			return nil, errReview(faults)
		}
		q.Status = s.accessStatus(ctx, accessAttributes(user, q.Spec.ResourceAttributes, q.Spec.NonResourceAttributes))
	case *authorizationv1.SubjectAccessReview:
		faults := append(checkSubjectSpec(&q.Spec), checkEmpty(q.ObjectMeta, "must be empty")...)
		if len(faults) > 0 {
			return nil, errReview(faults)
		}
		q.Status = s.accessStatus(ctx, subjectAttributes(&q.Spec))
	case *authorizationv1.LocalSubjectAccessReview:
		if faults := checkLocal(q); len(faults) > 0 {
			return nil, errReview(faults)
		}
		q.Status = s.accessStatus(ctx, subjectAttributes(&q.Spec))
	case *authorizationv1.SelfSubjectRulesReview:
		if q.Spec.Namespace == "" {
			return nil, errBadRequest("no namespace on request")
		}
		return &authorizationv1.SelfSubjectRulesReview{TypeMeta: q.TypeMeta, Status: s.rulesStatus(user, q.Spec.Namespace)}, nil
	default:
		return nil, errMethodNotAllowed()
	}
	return question, nil
}

// tokenStatus says whose a token is.
func (s *Server) tokenStatus(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	user, ok := s.users.lookup(spec.Token)
	if !ok {
		return authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(user), Audiences: spec.Audiences}
}

func (s *Server) accessStatus(ctx context.Context, a Attributes) authorizationv1.SubjectAccessReviewStatus {
	allowed, reason := s.allowed(ctx, a)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Reason: reason}
}

// rulesStatus lists what a user may do in a namespace. Without RBAC nobody can
// say: an Authorizer answers, and does not list.
func (s *Server) rulesStatus(user User, namespace string) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{},
		NonResourceRules: []authorizationv1.NonResourceRule{},
		Incomplete:       s.authorizer != nil,
	}
	add := func(rule *rbacv1.PolicyRule, _ string) bool {
		if len(rule.Resources) > 0 {
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
				Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs,
			})
		}
		return true
	}
	if !s.rbac {
		everything := []string{"*"}
		add(&rbacv1.PolicyRule{Verbs: everything, APIGroups: everything, Resources: everything}, "")
		add(&rbacv1.PolicyRule{Verbs: everything, NonResourceURLs: everything}, "")
		return status
	}
	for _, fault := range s.rulesOf(user, namespace, add) {
		status.EvaluationError = fault.Error()
	}
	return status
}

// accessAttributes is what a review asks about.
func accessAttributes(user User, r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) Attributes {
	if r == nil {
		return Attributes{User: user, Verb: n.Verb, Path: n.Path}
	}
	return Attributes{
		User: user, ResourceRequest: true, Verb: r.Verb, Group: r.Group, Version: r.Version,
		Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
}

func subjectAttributes(spec *authorizationv1.SubjectAccessReviewSpec) Attributes {
	user := User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for key, values := range spec.Extra {
		if user.Extra == nil {
			user.Extra = make(map[string][]string)
		}
		user.Extra[key] = values
	}
	return accessAttributes(user, spec.ResourceAttributes, spec.NonResourceAttributes)
}

// internalNonResource has the names of fields that the server's errors show.
type internalNonResource struct{ Path, Verb string }

func internalOf(n *authorizationv1.NonResourceAttributes) *internalNonResource {
	if n == nil {
		return nil
	}
	return &internalNonResource{n.Path, n.Verb}
}

func checkAccessSpec(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (r == nil) != (n == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), internalOf(n),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

func checkSubjectSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	faults := checkAccessSpec(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		faults = append(faults, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return faults
}

func checkLocal(q *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	faults := checkSubjectSpec(&q.Spec)
	meta := q.ObjectMeta
	meta.Namespace = ""
	faults = append(faults, checkEmpty(meta, "must be empty except for namespace")...)
	if r := q.Spec.ResourceAttributes; r != nil && r.Namespace != q.Namespace {
		faults = append(faults, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), r.Namespace, "must match metadata.namespace"))
	}
	if n := q.Spec.NonResourceAttributes; n != nil {
		faults = append(faults, field.Invalid(field.NewPath("spec.nonResourceAttributes"), internalOf(n), "disallowed on this kind of request"))
	}
	return faults
}

// checkEmpty refuses metadata, which a question does not have.
func checkEmpty(meta metav1.ObjectMeta, detail string) field.ErrorList {
	bare := meta
	bare.ManagedFields = nil
	if equality.Semantic.DeepEqual(metav1.ObjectMeta{}, bare) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, detail)}
}

// errReview: a question that cannot be answered. The server does not say of what
// kind it is.
func errReview(faults field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", faults)
}
