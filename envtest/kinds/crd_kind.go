package kinds

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// crdKind is the one built-in kind that is served without a Go type.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// crdStructural is the shape of a CRD.
var crdStructural = sync.OnceValue(func() *structural { return recordedStructural(crdSchema) })

// defineCRDs gives the resource of CRDs what its objects, which are unstructured, have
// in place of a Go type.
func defineCRDs(r *Resource) {
	r.Rules = &Rules{
		Prune:          func(crd *unstructured.Unstructured) []string { return prune(crd.Object, crdStructural()) },
		Default:        defaultCRD,
		Prepare:        addStoredVersion,
		Validate:       validateCRD,
		ValidateStatus: validateCRDStatus,
		Convert: func(crd *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
			if to != crdKind.GroupVersion() {
				return nil, runtime.NewNotRegisteredErrForTarget("envtest", nil, to)
			}
			return crd, nil
		},
	}
	r.FieldManager = fieldManagers(r, func(subresource string) *managedfields.FieldManager {
		reset := resets(r, subresource, []schema.GroupVersion{crdKind.GroupVersion()})
		return customFieldManager(r, crdTypes(), r.Rules.Convert, subresource, reset)
	})
}

// defaultCRD fills in the names that follow from others, and the conversion.
func defaultCRD(crd *unstructured.Unstructured) {
	d, err := parseDefinition(crd)
	spec, ok := crd.Object["spec"].(map[string]any)
	if err != nil || !ok {
		return // Validate says so
	}
	if names, ok := spec["names"].(map[string]any); ok {
		for key, value := range map[string]string{"singular": d.Spec.Names.Singular, "listKind": d.Spec.Names.ListKind} {
			if value != "" {
				names[key] = value
			}
		}
	}
	conversion, ok := spec["conversion"].(map[string]any)
	if !ok {
		spec["conversion"] = map[string]any{"strategy": d.Spec.Conversion.Strategy}
		return
	}
	if service, found, err := unstructured.NestedMap(conversion, "webhook", "clientConfig", "service"); found && err == nil && service["port"] == nil {
		if err := unstructured.SetNestedField(conversion, int64(443), "webhook", "clientConfig", "service", "port"); err != nil {
			return // no maps: Validate says so
		}
	}
}

// addStoredVersion adds the storage version to status.storedVersions, and makes
// a status that has none the one that a CRD begins with.
func addStoredVersion(crd *unstructured.Unstructured) {
	d, err := parseDefinition(crd)
	if err != nil {
		return // Validate says so
	}
	status, ok := crd.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{
			"acceptedNames": map[string]any{"plural": "", "kind": ""},
			"conditions":    nil,
		}
	}
	status = maps.Clone(status) // it may be that of the live object
	crd.Object["status"] = status
	version := d.storage().Version
	if version != "" && !slices.Contains(d.Status.StoredVersions, version) {
		stored, _ := status["storedVersions"].([]any)
		status["storedVersions"] = append(stored[:len(stored):len(stored)], version)
	}
}

// validateCRDStatus checks a write to a CRD's status.
func validateCRDStatus(crd, _ *unstructured.Unstructured) field.ErrorList {
	d, err := parseDefinition(crd)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("status"), "", err.Error())}
	}
	return d.validateStoredVersions()
}

// validateStoredVersions checks that what is stored can be read.
func (d *definition) validateStoredVersions() field.ErrorList {
	at := field.NewPath("status", "storedVersions")
	stored := d.Status.StoredVersions
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(at, stored, "must have at least one stored version")}
	}
	var errs field.ErrorList
	known := map[string]bool{}
	for _, v := range d.Spec.Versions {
		known[v.Name] = true
	}
	for i, name := range stored {
		if !known[name] {
			errs = append(errs, field.Invalid(at.Index(i), name, fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, "+
				"and must remain in spec.versions until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", name)))
		}
	}
	for _, v := range d.Spec.Versions {
		if v.Storage && !slices.Contains(stored, v.Name) {
			errs = append(errs, field.Invalid(at, stored, "must have the storage version "+v.Name))
		}
	}
	return errs
}
