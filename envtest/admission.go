package envtest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"governor/client"
	"governor/envtest/kinds"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Admission asks the webhooks of the MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration objects in the store, as they are at each request. Upstream:
// apiserver pkg/admission/plugin/webhook.
//
// It knows rules, scope, selectors, matchPolicy, failurePolicy, timeoutSeconds,
// sideEffects. It does not know reinvocationPolicy (each is asked once), nor
// matchConditions (a webhook is asked about all that its rules match).

// admission is one change that webhooks are asked about.
type admission struct {
	operation   admissionregistrationv1.OperationType
	resource    *kinds.Resource // in the version of the request
	subresource string
	kind        schema.GroupVersionKind // of object: the subresource's, if that has one
	namespace   string
	name        string
	// object and old are in the version of the request; nil if there is none.
	object, old client.Object
	options     runtime.Object // such as *metav1.CreateOptions
	dryRun      bool
	user        User
	warn        func(text string)
}

// hook is one webhook, of either sort.
type hook struct {
	admissionregistrationv1.MutatingWebhook // the fields are the same, but for one
	mutating                                bool
}

// admitMutating asks the mutating webhooks, one after the other, who may change a.object.
func (s *Server) admitMutating(ctx context.Context, a *admission) error {
	for config := range stored[admissionregistrationv1.MutatingWebhookConfiguration](s, mutatingWebhooks, "") {
		for i := range config.Webhooks {
			h := &hook{MutatingWebhook: config.Webhooks[i], mutating: true}
			as, err := s.shouldAsk(h, a)
			if err != nil {
				return err
			}
			if as == nil {
				continue
			}
			if err := s.ask(ctx, h, a, as); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitValidating asks the validating webhooks, all at once. Of several that refuse
// the first one is heard.
func (s *Server) admitValidating(ctx context.Context, a *admission) error {
	type question struct {
		hook *hook
		as   *kinds.Resource
	}
	var questions []question
	for config := range stored[admissionregistrationv1.ValidatingWebhookConfiguration](s, validatingWebhooks, "") {
		for i := range config.Webhooks {
			w := &config.Webhooks[i]
			h := &hook{MutatingWebhook: admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
				MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
				SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
			}}
			as, err := s.shouldAsk(h, a)
			if err != nil {
				return err
			}
			if as != nil {
				questions = append(questions, question{h, as})
			}
		}
	}
	if len(questions) == 0 {
		return nil
	}
	// Each has a copy: warnings are collected one by one.
	answers := make([]error, len(questions))
	warnings := make([][]string, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() {
			own := *a
			own.warn = func(text string) { warnings[i] = append(warnings[i], text) }
			answers[i] = s.ask(ctx, q.hook, &own, q.as)
		})
	}
	wg.Wait()
	for _, text := range slices.Concat(warnings...) {
		a.warn(text)
	}
	for _, err := range answers {
		if err != nil {
			return err
		}
	}
	return nil
}

// shouldAsk says whether a webhook is to be asked, and in which version of the
// resource; nil if not.
func (s *Server) shouldAsk(h *hook, a *admission) (*kinds.Resource, error) {
	if a.resource.GroupVersionResource.Group == admissionregistrationv1.GroupName {
		return nil, nil // or else a bad webhook could not be removed
	}
	inObject, err := objectSelected(h, a)
	if !inObject || err != nil {
		return nil, err
	}
	as := s.matchRules(h, a)
	if as == nil {
		return nil, nil
	}
	inNamespace, err := s.namespaceSelected(h, a)
	if !inNamespace || err != nil {
		return nil, err
	}
	return as, nil
}

// objectSelected says whether the object, or what it was, is one that a webhook wants.
func objectSelected(h *hook, a *admission) (bool, error) {
	selector, err := selectorOf(h.ObjectSelector)
	if err != nil || selector.Empty() {
		return err == nil, err
	}
	matches := func(o client.Object) bool { return o != nil && selector.Matches(labels.Set(o.GetLabels())) }
	return matches(a.object) || matches(a.old), nil
}

// namespaceSelected says whether the object is in a namespace, or is one, that a
// webhook wants. What has no namespace always is.
func (s *Server) namespaceSelected(h *hook, a *admission) (bool, error) {
	selector, err := selectorOf(h.NamespaceSelector)
	if err != nil || selector.Empty() || a.namespace == "" {
		return err == nil, err
	}
	if isNamespace(a) && a.subresource == "" && a.object != nil {
		return selector.Matches(labels.Set(a.object.GetLabels())), nil
	}
	namespaces := schema.GroupResource{Resource: "namespaces"}
	namespace := s.store.Get(namespaces, "", a.namespace)
	if namespace == nil {
		return false, apierrors.NewNotFound(namespaces, a.namespace)
	}
	return selector.Matches(labels.Set(namespace.Value.GetLabels())), nil
}

// selectorOf is a webhook's selector; none selects everything.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return selector, nil
}

func isNamespace(a *admission) bool {
	return a.resource.GroupVersionResource.GroupResource() == schema.GroupResource{Resource: "namespaces"}
}

// matchRules returns the version of the resource that the first matching rule names: the
// request's own, or else, unless the policy says Exact, another one of the same objects.
func (s *Server) matchRules(h *hook, a *admission) *kinds.Resource {
	for i := range h.Rules {
		if ruleMatches(&h.Rules[i], a, a.resource.GroupVersionResource) {
			return a.resource
		}
	}
	if h.MatchPolicy != nil && *h.MatchPolicy == admissionregistrationv1.Exact {
		return nil
	}
	for i := range h.Rules {
		for _, other := range s.kinds.All() {
			if other.Storage == a.resource.Storage && other != a.resource &&
				ruleMatches(&h.Rules[i], a, other.GroupVersionResource) {
				return other
			}
		}
	}
	return nil
}

func ruleMatches(r *admissionregistrationv1.RuleWithOperations, a *admission, gvr schema.GroupVersionResource) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	if r.Scope != nil && *r.Scope != admissionregistrationv1.AllScopes {
		clusterWide := isNamespace(a) || a.namespace == ""
		if clusterWide != (*r.Scope == admissionregistrationv1.ClusterScope) {
			return false
		}
	}
	if !slices.Contains(r.Operations, admissionregistrationv1.OperationAll) && !slices.Contains(r.Operations, a.operation) {
		return false
	}
	return has(r.APIGroups, gvr.Group) && has(r.APIVersions, gvr.Version) &&
		slices.ContainsFunc(r.Resources, func(rule string) bool {
			resource, subresource, _ := strings.Cut(rule, "/")
			return (resource == "*" || resource == gvr.Resource) && (subresource == "*" || subresource == a.subresource)
		})
}
