package envtest

import (
	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// mergeRulesOf says which lists of an object a strategic merge patch merges, and by
// which key.
func mergeRulesOf(object client.Object) (strategicpatch.LookupPatchMeta, error) {
	if _, ok := object.(*unstructured.Unstructured); ok {
		return definitionRules{}, nil
	}
	return strategicpatch.NewPatchMetaFromStruct(object)
}

// definitionRules are those of a CustomResourceDefinition, the one kind that takes such
// patches without a Go type: nothing but its metadata has lists that merge.
type definitionRules struct{}

var _ strategicpatch.LookupPatchMeta = definitionRules{}

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (r definitionRules) LookupPatchMetadataForStruct(field string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	if field == "metadata" {
		rules, err := strategicpatch.NewPatchMetaFromStruct(metav1.ObjectMeta{})
		return rules, strategicpatch.PatchMeta{}, err
	}
	return r, strategicpatch.PatchMeta{}, nil
}

// LookupPatchMetadataForSlice implements strategicpatch.LookupPatchMeta.
func (r definitionRules) LookupPatchMetadataForSlice(string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	return r, strategicpatch.PatchMeta{}, nil
}

// Name implements strategicpatch.LookupPatchMeta.
func (definitionRules) Name() string { return definitionKind.Kind }
