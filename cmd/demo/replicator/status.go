package replicator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"governor/client"
	"governor/cmd/demo/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// report writes a Replica's status when it differs from what is there, and
// emits an event when Ready changed its reason or its words.
func (r *Reconciler) report(ctx context.Context, replica *v1alpha1.Replica, copies []v1alpha1.NamespaceStatus, trouble *problem) error {
	before := replica.DeepCopy()
	status := &replica.Status
	status.ObservedGeneration = replica.Generation
	if trouble == nil {
		// With trouble the copies were not looked at: what was known of them stays.
		summarize(status, copies)
		trouble = firstTrouble(copies)
	}
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: replica.Generation,
		Reason: v1alpha1.ReasonCopied, Message: fmt.Sprintf("%d of %d namespaces have a true copy", status.Copied, status.Wanted),
	}
	if trouble != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, trouble.reason, trouble.message
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, replica.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, replica, client.MergeFrom(before), FieldOwner); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell("write", "status of Replica %s: %s, %s", client.ObjectKeyFromObject(replica), ready.Reason, ready.Message)
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if was == nil || was.Reason != ready.Reason || was.Message != ready.Message {
		eventtype := corev1.EventTypeNormal
		if ready.Status != metav1.ConditionTrue {
			eventtype = corev1.EventTypeWarning
		}
		r.events.Eventf(replica, nil, eventtype, ready.Reason, "Copy", "%s", ready.Message)
	}
	return nil
}

// summarize puts the copies into a status: those in trouble first.
func summarize(status *v1alpha1.ReplicaStatus, copies []v1alpha1.NamespaceStatus) {
	status.Wanted, status.Copied = len(copies), 0
	for _, c := range copies {
		if c.State == v1alpha1.ReasonCopied {
			status.Copied++
		}
	}
	slices.SortStableFunc(copies, func(a, b v1alpha1.NamespaceStatus) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Namespace, b.Namespace))
	})
	status.Namespaces = copies[:min(len(copies), v1alpha1.MaxNamespaceStatuses)]
}

// rank orders states by how much they need a person.
func rank(s v1alpha1.NamespaceStatus) int {
	return slices.Index([]string{v1alpha1.ReasonForeignObject, v1alpha1.ReasonCopyFailed, v1alpha1.ReasonWaiting, v1alpha1.ReasonCopied}, s.State)
}

// firstTrouble words the trouble of sorted copies; nil when all are true.
func firstTrouble(copies []v1alpha1.NamespaceStatus) *problem {
	in := 0
	for _, c := range copies {
		if c.State != v1alpha1.ReasonCopied {
			in++
		}
	}
	if in == 0 {
		return nil
	}
	first := copies[0]
	message := fmt.Sprintf("namespace %s: %s", first.Namespace, first.Message)
	if in > 1 {
		message += fmt.Sprintf(" (and %d more, see status.namespaces)", in-1)
	}
	return &problem{first.State, message}
}
