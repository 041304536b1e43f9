package client

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// FieldOwnerUID is a field that a cache knows of each object: the UIDs of those
// that own it. The server cannot select by it, and says so.
const FieldOwnerUID = "metadata.ownerReferences.uid"

// OwnedBy selects what the object of this UID owns, as one owner of several or as
// the only one. A cache needs no index for it; from the server it is an error.
type OwnedBy types.UID

// ApplyToList makes it an option of List.
func (u OwnedBy) ApplyToList(o *ListOptions) {
	o.addFields(fields.OneTermEqualSelector(FieldOwnerUID, string(u)))
}
