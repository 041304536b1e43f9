package envtest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// impersonate finds as whom a request is made: whom its Impersonate-… headers name, if its
// user may, or else the user. Upstream: apiserver pkg/endpoints/filters/impersonation.
func (s *Server) impersonate(r *http.Request, a Attributes) (User, error) {
	wanted, err := impersonated(r.Header)
	if err != nil || wanted == nil {
		return a.User, err
	}
	_, _, isServiceAccount := splitServiceAccount(wanted.Name)
	var modes []string
	switch {
	case !isServiceAccount:
		modes = []string{"user-info", ""}
	case wanted.UID == "" && len(wanted.Groups) == 0 && len(wanted.Extra) == 0:
		modes = []string{"serviceaccount", ""}
	default:
		modes = []string{""}
	}
	// The mode that has last worked for the user comes first; the refusal of the
	// first one is what the client hears.
	if last, ok := s.modes.Load(a.User.Name); ok && last == "" {
		slices.Reverse(modes)
	}
	var refusal error
	for _, mode := range modes {
		err := s.mayImpersonate(r.Context(), a, *wanted, mode)
		if err == nil {
			s.modes.Store(a.User.Name, mode)
			return completed(*wanted), nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	return User{}, refusal
}

// completed is an impersonated user with the groups that all such have.
func completed(u User) User {
	if namespace, name, ok := splitServiceAccount(u.Name); ok && len(u.Groups) == 0 {
		u.Groups = serviceAccount(namespace, name, "").Groups
	}
	switch {
	case u.Name == anonymous:
		return ofGroup(u, unauthenticated)
	case !slices.Contains(u.Groups, unauthenticated):
		return ofGroup(u, authenticated)
	}
	return u
}

// impersonated reads the headers that name another user; nil if there are none.
func impersonated(h http.Header) (*User, error) {
	u := &User{
		Name:   h.Get(authenticationv1.ImpersonateUserHeader),
		UID:    h.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: slices.Clone(h[authenticationv1.ImpersonateGroupHeader]),
	}
	for header, values := range h {
		key, ok := strings.CutPrefix(header, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok || len(values) == 0 {
			continue
		}
		key = strings.ToLower(key)
		if unescaped, err := url.PathUnescape(key); err == nil {
			key = unescaped
		}
		if u.Extra == nil {
			u.Extra = make(map[string][]string)
		}
		u.Extra[key] = append(u.Extra[key], values...)
	}
	switch {
	case u.Name != "":
		return u, nil
	case u.UID != "" || len(u.Groups) > 0 || len(u.Extra) > 0:
		return nil, errBadRequest(fmt.Sprintf("requested &user.DefaultInfo{Name:\"\", UID:%q, Groups:%#v, Extra:%#v} without impersonating a user name",
			u.UID, u.Groups, u.Extra))
	}
	return nil, nil
}

// mayImpersonate says whether a user may be another one, in a mode; "" is the old one, in which
// whoever may impersonate may do so for everything.
func (s *Server) mayImpersonate(ctx context.Context, a Attributes, wanted User, mode string) error {
	const group = "authentication.k8s.io"
	verb, namesGroup := "impersonate", ""
	if mode != "" {
		verb, namesGroup = "impersonate:"+mode, group
		on := a
		on.Verb = "impersonate-on:" + mode + ":" + a.Verb
		if err := s.checkAllowed(ctx, on); err != nil {
			return err
		}
	}
	check := func(group, resource, subresource, namespace, name string) error {
		return s.checkAllowed(ctx, Attributes{
			User: a.User, Verb: verb, Group: group, Version: "v1", ResourceRequest: true,
			Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
		})
	}
	var err error
	if namespace, name, ok := splitServiceAccount(wanted.Name); ok {
		err = check(namesGroup, "serviceaccounts", "", namespace, name)
	} else {
		err = check(namesGroup, "users", "", "", wanted.Name)
	}
	if err == nil && wanted.UID != "" {
		err = check(group, "uids", "", "", wanted.UID)
	}
	for _, g := range wanted.Groups {
		if err == nil && mode != "" && g == administrators {
			err = forbidden(Attributes{User: a.User, Verb: verb, Group: namesGroup, Resource: "groups", Name: g, ResourceRequest: true},
				"impersonating the system:masters group is not allowed")
		}
		if err == nil {
			err = check(namesGroup, "groups", "", "", g)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		for _, value := range wanted.Extra[key] {
			if err == nil {
				err = check(group, "userextras", key, "", value)
			}
		}
	}
	return err
}
