package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The verbs of custom resources.
var (
	customVerbs      = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = []string{"delete", "deletecollection", "get", "list", "watch"}
	subresourceVerbs = []string{"get", "patch", "update"}
)

// customResources returns the resources that a CRD defines, one for each served
// version, in the order of discovery: v2 before v1 before v1beta1.
func (r *Registry) customResources(d *definition) ([]*Resource, error) {
	convert := r.converter(d)
	shaped := d.shaped(convert)
	types := sync.OnceValue(d.types)
	var all []*Resource
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		if !v.Served {
			continue
		}
		resource, err := r.customResource(d, v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		resource.Rules.Convert = shaped
		resource.FieldManager = r.customFieldManagers(d, resource, types, convert)
		all = append(all, resource)
	}
	slices.SortStableFunc(all, func(a, b *Resource) int {
		return version.CompareKubeAwareVersionStrings(b.GroupVersionKind.Version, a.GroupVersionKind.Version)
	})
	return all, nil
}

// shaped returns a conversion whose results are of the shape of their version: what its
// schema does not know is gone, and in the storage version defaults are filled in,
// as if the object were read from there.
func (d *definition) shaped(convert convertFunc) convertFunc {
	shapes := map[schema.GroupVersion]*structural{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		shapes[schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}] = compileStructural(v.openAPI())
	}
	return func(object *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
		converted, err := convert(object, to)
		if err != nil || converted == object {
			return converted, err
		}
		if !d.Spec.PreserveUnknownFields {
			prune(converted.Object, shapes[to])
		}
		if to == d.storage() {
			setDefaults(converted.Object, shapes[to])
		}
		return converted, nil
	}
}

func (r *Registry) customResource(d *definition, v *definitionVersion) (*Resource, error) {
	gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
	accepted := d.Status.AcceptedNames
	resource := &Resource{
		GroupVersionResource: gv.WithResource(accepted.Plural),
		GroupVersionKind:     gv.WithKind(accepted.Kind),
		ListKind:             accepted.ListKind,
		Singular:             accepted.Singular,
		ShortNames:           accepted.ShortNames,
		Categories:           accepted.Categories,
		Namespaced:           d.Spec.Scope == "Namespaced",
		Verbs:                customVerbs,
		StorageVersion:       d.storage(),
		Storage:              schema.GroupResource{Group: d.Spec.Group, Resource: accepted.Plural},
		Subresources:         map[string]*Subresource{},
	}
	var scale *scaleSubresource
	if v.Subresources != nil {
		if scale = v.Subresources.Scale; scale != nil {
			resource.Subresources["scale"] = &Subresource{Kind: scaleKind, Verbs: subresourceVerbs}
		}
		if v.Subresources.Status != nil {
			resource.Subresources["status"] = &Subresource{Kind: resource.GroupVersionKind, Verbs: subresourceVerbs}
		}
	}
	validator, err := newValidator(resource.GroupVersionKind, v.openAPI(), scale)
	if err != nil {
		return nil, err
	}
	custom := &Custom{
		UID:         string(d.UID),
		Terminating: d.DeletionTimestamp != nil || d.is(terminating),
		Rules: Rules{
			Prune:          func(object *unstructured.Unstructured) []string { return prune(object.Object, validator.structural) },
			Default:        func(object *unstructured.Unstructured) { setDefaults(object.Object, validator.structural) },
			Validate:       validator.validate,
			ValidateStatus: validator.validateStatus,
		},
		PrinterColumns:   v.PrinterColumns,
		Warning:          deprecation(d, v),
		SelectableFields: selectable(v),
		openAPI:          v.openAPI(),
	}
	if d.Spec.PreserveUnknownFields {
		custom.Prune = func(*unstructured.Unstructured) []string { return nil }
	}
	if scale != nil {
		custom.SpecReplicasPath, custom.StatusReplicasPath = scale.SpecReplicasPath, scale.StatusReplicasPath
		if scale.LabelSelectorPath != nil {
			custom.LabelSelectorPath = *scale.LabelSelectorPath
		}
	}
	resource.Custom, resource.Rules = custom, &custom.Rules
	return resource, nil
}

// customFieldManagers returns the field managers of a version: its types come
// from the schemas of all versions, so that what has been applied in another
// version is understood.
func (r *Registry) customFieldManagers(d *definition, resource *Resource, types func() managedfields.TypeConverter, convert convertFunc) func(string) *managedfields.FieldManager {
	return fieldManagers(resource, func(subresource string) *managedfields.FieldManager {
		if subresource == "scale" {
			return r.typed.manager(resource, subresource, nil)
		}
		reset := map[fieldpath.APIVersion]fieldpath.Filter{}
		for _, v := range d.Spec.Versions {
			gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
			switch hasStatus := v.Subresources != nil && v.Subresources.Status != nil; {
			case hasStatus && subresource == "status":
				reset[fieldpath.APIVersion(gv.String())] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(specAndMetadata...))
			case hasStatus && gv == resource.GroupVersionKind.GroupVersion():
				reset[fieldpath.APIVersion(gv.String())] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(path("status")))
			}
		}
		return customFieldManager(resource, types(), convert, subresource, reset)
	})
}

// deprecation is the warning that goes with every request to a version, or "".
func deprecation(d *definition, v *definitionVersion) string {
	if !v.Deprecated {
		return ""
	}
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", d.Spec.Group, v.Name, d.Spec.Names.Kind)
	var newer []string
	for _, other := range d.Spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0 {
			newer = append(newer, other.Name)
		}
	}
	if len(newer) == 0 {
		return warning
	}
	newest := slices.MaxFunc(newer, version.CompareKubeAwareVersionStrings)
	return warning + fmt.Sprintf("; use %s/%s %s", d.Spec.Group, newest, d.Spec.Names.Kind)
}

// selectable returns the fields that field selectors may name.
func selectable(v *definitionVersion) []string {
	var fields []string
	for _, f := range v.SelectableFields {
		fields = append(fields, strings.TrimPrefix(f.JSONPath, "."))
	}
	return fields
}

// compareResources is the order of discovery among the resources of CRDs: group, newer
// versions first, name.
func compareResources(a, b *Resource) int {
	return cmp.Or(
		cmp.Compare(a.GroupVersionKind.Group, b.GroupVersionKind.Group),
		version.CompareKubeAwareVersionStrings(b.GroupVersionKind.Version, a.GroupVersionKind.Version),
		cmp.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource),
	)
}
