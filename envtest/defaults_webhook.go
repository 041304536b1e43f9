package envtest

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func defaultMutatingWebhook(h *admissionregistrationv1.MutatingWebhook) {
	fill(&h.FailurePolicy, admissionregistrationv1.Fail)
	fill(&h.MatchPolicy, admissionregistrationv1.Equivalent)
	fill(&h.NamespaceSelector, metav1.LabelSelector{})
	fill(&h.ObjectSelector, metav1.LabelSelector{})
	fill(&h.TimeoutSeconds, 10)
	fill(&h.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	defaultRules(h.Rules, h.ClientConfig.Service)
}

func defaultValidatingWebhook(h *admissionregistrationv1.ValidatingWebhook) {
	fill(&h.FailurePolicy, admissionregistrationv1.Fail)
	fill(&h.MatchPolicy, admissionregistrationv1.Equivalent)
	fill(&h.NamespaceSelector, metav1.LabelSelector{})
	fill(&h.ObjectSelector, metav1.LabelSelector{})
	fill(&h.TimeoutSeconds, 10)
	defaultRules(h.Rules, h.ClientConfig.Service)
}

func defaultRules(rules []admissionregistrationv1.RuleWithOperations, service *admissionregistrationv1.ServiceReference) {
	for i := range rules {
		fill(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
	if service != nil {
		fill(&service.Port, 443)
	}
}
