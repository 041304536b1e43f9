package envtest

import (
	"slices"
	"strings"

	"governor/client"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// dropDuplicateOwners keeps one of several equal references to an owner; when is
// for the warning.
func (w *write) dropDuplicateOwners(obj client.Object, when string) {
	owners := obj.GetOwnerReferences()
	if len(owners) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var dropped []string
	for _, owner := range owners {
		if slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(k, owner) }) {
			dropped = append(dropped, string(owner.UID))
			continue
		}
		kept = append(kept, owner)
	}
	if len(dropped) == 0 {
		return
	}
	obj.SetOwnerReferences(kept)
	w.warn(".metadata.ownerReferences contains duplicate entries" + when + "; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " + strings.Join(dropped, ", "))
}

// ownerUIDs are the owners of an object; nil has none.
func ownerUIDs(obj client.Object) []types.UID {
	if obj == nil {
		return nil
	}
	var uids []types.UID
	for _, owner := range obj.GetOwnerReferences() {
		uids = append(uids, owner.UID)
	}
	return uids
}

// blocks says whether an object holds up the foreground deletion of an owner.
func blocks(obj client.Object, owner types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.UID == owner && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
	})
}

// withoutOwners returns the owners that are not among uids.
func withoutOwners(owners []metav1.OwnerReference, uids []types.UID) []metav1.OwnerReference {
	var kept []metav1.OwnerReference
	for _, owner := range owners {
		if !slices.Contains(uids, owner.UID) {
			kept = append(kept, owner)
		}
	}
	return kept
}
