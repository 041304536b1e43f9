package envtest

import (
	"slices"
	"time"

	"governor/client"
	"governor/envtest/kinds"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// step is what comes after a delete has marked an object.
type step int

const (
	// wait: somebody has to let the object go first.
	wait step = iota
	// remove: it goes.
	remove
)

// planDeletion says what a delete does to an object, which it does not write to:
// next is the state to store first, nil for none.
//
//	                      wait                          remove
//	next == nil           already on its way            at once
//	next != nil           marked: finalizers, grace     marked, and gone: a pod without grace
func (w *write) planDeletion(current client.Object, o *metav1.DeleteOptions) (next client.Object, s step) {
	obj := current.DeepCopyObject().(client.Object)
	switch {
	case w.resource.Storage == namespaces && planNamespace(obj.(*corev1.Namespace), o):
		if sameObject(obj, current) {
			return nil, wait
		}
		return obj, wait
	case w.resource.GroupVersionKind == definitionKind && obj.GetDeletionTimestamp() == nil:
		planDefinition(obj.(*unstructured.Unstructured))
		return obj, wait
	}
	graceful, grace := false, int64(0)
	if pod, ok := obj.(*corev1.Pod); ok {
		var pending bool
		if graceful, pending, grace = planPod(pod, o); pending {
			return nil, wait
		}
	}
	obj.SetFinalizers(collectorFinalizers(w.resource, obj, o))
	held := len(obj.GetFinalizers()) > 0
	switch {
	case graceful && !held && grace == 0:
		return obj, remove
	case graceful:
		return obj, wait
	case !held:
		return nil, remove
	}
	markDeleting(obj)
	if sameObject(obj, current) {
		return nil, wait
	}
	return obj, wait
}

// markDeleting says that an object goes as soon as its finalizers let it.
func markDeleting(obj client.Object) {
	if obj.GetDeletionTimestamp() == nil && obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	if t, at := now(), obj.GetDeletionTimestamp(); at == nil || at.After(t.Time) {
		obj.SetDeletionTimestamp(&t)
	}
	obj.SetDeletionGracePeriodSeconds(new(int64))
}

// planPod gives a pod time to end, if it runs on a node. pending: it is on its
// way already, and no later than asked for.
func planPod(pod *corev1.Pod, o *metav1.DeleteOptions) (graceful, pending bool, grace int64) {
	asked := o.GracePeriodSeconds
	if asked != nil && *asked < 0 {
		asked = ptr(1)
	}
	if pod.DeletionTimestamp == nil {
		left := gracePeriod(pod, asked)
		at := metav1.NewTime(now().Add(time.Duration(left) * time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &left
		if pod.Generation > 0 {
			pod.Generation++
		}
		return true, false, left
	}
	given := pod.DeletionGracePeriodSeconds
	switch {
	case given == nil || *given == 0:
		return false, false, 0
	case asked == nil || *asked >= *given:
		return false, true, 0
	}
	left := *asked
	at := metav1.NewTime(pod.DeletionTimestamp.Add(time.Duration(left-*given) * time.Second))
	if t := now(); at.Before(&t) {
		at = t
		if left != 0 {
			left = 1 // whoever ends it has to see it first
		}
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &left
	return true, false, left
}

// gracePeriod is how long a pod may take to end: no time if it does not run.
func gracePeriod(pod *corev1.Pod, asked *int64) int64 {
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds == nil:
		return 0
	case *pod.Spec.TerminationGracePeriodSeconds < 0:
		return 1
	default:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
}

func ptr(v int64) *int64 { return &v }

// collectorFinalizers returns an object's finalizers with those of the garbage
// collector as a delete wants them: what the options say, or else the finalizers that
// are there, or else what is usual for the kind.
func collectorFinalizers(r *kinds.Resource, obj client.Object, o *metav1.DeleteOptions) []string {
	orphan, foreground := hasFinalizer(obj, metav1.FinalizerOrphanDependents), hasFinalizer(obj, metav1.FinalizerDeleteDependents)
	switch {
	case r.Storage == events:
		orphan, foreground = false, false
	case orphanDependents(o) != nil:
		orphan, foreground = *orphanDependents(o), false
	case o.PropagationPolicy != nil:
		orphan = *o.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *o.PropagationPolicy == metav1.DeletePropagationForeground
	case !orphan && !foreground:
		orphan = strategyOf(r).orphans
	}
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents && !orphan || f == metav1.FinalizerDeleteDependents && !foreground
	})
	if orphan && !slices.Contains(finalizers, metav1.FinalizerOrphanDependents) {
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	}
	if foreground && !slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers
}
