package envtest

import (
	"time"

	"governor/client"
	"governor/envtest/storage"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// policy is what every cluster with RBAC begins with, as far as clients meet it:
// administrators may do everything, users may ask who they are and what there
// is. The roles of controllers and nodes are left out, and so are admin, edit and view,
// which have no rules until a controller aggregates them.
var policy = []struct {
	role  string
	to    []string // groups
	rules []rbacv1.PolicyRule
}{
	{"cluster-admin", []string{administrators}, []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}},
	{"system:auth-delegator", nil, []rbacv1.PolicyRule{
		createRule("authentication.k8s.io", "tokenreviews"),
		createRule("authorization.k8s.io", "subjectaccessreviews"),
	}},
	{"system:basic-user", []string{authenticated}, []rbacv1.PolicyRule{
		createRule("authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
		createRule("authentication.k8s.io", "selfsubjectreviews"),
	}},
	{"system:discovery", []string{authenticated}, []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez",
			"/openapi", "/openapi/*", "/readyz", "/version", "/version/"}},
	}},
	{"system:public-info-viewer", []string{authenticated, unauthenticated}, []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}},
	}},
}

func createRule(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{group}, Resources: resources}
}

// installPolicy writes the roles that every cluster with RBAC begins with.
func (s *Server) installPolicy() {
	for _, p := range policy {
		meta := metav1.ObjectMeta{
			Name:              p.role,
			CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second)),
			Labels:            map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
			Annotations:       map[string]string{"rbac.authorization.kubernetes.io/autoupdate": "true"},
		}
		role := &rbacv1.ClusterRole{TypeMeta: rbacType("ClusterRole"), ObjectMeta: *meta.DeepCopy(), Rules: p.rules}
		s.install("clusterroles", role)
		if p.to == nil {
			continue
		}
		binding := &rbacv1.ClusterRoleBinding{
			TypeMeta: rbacType("ClusterRoleBinding"), ObjectMeta: meta,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.role},
		}
		for _, group := range p.to {
			binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
		}
		s.install("clusterrolebindings", binding)
	}
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func (s *Server) install(resource string, o client.Object) {
	o.SetUID(uuid.NewUUID())
	// It only returns the errors of the function.
	_, _ = s.store.Write(rbacResource(resource), "", o.GetName(), func(*storage.Object) (client.Object, error) { return o, nil })
}
