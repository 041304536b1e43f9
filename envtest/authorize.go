package envtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Attributes is what a request asks for, and who.
type Attributes struct {
	User                               User
	Verb, Group, Version, Resource     string
	Subresource, Namespace, Name, Path string
	ResourceRequest                    bool
}

// Authorizer decides whether a request may be made; reason is for the error's
// text. It is asked about every request, those of system:masters too, and for each SubjectAccessReview;
// it must not call the server back.
type Authorizer func(ctx context.Context, a Attributes) (allowed bool, reason string)

// allowed asks all that have a say.
func (s *Server) allowed(ctx context.Context, a Attributes) (allowed bool, reason string) {
	allowed = true
	if s.rbac {
		allowed, reason = s.roles(a)
	}
	if allowed && s.authorizer != nil {
		allowed, reason = s.authorizer(ctx, a)
	}
	return allowed, reason
}

// checkAllowed is nil, or the 403 that says what is not allowed.
func (s *Server) checkAllowed(ctx context.Context, a Attributes) error {
	if allowed, reason := s.allowed(ctx, a); !allowed {
		return forbidden(a, reason)
	}
	return nil
}

// forbidden is the error of a user who may not. Upstream: apiserver
// pkg/endpoints/handlers/responsewriters/errors.go.
func forbidden(a Attributes, reason string) error {
	message := fmt.Sprintf("User %q cannot %s path %q", a.User.Name, a.Verb, a.Path)
	if a.ResourceRequest {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		where := "at the cluster scope"
		if a.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", a.Namespace)
		}
		message = fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.User.Name, a.Verb, resource, a.Group, where)
	}
	message = noHTML.Replace(message)
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(message))
}

// noHTML makes sure that no browser takes an error for a page.
var noHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
