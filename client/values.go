package client

import (
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limit is the largest number of objects that a List returns.
type Limit int64

// ApplyToList makes it an option of List.
func (l Limit) ApplyToList(o *ListOptions) { o.Limit = int64(l) }

// Continue asks a List for the page after the one that gave this token.
type Continue string

// ApplyToList makes it an option of List.
func (c Continue) ApplyToList(o *ListOptions) { o.Continue = string(c) }

type unsafeDisableDeepCopy bool

// UnsafeDisableDeepCopy makes a cached Get or List hand out the cache's own
// objects: faster, and never to be changed.
const UnsafeDisableDeepCopy unsafeDisableDeepCopy = true

// ApplyToGet makes it an option of Get.
func (u unsafeDisableDeepCopy) ApplyToGet(o *GetOptions) {
	o.UnsafeDisableDeepCopy = new(bool(u))
}

// ApplyToList makes it an option of List.
func (u unsafeDisableDeepCopy) ApplyToList(o *ListOptions) {
	o.UnsafeDisableDeepCopy = new(bool(u))
}

// FieldOwner names who owns the fields that a write sets: at most 128
// printable characters, the same at each run of a program.
type FieldOwner string

// ApplyToCreate makes it an option of Create.
func (f FieldOwner) ApplyToCreate(o *CreateOptions) { o.FieldManager = string(f) }

// ApplyToUpdate makes it an option of Update.
func (f FieldOwner) ApplyToUpdate(o *UpdateOptions) { o.FieldManager = string(f) }

// ApplyToPatch makes it an option of Patch.
func (f FieldOwner) ApplyToPatch(o *PatchOptions) { o.FieldManager = string(f) }

// ApplyToApply makes it an option of Apply.
func (f FieldOwner) ApplyToApply(o *ApplyOptions) { o.FieldManager = string(f) }

type forceOwnership bool

// ForceOwnership takes fields from other owners. An option of Patch and Apply.
const ForceOwnership forceOwnership = true

// ApplyToPatch makes it an option of Patch.
func (f forceOwnership) ApplyToPatch(o *PatchOptions) { o.Force = new(bool(f)) }

// ApplyToApply makes it an option of Apply.
func (f forceOwnership) ApplyToApply(o *ApplyOptions) { o.Force = new(bool(f)) }

type dryRunAll bool

// DryRunAll makes the server do everything but store: the reply is what would
// have been. An option of every write.
const DryRunAll dryRunAll = true

// ApplyToCreate makes it an option of Create.
func (dryRunAll) ApplyToCreate(o *CreateOptions) { o.DryRun = []string{metav1.DryRunAll} }

// ApplyToUpdate makes it an option of Update.
func (dryRunAll) ApplyToUpdate(o *UpdateOptions) { o.DryRun = []string{metav1.DryRunAll} }

// ApplyToPatch makes it an option of Patch.
func (dryRunAll) ApplyToPatch(o *PatchOptions) { o.DryRun = []string{metav1.DryRunAll} }

// ApplyToApply makes it an option of Apply.
func (dryRunAll) ApplyToApply(o *ApplyOptions) { o.DryRun = []string{metav1.DryRunAll} }

// ApplyToDelete makes it an option of Delete.
func (dryRunAll) ApplyToDelete(o *DeleteOptions) { o.DryRun = []string{metav1.DryRunAll} }

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (d dryRunAll) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { d.ApplyToDelete(&o.DeleteOptions) }

// FieldValidation is what the server does about unknown and duplicate fields:
// metav1.FieldValidationIgnore, Warn or Strict. Apply is always strict.
type FieldValidation string

// ApplyToCreate makes it an option of Create.
func (f FieldValidation) ApplyToCreate(o *CreateOptions) { o.FieldValidation = string(f) }

// ApplyToUpdate makes it an option of Update.
func (f FieldValidation) ApplyToUpdate(o *UpdateOptions) { o.FieldValidation = string(f) }

// ApplyToPatch makes it an option of Patch.
func (f FieldValidation) ApplyToPatch(o *PatchOptions) { o.FieldValidation = string(f) }

// GracePeriodSeconds is how long a deleted object may take to end.
type GracePeriodSeconds int64

// ApplyToDelete makes it an option of Delete.
func (g GracePeriodSeconds) ApplyToDelete(o *DeleteOptions) {
	o.GracePeriodSeconds = new(int64(g))
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (g GracePeriodSeconds) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	g.ApplyToDelete(&o.DeleteOptions)
}

// Preconditions are what must be true of an object for it to be deleted;
// otherwise the error is a Conflict.
type Preconditions metav1.Preconditions

// ApplyToDelete makes it an option of Delete.
func (p Preconditions) ApplyToDelete(o *DeleteOptions) {
	var copied metav1.Preconditions
	set[types.UID](&copied.UID, p.UID)
	set(&copied.ResourceVersion, p.ResourceVersion)
	o.Preconditions = &copied
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (p Preconditions) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	p.ApplyToDelete(&o.DeleteOptions)
}

// PropagationPolicy is what becomes of an object's dependents:
// metav1.DeletePropagationBackground, Foreground or Orphan.
type PropagationPolicy metav1.DeletionPropagation

// ApplyToDelete makes it an option of Delete.
func (p PropagationPolicy) ApplyToDelete(o *DeleteOptions) {
	o.PropagationPolicy = new(metav1.DeletionPropagation(p))
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (p PropagationPolicy) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	p.ApplyToDelete(&o.DeleteOptions)
}

type subResourceBody struct{ body Object }

// ApplyToUpdate makes it an option of Update.
func (s subResourceBody) ApplyToUpdate(o *UpdateOptions) { o.SubResourceBody = s.body }

// ApplyToPatch makes it an option of Patch.
func (s subResourceBody) ApplyToPatch(o *PatchOptions) { o.SubResourceBody = s.body }

// SubResourceBodyOption is what WithSubResourceBody returns: an option of
// Update and Patch.
type SubResourceBodyOption interface {
	UpdateOption
	PatchOption
}

// WithSubResourceBody sends body to a subresource in place of the object, and
// puts the reply into it: a Scale, for one.
func WithSubResourceBody(body Object) SubResourceBodyOption { return subResourceBody{body} }
