package envtest

import (
	"fmt"
	"slices"
	"strings"

	"governor/envtest/storage"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// The RBAC evaluator reads the Role, ClusterRole, RoleBinding and
// ClusterRoleBinding objects in the store, as they are at each request. Upstream:
// kubernetes plugin/pkg/auth/authorizer/rbac.
//
// It knows resourceNames, nonResourceURLs, subresources and system:masters. It does
// not know aggregation (a ClusterRole has the rules that it has), and
// anybody who may write roles may write any.

// rbacResource is a resource of RBAC objects.
func rbacResource(name string) schema.GroupResource {
	return schema.GroupResource{Group: rbacv1.GroupName, Resource: name}
}

// roles says whether the roles of a user allow something; reason is why, or what
// is wrong with the user's bindings.
func (s *Server) roles(a Attributes) (allowed bool, reason string) {
	if slices.Contains(a.User.Groups, administrators) {
		return true, ""
	}
	faults := s.rulesOf(a.User, a.Namespace, func(rule *rbacv1.PolicyRule, source string) bool {
		if allowed = ruleAllows(rule, a); allowed {
			reason = "RBAC: allowed by " + source
		}
		return !allowed
	})
	if !allowed && len(faults) > 0 {
		reason = fmt.Sprintf("rbac: RBAC: %v", utilerrors.NewAggregate(faults))
	}
	return allowed, reason
}

// rulesOf yields the rules that a user has in a namespace, "" for the cluster, until yield
// returns false. It returns what is wrong with the bindings.
func (s *Server) rulesOf(u User, namespace string, yield func(rule *rbacv1.PolicyRule, source string) bool) (faults []error) {
	visit := func(subjects []rbacv1.Subject, ref rbacv1.RoleRef, in string, binding string) bool {
		i := slices.IndexFunc(subjects, func(subject rbacv1.Subject) bool { return isSubject(subject, u, in) })
		if i < 0 {
			return true
		}
		rules, err := s.rulesIn(ref, in)
		if err != nil {
			faults = append(faults, err)
			return true
		}
		source := fmt.Sprintf("%s of %s %q to %s", binding, ref.Kind, ref.Name, describe(subjects[i], in))
		for i := range rules {
			if !yield(&rules[i], source) {
				return false
			}
		}
		return true
	}
	for b := range stored[rbacv1.ClusterRoleBinding](s, rbacResource("clusterrolebindings"), "") {
		if !visit(b.Subjects, b.RoleRef, "", fmt.Sprintf("ClusterRoleBinding %q", b.Name)) {
			return faults
		}
	}
	if namespace == "" {
		return faults
	}
	for b := range stored[rbacv1.RoleBinding](s, rbacResource("rolebindings"), namespace) {
		if !visit(b.Subjects, b.RoleRef, namespace, fmt.Sprintf("RoleBinding %q", b.Name+"/"+namespace)) {
			return faults
		}
	}
	return faults
}

// rulesIn returns the rules of a role that a binding names.
func (s *Server) rulesIn(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "ClusterRole":
		resource := rbacResource("clusterroles")
		if role := as[rbacv1.ClusterRole](s.store.Get(resource, "", ref.Name)); role != nil {
			return role.Rules, nil
		}
		return nil, fmt.Errorf("clusterrole.rbac.authorization.k8s.io %q not found", ref.Name)
	case "Role":
		resource := rbacResource("roles")
		if role := as[rbacv1.Role](s.store.Get(resource, namespace, ref.Name)); role != nil {
			return role.Rules, nil
		}
		return nil, fmt.Errorf("role.rbac.authorization.k8s.io %q not found", ref.Name)
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// stored yields the objects of a built-in kind.
func stored[T any](s *Server, resource schema.GroupResource, namespace string) func(yield func(*T) bool) {
	return func(yield func(*T) bool) {
		snapshot, err := s.store.Snapshot(resource, 0)
		if err != nil {
			return // never: it is the current one
		}
		for o := range snapshot.From(namespace, "") {
			if v := as[T](o); v != nil && !yield(v) {
				return
			}
		}
	}
}

// as returns a stored object as its type, which it already has unless the server's
// scheme does not know it. It is not to be written to.
func as[T any](o *storage.Object) *T {
	if o == nil {
		return nil
	}
	switch v := any(o.Value).(type) {
	case *T:
		return v
	case *unstructured.Unstructured:
		into := new(T)
		if runtime.DefaultUnstructuredConverter.FromUnstructured(v.Object, into) == nil {
			return into
		}
	}
	return nil
}

// isSubject says whether a binding's subject is a user.
func isSubject(subject rbacv1.Subject, u User, namespace string) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return subject.Name == u.Name
	case rbacv1.GroupKind:
		return slices.Contains(u.Groups, subject.Name)
	case rbacv1.ServiceAccountKind:
		if subject.Namespace != "" {
			namespace = subject.Namespace
		}
		return namespace != "" && u.Name == serviceAccountUser+namespace+":"+subject.Name
	}
	return false
}

// describe names a subject as the reason of a decision does.
func describe(subject rbacv1.Subject, namespace string) string {
	if subject.Kind == rbacv1.ServiceAccountKind {
		if subject.Namespace != "" {
			namespace = subject.Namespace
		}
		return fmt.Sprintf("%s %q", subject.Kind, subject.Name+"/"+namespace)
	}
	return fmt.Sprintf("%s %q", subject.Kind, subject.Name)
}

// ruleAllows says whether one rule allows something.
func ruleAllows(rule *rbacv1.PolicyRule, a Attributes) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	if !has(rule.Verbs, a.Verb) {
		return false
	}
	if !a.ResourceRequest {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, isPrefix := strings.CutSuffix(url, "*")
			return url == a.Path || isPrefix && strings.HasPrefix(a.Path, prefix)
		})
	}
	resource := has(rule.Resources, a.Resource)
	if a.Subresource != "" {
		resource = has(rule.Resources, a.Resource+"/"+a.Subresource) || slices.Contains(rule.Resources, "*/"+a.Subresource)
	}
	return resource && has(rule.APIGroups, a.Group) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}
