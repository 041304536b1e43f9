package envtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"governor/client"
	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var budgets = schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}

// createEviction deletes a pod, if its PodDisruptionBudget can spare it.
func (s *Server) createEviction(c *call) (*answer, error) {
	obj, w, err := s.decodeBelow(c)
	if err != nil {
		return nil, err
	}
	eviction := obj.(*policyv1.Eviction)
	if w.name != eviction.Name {
		return nil, errBadRequest("name in URL does not match name in Eviction object")
	}
	o := &metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		o = eviction.DeleteOptions
	}
	dryRun := w.options.(*metav1.CreateOptions).DryRun
	switch {
	case len(o.DryRun) == 0:
		o.DryRun = dryRun
	case len(dryRun) > 0 && !slices.Equal(dryRun, o.DryRun):
		return nil, fmt.Errorf("%s dry-run options in request and content: %v and %v", "Non-matching", dryRun, o.DryRun)
	}
	w.dryRun, w.subresource = len(o.DryRun) > 0, ""
	live := s.store.Get(w.resource.Storage, w.namespace, w.name)
	if live == nil {
		return nil, w.errNotFound()
	}
	pod := live.Value.(*corev1.Pod)
	if !expendable(pod) {
		if err := s.disrupt(c.Context(), w, pod); err != nil {
			return nil, err
		}
	}
	if err := s.evict(c.Context(), w, o); err != nil {
		return nil, err
	}
	return done(), nil
}

// expendable says whether nobody misses a pod.
func expendable(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// evict says in the pod's status why it goes, and deletes it.
func (s *Server) evict(ctx context.Context, w *write, o *metav1.DeleteOptions) error {
	if w.dryRun {
		_, _, err := s.deleteObject(ctx, w, o)
		return err
	}
	marking := *w
	marking.subresource = "binding" // a change of the server's own; see prepareUpdate
	marked, _, err := s.updateObject(ctx, &marking, change{next: func(live client.Object) (client.Object, error) {
		if err := w.checkPreconditions(o.Preconditions, live); err != nil {
			return nil, err
		}
		pod := live.(*corev1.Pod).DeepCopy()
		setPodCondition(&pod.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return pod, nil
	}})
	if err != nil {
		return err
	}
	if o.Preconditions != nil && o.Preconditions.ResourceVersion != nil {
		version := marked.Value.GetResourceVersion()
		o = o.DeepCopy()
		o.Preconditions.ResourceVersion = &version
	}
	_, _, err = s.deleteObject(ctx, w, o)
	return err
}

// disrupt takes one from what the pod's budget allows; a 429 if it allows none.
func (s *Server) disrupt(ctx context.Context, w *write, pod *corev1.Pod) error {
	found, err := s.budgetsOf(pod)
	if err != nil || len(found) == 0 {
		return err
	}
	if len(found) > 1 {
		return statusError(500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", nil)
	}
	budget := found[0].Value.(*policyv1.PodDisruptionBudget)
	if !ready(pod) {
		always := budget.Spec.UnhealthyPodEvictionPolicy != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0 {
			return nil // it does not count
		}
	}
	spending := &write{
		resource: s.resourceFor(budgets), subresource: "status", namespace: budget.Namespace, name: budget.Name,
		dryRun: w.dryRun, manager: "kube-apiserver", user: w.user, warn: w.warn,
	}
	_, _, err = s.updateObject(ctx, spending, change{next: func(live client.Object) (client.Object, error) {
		next := live.(*policyv1.PodDisruptionBudget).DeepCopy()
		if err := spend(next, pod.Name); err != nil {
			return nil, err
		}
		return next, s.track(spending, live, next)
	}})
	return err
}

// budgetsOf are the PodDisruptionBudgets that a pod falls under.
func (s *Server) budgetsOf(pod *corev1.Pod) ([]*storage.Object, error) {
	all, _, err := s.store.List(budgets, pod.Namespace, 0)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *storage.Object) bool {
		budget, ok := o.Value.(*policyv1.PodDisruptionBudget)
		if !ok {
			return true
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		return err != nil || !selector.Matches(labels.Set(pod.Labels))
	}), nil
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// spend takes one disruption from a budget's status, and notes for whom.
func spend(budget *policyv1.PodDisruptionBudget, pod string) error {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return errTooMany(10, "The disruption budget "+budget.Name+" is still being processed by the server.")
	case status.DisruptionsAllowed < 0:
		return errBudget(budget.Name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > 2000:
		return errBudget(budget.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return errTooMany(0, whyNone(budget))
	}
	status.DisruptionsAllowed--
	if status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: status.ObservedGeneration,
		})
	}
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[pod] = now()
	return nil
}

// whyNone says why a budget allows no disruption.
func whyNone(budget *policyv1.PodDisruptionBudget) string {
	name, status := budget.Name, budget.Status
	c := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	told := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	case told && c.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", name, c.Message)
	case status.CurrentHealthy <= status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, status.DesiredHealthy, status.CurrentHealthy)
	case told:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", name, c.Reason, c.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", name)
}

// errTooMany: not now.
func errTooMany(retryAfter int, cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}

// errBudget: the budget is broken.
func errBudget(name, reason, cause string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}, name, errors.New(reason))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: "The disruption budget " + name + " does not allow evicting pods currently: " + cause,
	})
	return err
}
