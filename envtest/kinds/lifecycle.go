package kinds

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What becomes of a CRD, each arrow a write:
//
//	         AcceptNames                 Establish
//	created ─────────────► NamesAccepted ─────────► Established ─► an update: AcceptNames again
//	                                                     │ Terminate
//	gone ◄───────────── cleaned ◄───────── cleaning ◄────┘
//	       no finalizer    FinishCleanup    StartCleanup

// CleanupFinalizer keeps a CRD until its objects are gone.
const CleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"

// The reasons of the condition Terminating, in their order.
const (
	deletionPending    = "InstanceDeletionPending"
	deletionInProgress = "InstanceDeletionInProgress"
	deletionCompleted  = "InstanceDeletionCompleted"
)

// Establish returns a copy of a CRD whose names are accepted with the condition
// Established; or the CRD itself if there is nothing to do.
func Establish(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil || !d.is(namesAccepted) || d.is(established) {
		return crd, err
	}
	d.setCondition(condition{Type: established, Status: "True", Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"})
	return d.writeStatus(crd)
}

// Terminate returns a copy of a CRD as the first DELETE leaves it: with a deletion
// timestamp, the finalizer, and the condition Terminating.
func Terminate(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	next, err := withTerminating(crd, condition{Status: "True", Reason: deletionPending,
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"})
	if err != nil {
		return crd, err
	}
	if next.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(time.Now().Truncate(time.Second))
		next.SetDeletionTimestamp(&now)
	}
	if finalizers := next.GetFinalizers(); !slices.Contains(finalizers, CleanupFinalizer) {
		next.SetFinalizers(append(finalizers, CleanupFinalizer))
	}
	return next, nil
}

// Cleaning says whether a CRD waits for the end of its objects.
func Cleaning(crd *unstructured.Unstructured) bool {
	return crd.GetDeletionTimestamp() != nil && slices.Contains(crd.GetFinalizers(), CleanupFinalizer)
}

// StartCleanup returns a copy of a CRD that says that its objects are being
// deleted; or the CRD itself if it says so.
func StartCleanup(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil {
		return crd, err
	}
	if c := d.condition(terminating); c != nil && c.Reason == deletionInProgress {
		return crd, nil
	}
	return withTerminating(crd, condition{Status: "True", Reason: deletionInProgress, Message: "CustomResource deletion is in progress"})
}

// FinishCleanup returns a copy of a CRD whose objects are gone: without the
// finalizer. If it was the only one the CRD is gone, too.
func FinishCleanup(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil {
		return crd, err
	}
	c := condition{Status: "False", Reason: deletionCompleted, Message: "removed all instances"}
	if !d.is(established) {
		c.Reason, c.Message = "NeverEstablished", "resource was never established"
	}
	next, err := withTerminating(crd, c)
	if err != nil {
		return crd, err
	}
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == CleanupFinalizer }))
	return next, nil
}

// withTerminating returns a copy of a CRD with the condition Terminating.
func withTerminating(crd *unstructured.Unstructured, c condition) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil {
		return crd, err
	}
	c.Type = terminating
	d.setCondition(c)
	return d.writeStatus(crd)
}
