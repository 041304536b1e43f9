package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch is a change to an object.
type Patch interface {
	// Type is the patch's media type.
	Type() types.PatchType
	// Data returns the patch's bytes; obj is what Client.Patch was given, with
	// its kind set. It must not be changed.
	Data(obj Object) ([]byte, error)
}

// RawPatch is a patch of given bytes: a JSON patch, for one. They are sent
// unchanged.
func RawPatch(patchType types.PatchType, data []byte) Patch { return &rawPatch{patchType, data} }

type rawPatch struct {
	patchType types.PatchType
	data      []byte
}

func (p *rawPatch) Type() types.PatchType       { return p.patchType }
func (p *rawPatch) Data(Object) ([]byte, error) { return p.data, nil }

type mergePatch bool

// Merge sends the whole object as a merge patch: what it has is set, what it
// lacks stays.
const Merge mergePatch = true

var _ Patch = Merge

func (mergePatch) Type() types.PatchType           { return types.MergePatchType }
func (mergePatch) Data(obj Object) ([]byte, error) { return json.Marshal(obj) }

// MergeFromOption tunes MergeFromWithOptions and StrategicMergeFrom.
type MergeFromOption interface {
	// ApplyToMergeFrom sets its field.
	ApplyToMergeFrom(*MergeFromOptions)
}

// MergeFromOptions are the options of a patch that is a difference.
type MergeFromOptions struct {
	// OptimisticLock adds base's resourceVersion to the patch: if the object
	// on the server is another by then, the error is a Conflict. Without it
	// the patch wins over whatever came between.
	OptimisticLock bool
}

// MergeFromWithOptimisticLock switches the optimistic lock on.
type MergeFromWithOptimisticLock struct{}

// ApplyToMergeFrom makes it an option.
func (MergeFromWithOptimisticLock) ApplyToMergeFrom(o *MergeFromOptions) { o.OptimisticLock = true }

// MergeFrom is a merge patch from base to the object given to Client.Patch.
// base is read at once, so that it may be the very object that is changed
// afterwards and given to Patch. Lists are replaced as a whole. A patch with no
// difference is sent too: the reply is the object as it is.
func MergeFrom(base Object) Patch { return MergeFromWithOptions(base) }

// MergeFromWithOptions is MergeFrom with options.
func MergeFromWithOptions(base Object, opts ...MergeFromOption) Patch {
	return newDifference(types.MergePatchType, base, opts)
}

// StrategicMergeFrom is like MergeFrom, but lists that have keys, like a
// Pod's containers, are merged by key. Built-in typed kinds only: the server
// refuses it for custom resources.
func StrategicMergeFrom(base Object, opts ...MergeFromOption) Patch {
	return newDifference(types.StrategicMergePatchType, base, opts)
}

// difference is a patch from what base was to another object.
type difference struct {
	patchType       types.PatchType
	base            []byte
	resourceVersion string
	lock            bool
	err             error // of reading base
}

func newDifference(patchType types.PatchType, base Object, opts []MergeFromOption) Patch {
	var o MergeFromOptions
	for _, opt := range opts {
		if opt != nil {
			opt.ApplyToMergeFrom(&o)
		}
	}
	p := &difference{patchType: patchType, lock: o.OptimisticLock}
	if p.err = checkNotNil(base); p.err != nil {
		return p
	}
	p.resourceVersion = base.GetResourceVersion()
	p.base, p.err = json.Marshal(base)
	return p
}

func (p *difference) Type() types.PatchType { return p.patchType }

func (p *difference) Data(obj Object) ([]byte, error) {
	if p.err != nil {
		return nil, fmt.Errorf("the patch's base: %w", p.err)
	}
	if p.lock && p.resourceVersion == "" {
		return nil, errors.New("the optimistic lock needs a base with a resourceVersion: read it from the server first")
	}
	modified, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var patch map[string]any
	if p.patchType == types.StrategicMergePatchType {
		patch, err = strategicDifference(p.base, modified, obj)
	} else {
		patch, err = mergeDifference(p.base, modified)
	}
	if err != nil {
		return nil, err
	}
	p.fixMetadata(patch)
	return json.Marshal(patch)
}

// fixMetadata takes out of a patch what is about the two Go values, not about
// the object: TypeMeta that only one of them has, and the resourceVersion,
// which would be a lock that nobody asked for. The lock that was asked for
// goes in.
func (p *difference) fixMetadata(patch map[string]any) {
	delete(patch, "apiVersion")
	delete(patch, "kind")
	metadata, _ := patch["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	if p.lock {
		if metadata == nil {
			metadata = map[string]any{}
			patch["metadata"] = metadata
		}
		metadata["resourceVersion"] = p.resourceVersion
	}
	if len(metadata) == 0 {
		delete(patch, "metadata")
	}
}

// strategicDifference needs obj for the merge keys in its Go type's tags.
func strategicDifference(base, modified []byte, obj Object) (map[string]any, error) {
	if FormOf(obj) != Typed {
		return nil, fmt.Errorf("a strategic merge patch needs a typed object, not %T: use MergeFrom", obj)
	}
	data, err := strategicpatch.CreateTwoWayMergePatch(base, modified, obj)
	if err != nil {
		return nil, err
	}
	return decodeNumbers(data)
}
