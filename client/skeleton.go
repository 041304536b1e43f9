package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

type GetOption interface{ ApplyToGet(*GetOptions) }
type ListOption interface{ ApplyToList(*ListOptions) }
type CreateOption interface{ ApplyToCreate(*CreateOptions) }
type UpdateOption interface{ ApplyToUpdate(*UpdateOptions) }
type PatchOption interface{ ApplyToPatch(*PatchOptions) }
type ApplyOption interface{ ApplyToApply(*ApplyOptions) }
type DeleteOption interface{ ApplyToDelete(*DeleteOptions) }
type DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }

type GetOptions struct {
	UnsafeDisableDeepCopy *bool
}
type ListOptions struct {
	LabelSelector         labels.Selector
	FieldSelector         fields.Selector
	Namespace             string
	Limit                 int64
	Continue              string
	UnsafeDisableDeepCopy *bool
}
type CreateOptions struct{}
type UpdateOptions struct{}
type PatchOptions struct{}
type ApplyOptions struct{}
type DeleteOptions struct{}
type DeleteAllOfOptions struct{}

// ApplyOptions folds opts into o and reports the first option that makes no sense (an invalid label, a nil selector).
func (o *ListOptions) ApplyOptions(opts []ListOption) error { panic("skeleton") }
func (o *GetOptions) ApplyOptions(opts []GetOption) error   { panic("skeleton") }

type InNamespace string

func (n InNamespace) ApplyToList(*ListOptions)               { panic("skeleton") }
func (n InNamespace) ApplyToDeleteAllOf(*DeleteAllOfOptions) { panic("skeleton") }

type MatchingLabels map[string]string

func (m MatchingLabels) ApplyToList(*ListOptions)               { panic("skeleton") }
func (m MatchingLabels) ApplyToDeleteAllOf(*DeleteAllOfOptions) { panic("skeleton") }

type MatchingLabelsSelector struct{ labels.Selector }

func (m MatchingLabelsSelector) ApplyToList(*ListOptions)               { panic("skeleton") }
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(*DeleteAllOfOptions) { panic("skeleton") }

type MatchingFields fields.Set

func (m MatchingFields) ApplyToList(*ListOptions)               { panic("skeleton") }
func (m MatchingFields) ApplyToDeleteAllOf(*DeleteAllOfOptions) { panic("skeleton") }

// Limit, Continue, HasLabels, MatchingFieldsSelector, UnsafeDisableDeepCopy, DryRunAll, FieldValidation,
// GracePeriodSeconds, Preconditions, PropagationPolicy, WithSubResourceBody likewise.

// FieldOwner is an option of Create, Update, Patch, Apply.
type FieldOwner string

func (f FieldOwner) ApplyToCreate(*CreateOptions) { panic("skeleton") }
func (f FieldOwner) ApplyToUpdate(*UpdateOptions) { panic("skeleton") }
func (f FieldOwner) ApplyToPatch(*PatchOptions)   { panic("skeleton") }
func (f FieldOwner) ApplyToApply(*ApplyOptions)   { panic("skeleton") }

type forceOwnership struct{}

func (forceOwnership) ApplyToPatch(*PatchOptions) { panic("skeleton") }
func (forceOwnership) ApplyToApply(*ApplyOptions) { panic("skeleton") }

// ForceOwnership takes fields from other owners. An option of Patch and Apply.
var ForceOwnership = forceOwnership{}

// Patch is a change to an object.
type Patch interface {
	Type() types.PatchType
	Data(obj Object) ([]byte, error)
}

// MergeFrom is a merge patch from base to the object given to Client.Patch.
func MergeFrom(base Object) Patch { panic("skeleton") }

// RawPatch is a patch of given bytes.
func RawPatch(patchType types.PatchType, data []byte) Patch { panic("skeleton") }

// ApplyConfigurationFromUnstructured lets Client.Apply take an unstructured object.
// func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration

// SubResourceClient reads and writes a subresource of objects. Its options are those of the verbs.
type SubResourceClient interface {
	Get(ctx context.Context, obj, subResource Object, opts ...GetOption) error
	Create(ctx context.Context, obj, subResource Object, opts ...CreateOption) error
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
}

// IndexerFunc returns the values under which an object is found.
type IndexerFunc func(Object) []string

// FieldIndexer declares indexes.
type FieldIndexer interface {
	IndexField(ctx context.Context, obj Object, field string, fn IndexerFunc) error
}

// NewDelegating returns a Client that reads from reader and does all else by direct.
func NewDelegating(direct *Direct, reader Reader, o *DelegatingOptions) *Delegating { panic("skeleton") }

// DelegatingOptions tunes a Delegating client.
type DelegatingOptions struct {
	// DisableFor lists kinds that are read from the server all the same.
	DisableFor []Object
}

// Delegating is a Client that reads from a cache and writes to the server.
type Delegating struct{ Client }

// IgnoreNotFound returns nil for a NotFound error, any other as it is.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// GetConfig finds the server: the kubeconfig path given, $KUBECONFIG, in-cluster, ~/.kube/config. QPS is -1: no client-side limit.
func GetConfig(kubeconfig string) (*rest.Config, error) { panic("skeleton") }
