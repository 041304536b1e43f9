package envtest

import (
	"governor/client"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// prepareApproval keeps all of a CertificateSigningRequest but its conditions.
func prepareApproval(obj, live client.Object) {
	csr, ok := obj.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return
	}
	old := live.(*certificatesv1.CertificateSigningRequest)
	stampConditions(csr, old)
	conditions := csr.Status.Conditions
	csr.Spec, csr.Status = old.Spec, old.Status
	csr.Status.Conditions = conditions
}

// prepareCertificate keeps the approval in an update of the status: a change of it
// has to be validated elsewhere.
func prepareCertificate(csr, old *certificatesv1.CertificateSigningRequest) {
	for _, decision := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
		before, after := conditionsOf(old, decision), conditionsOf(csr, decision)
		if len(before) != len(after) {
			continue
		}
		for i := range before {
			*after[i] = *before[i]
		}
	}
	stampConditions(csr, old)
}

func conditionsOf(csr *certificatesv1.CertificateSigningRequest, of certificatesv1.RequestConditionType) []*certificatesv1.CertificateSigningRequestCondition {
	var found []*certificatesv1.CertificateSigningRequestCondition
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == of {
			found = append(found, &csr.Status.Conditions[i])
		}
	}
	return found
}

// stampConditions gives conditions their times, where their writer has left them open.
func stampConditions(csr, old *certificatesv1.CertificateSigningRequest) {
	t := now()
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = t
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = t
		for _, before := range conditionsOf(old, c.Type) {
			if before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
				break
			}
		}
	}
}
