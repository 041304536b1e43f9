package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// An option of a verb is either the verb's struct below or one of the small
// values ([InNamespace], [FieldOwner], …). A struct given as an option adds
// what it has set to what came before; it is never written to.
type (
	// GetOption is an option of Get.
	GetOption interface{ ApplyToGet(*GetOptions) }
	// ListOption is an option of List and Watch.
	ListOption interface{ ApplyToList(*ListOptions) }
	// CreateOption is an option of Create.
	CreateOption interface{ ApplyToCreate(*CreateOptions) }
	// UpdateOption is an option of Update.
	UpdateOption interface{ ApplyToUpdate(*UpdateOptions) }
	// PatchOption is an option of Patch.
	PatchOption interface{ ApplyToPatch(*PatchOptions) }
	// ApplyOption is an option of Apply.
	ApplyOption interface{ ApplyToApply(*ApplyOptions) }
	// DeleteOption is an option of Delete.
	DeleteOption interface{ ApplyToDelete(*DeleteOptions) }
	// DeleteAllOfOption is an option of DeleteAllOf.
	DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }
)

// GetOptions are the options of Get.
type GetOptions struct {
	// UnsafeDisableDeepCopy, if true, makes a cache hand out its own object,
	// which must then be read only. Live reads ignore it. Nil means false.
	UnsafeDisableDeepCopy *bool
	// Live makes a Delegating client read from the server.
	Live bool
	// MinResourceVersion makes a cache wait, for some seconds, until it has come so
	// far; empty means not at all. A live read is the newest state anyway.
	MinResourceVersion string
	// DisableReadYourWritesConsistency makes a cache answer from what the watch
	// has brought, though the caller's own writes are not in it yet.
	DisableReadYourWritesConsistency bool
}

// ApplyOptions folds opts into o.
func (o *GetOptions) ApplyOptions(opts []GetOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToGet(o)
		}
	}
	return nil
}

// ApplyToGet makes the struct an option.
func (o *GetOptions) ApplyToGet(to *GetOptions) {
	if o != nil {
		set(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
		setText(&to.MinResourceVersion, o.MinResourceVersion)
		to.Live = to.Live || o.Live
		to.DisableReadYourWritesConsistency = to.DisableReadYourWritesConsistency || o.DisableReadYourWritesConsistency
	}
}

// ListOptions are the options of List and Watch. Selections combine as AND:
// an option can only make the selection smaller.
type ListOptions struct {
	// LabelSelector; nil selects everything.
	LabelSelector labels.Selector
	// FieldSelector; nil selects everything.
	FieldSelector fields.Selector
	// Namespace; empty means all of them.
	Namespace string
	// Limit is the largest number of objects to return; zero means all.
	Limit int64
	// Continue is the token of an earlier list with Limit: the next page.
	Continue string
	// UnsafeDisableDeepCopy, Live, MinResourceVersion and
	// DisableReadYourWritesConsistency are as in GetOptions.
	UnsafeDisableDeepCopy            *bool
	Live                             bool
	MinResourceVersion               string
	DisableReadYourWritesConsistency bool

	// err is the first option that made no sense.
	err error
}

// ApplyOptions folds opts into o and reports the first option that makes no
// sense: an invalid label, a nil selector, two different namespaces. After an
// error o selects nothing.
func (o *ListOptions) ApplyOptions(opts []ListOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToList(o)
		}
	}
	return o.err
}

// ApplyToList makes the struct an option.
func (o *ListOptions) ApplyToList(to *ListOptions) {
	if o == nil {
		return
	}
	if o.err != nil {
		to.fail(o.err)
	}
	to.addNamespace(o.Namespace)
	if o.LabelSelector != nil {
		to.addLabels(o.LabelSelector)
	}
	if o.FieldSelector != nil {
		to.addFields(o.FieldSelector)
	}
	if o.Limit != 0 {
		to.Limit = o.Limit
	}
	if o.Continue != "" {
		to.Continue = o.Continue
	}
	set(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
	setText(&to.MinResourceVersion, o.MinResourceVersion)
	to.Live = to.Live || o.Live
	to.DisableReadYourWritesConsistency = to.DisableReadYourWritesConsistency || o.DisableReadYourWritesConsistency
}

// CreateOptions are the options of Create.
type CreateOptions struct {
	// DryRun is empty or metav1.DryRunAll: the server does all but store.
	DryRun []string
	// FieldManager is who owns the fields; empty means the user agent's name.
	FieldManager string
	// FieldValidation is what the server does about unknown and duplicate
	// fields: Ignore, Warn or Strict. Empty means the server's default, Warn.
	FieldValidation string
}

// ApplyOptions folds opts into o.
func (o *CreateOptions) ApplyOptions(opts []CreateOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToCreate(o)
		}
	}
	return nil
}

// ApplyToCreate makes the struct an option.
func (o *CreateOptions) ApplyToCreate(to *CreateOptions) {
	if o != nil {
		setList(&to.DryRun, o.DryRun)
		setText(&to.FieldManager, o.FieldManager)
		setText(&to.FieldValidation, o.FieldValidation)
	}
}

// UpdateOptions are the options of Update.
type UpdateOptions struct {
	// DryRun, FieldManager and FieldValidation are as in CreateOptions.
	DryRun          []string
	FieldManager    string
	FieldValidation string
	// SubResourceBody is sent in place of the object and gets the reply. Only
	// a SubResourceClient takes it. Nil means the object itself.
	SubResourceBody Object
}

// ApplyOptions folds opts into o.
func (o *UpdateOptions) ApplyOptions(opts []UpdateOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToUpdate(o)
		}
	}
	return nil
}

// ApplyToUpdate makes the struct an option.
func (o *UpdateOptions) ApplyToUpdate(to *UpdateOptions) {
	if o == nil {
		return
	}
	setList(&to.DryRun, o.DryRun)
	setText(&to.FieldManager, o.FieldManager)
	setText(&to.FieldValidation, o.FieldValidation)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// PatchOptions are the options of Patch.
type PatchOptions struct {
	// DryRun, FieldManager and FieldValidation are as in CreateOptions.
	DryRun          []string
	FieldManager    string
	FieldValidation string
	// Force takes fields from other owners: only with a RawPatch of
	// types.ApplyPatchType. Nil means false.
	Force *bool
	// SubResourceBody is as in UpdateOptions.
	SubResourceBody Object
}

// ApplyOptions folds opts into o.
func (o *PatchOptions) ApplyOptions(opts []PatchOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToPatch(o)
		}
	}
	return nil
}

// ApplyToPatch makes the struct an option.
func (o *PatchOptions) ApplyToPatch(to *PatchOptions) {
	if o == nil {
		return
	}
	setList(&to.DryRun, o.DryRun)
	setText(&to.FieldManager, o.FieldManager)
	setText(&to.FieldValidation, o.FieldValidation)
	set(&to.Force, o.Force)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// ApplyOptions are the options of Apply.
type ApplyOptions struct {
	// DryRun is as in CreateOptions.
	DryRun []string
	// FieldManager is who owns the fields. Required.
	FieldManager string
	// Force takes fields from other owners; otherwise the error is a Conflict
	// that names them. Nil means false.
	Force *bool
}

// ApplyOptions folds opts into o.
func (o *ApplyOptions) ApplyOptions(opts []ApplyOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToApply(o)
		}
	}
	return nil
}

// ApplyToApply makes the struct an option.
func (o *ApplyOptions) ApplyToApply(to *ApplyOptions) {
	if o != nil {
		setList(&to.DryRun, o.DryRun)
		setText(&to.FieldManager, o.FieldManager)
		set(&to.Force, o.Force)
	}
}

// DeleteOptions are the options of Delete.
type DeleteOptions struct {
	// GracePeriodSeconds; nil means the kind's default, zero means at once.
	GracePeriodSeconds *int64
	// Preconditions are the UID and resourceVersion that the object must have.
	Preconditions *metav1.Preconditions
	// PropagationPolicy is what becomes of dependents; nil means the kind's
	// default.
	PropagationPolicy *metav1.DeletionPropagation
	// DryRun is as in CreateOptions.
	DryRun []string
}

// ApplyOptions folds opts into o.
func (o *DeleteOptions) ApplyOptions(opts []DeleteOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToDelete(o)
		}
	}
	return nil
}

// ApplyToDelete makes the struct an option.
func (o *DeleteOptions) ApplyToDelete(to *DeleteOptions) {
	if o != nil {
		set(&to.GracePeriodSeconds, o.GracePeriodSeconds)
		set(&to.Preconditions, o.Preconditions)
		set(&to.PropagationPolicy, o.PropagationPolicy)
		setList(&to.DryRun, o.DryRun)
	}
}

// DeleteAllOfOptions are the options of DeleteAllOf.
type DeleteAllOfOptions struct {
	ListOptions
	DeleteOptions
}

// ApplyOptions folds opts into o, and reports what ListOptions.ApplyOptions
// would.
func (o *DeleteAllOfOptions) ApplyOptions(opts []DeleteAllOfOption) error {
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToDeleteAllOf(o)
		}
	}
	return o.err
}

// ApplyToDeleteAllOf makes the struct an option.
func (o *DeleteAllOfOptions) ApplyToDeleteAllOf(to *DeleteAllOfOptions) {
	if o != nil {
		o.ListOptions.ApplyToList(&to.ListOptions)
		o.DeleteOptions.ApplyToDelete(&to.DeleteOptions)
	}
}

// set copies a value that is given, so that no two option structs share it.
func set[T any](to **T, from *T) {
	if from != nil {
		v := *from
		*to = &v
	}
}

func setText(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func setList(to *[]string, from []string) {
	if len(from) > 0 {
		*to = append([]string(nil), from...)
	}
}
