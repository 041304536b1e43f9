package envtest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"governor/client"
	"governor/envtest"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

func whoAmI(t *testing.T, cfg *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review := &authenticationv1.SelfSubjectReview{}
	if err := newClient(t, cfg).Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

// Contract 19: who has a config is its user, on any server of any number.
func TestUsers(t *testing.T) {
	s, other := envtest.NewServer(nil), envtest.NewServer(nil)
	impersonating := s.Config()
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "bob", Groups: []string{"devs"}, UID: "7", Extra: map[string][]string{"Scope": {"a"}}}
	for _, tt := range []struct {
		cfg    *rest.Config
		name   string
		groups []string
	}{
		{s.Config(), "admin", []string{"system:masters", "system:authenticated"}},
		{s.AddUser("jane", "devs", "ops"), "jane", []string{"devs", "ops", "system:authenticated"}},
		{s.AddUser("jane"), "jane", []string{"system:authenticated"}},
		{s.AddUser(""), "system:anonymous", []string{"system:unauthenticated"}},
		{impersonating, "bob", []string{"devs", "system:authenticated"}},
	} {
		info := whoAmI(t, tt.cfg)
		if info.Username != tt.name || !slices.Equal(info.Groups, tt.groups) {
			t.Errorf("%s is %s of %v, want %v", tt.name, info.Username, info.Groups, tt.groups)
		}
	}
	stranger := s.Config()
	stranger.BearerToken = other.Config().BearerToken
	if err := newClient(t, stranger).List(t.Context(), &corev1.ConfigMapList{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("with another server's token: %v", err)
	}
}

// Contract 19: without roles nothing goes; with one, what it says.
func TestRBAC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, admin := newServer(t, &envtest.Options{RBAC: true})
		create(t, admin, "a")
		jane := newClient(t, s.AddUser("jane"))
		read := func() error { return jane.Get(t.Context(), mapKey("a"), &corev1.ConfigMap{}) }
		err := read()
		if want := `configmaps "a" is forbidden: User "jane" cannot get resource "configmaps" in API group "" in the namespace "default"`; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("without a role: %v", err)
		}
		role := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}}}
		role.Name = "readers"
		binding := &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "readers"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}}
		binding.Namespace, binding.Name = "default", "jane"
		for _, o := range []client.Object{role, binding} {
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		if err := read(); err != nil {
			t.Errorf("with a role: %v", err)
		}
		if err := jane.Delete(t.Context(), newMap("a")); !apierrors.IsForbidden(err) {
			t.Errorf("delete: %v", err)
		}
		if err := admin.Delete(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		if err := read(); !apierrors.IsForbidden(err) {
			t.Errorf("after the binding has gone: %v", err)
		}
	})
}

// Contract 19: the hook has the last word, on administrators too, and answers reviews.
func TestAuthorizer(t *testing.T) {
	var mu sync.Mutex
	var asked []envtest.Attributes
	s, c := newServer(t, &envtest.Options{Authorizer: func(_ context.Context, a envtest.Attributes) (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, a)
		return a.Verb != "delete", "it is Sunday"
	}})
	create(t, c, "a")
	asked = nil
	err := c.Delete(t.Context(), newMap("a"))
	if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), `cannot delete resource "configmaps" in API group "" in the namespace "default": it is Sunday`) {
		t.Errorf("delete: %v", err)
	}
	a := asked[0]
	if a.User.Name != "admin" || a.Verb != "delete" || a.Resource != "configmaps" || a.Namespace != "default" || a.Name != "a" || a.Version != "v1" || !a.ResourceRequest {
		t.Errorf("was asked about %+v", a)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Group: "apps", Resource: "deployments"}}}
	if err := newClient(t, s.AddUser("jane")).Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed || review.Status.Reason != "it is Sunday" {
		t.Errorf("the review says %+v", review.Status)
	}

	// With RBAC both have to allow.
	s, c = newServer(t, &envtest.Options{RBAC: true, Authorizer: func(_ context.Context, a envtest.Attributes) (bool, string) { return a.Verb != "delete", "" }})
	create(t, c, "a")
	if err := c.Delete(t.Context(), newMap("a")); !apierrors.IsForbidden(err) {
		t.Errorf("what the hook forbids: %v", err)
	}
	if err := newClient(t, s.AddUser("jane")).Create(t.Context(), newMap("b")); !apierrors.IsForbidden(err) {
		t.Errorf("what RBAC forbids: %v", err)
	}
}
