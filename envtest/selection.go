package envtest

import (
	"fmt"
	"maps"
	"strings"

	"governor/client"
	"governor/envtest/kinds"
	"governor/envtest/storage"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection says which objects of a resource a list or a watch is of.
type selection struct {
	labels labels.Selector // nil: all
	fields fields.Selector // nil: all
	// name is the only one that can match; empty: any.
	name  string
	known *fieldLabels
	// namespaced is whether the objects are in namespaces.
	namespaced bool
}

// newSelection reads the selectors of a request. Unknown fields are errors, worded
// as the real server does for the kind.
func newSelection(c *call, o *metainternal.ListOptions) (*selection, error) {
	sel := &selection{known: fieldLabelsOf(c.resource), namespaced: c.resource.Namespaced}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		sel.labels = o.LabelSelector
	}
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		transformed, err := o.FieldSelector.Transform(sel.known.translate)
		if err != nil {
			return nil, errBadRequest(err.Error())
		}
		sel.fields = transformed
	}
	name := c.attributes.Name
	switch {
	case name == "":
	case sel.fields == nil:
		sel.fields = fields.OneTermEqualSelector("metadata.name", name)
	default:
		if n, ok := sel.fields.RequiresExactMatch("metadata.name"); !ok || n != name {
			return nil, errBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	sel.name = name
	return sel, nil
}

// everything says whether there is no selector.
func (sel *selection) everything() bool { return sel.labels == nil && sel.fields == nil }

// matches says whether an object is selected.
func (sel *selection) matches(o *storage.Object) bool {
	if sel.labels != nil && !sel.labels.Matches(labels.Set(o.Value.GetLabels())) {
		return false
	}
	return sel.fields == nil || sel.fields.Matches(objectFields{o.Value, sel.known})
}

// single returns the only object that can match, nil if there is none such; ok
// is false if there may be several.
func (sel *selection) single(snapshot storage.Snapshot, namespace string) (object *storage.Object, ok bool) {
	if sel.name == "" || sel.namespaced && namespace == "" {
		return nil, false
	}
	return snapshot.Get(namespace, sel.name), true
}

// objectFields reads the fields of an object that selectors may ask for, one by
// one. It implements fields.Fields.
type objectFields struct {
	object client.Object
	known  *fieldLabels
}

// Has implements fields.Fields. Every field that newSelection lets pass is there.
func (f objectFields) Has(string) bool { return true }

// Get implements fields.Fields.
func (f objectFields) Get(field string) string {
	switch field {
	case "metadata.name":
		return f.object.GetName()
	case "metadata.namespace":
		return f.object.GetNamespace()
	}
	return f.known.value(f.object, field)
}

// fieldLabelsOf returns the fields by which objects of a resource can be selected.
func fieldLabelsOf(resource *kinds.Resource) *fieldLabels {
	if known := builtinFields[resource.GroupVersionKind.GroupKind()]; known != nil {
		return known
	}
	if resource.Custom != nil {
		names := maps.Clone(nameOnly)
		if resource.Namespaced {
			names = maps.Clone(metaNames)
		}
		for _, name := range resource.Custom.SelectableFields {
			names[name] = name
		}
		return &fieldLabels{names: names, refusal: plainRefusal, read: customField}
	}
	return &fieldLabels{names: metaNames, refusal: metaRefusal}
}

// customField reads a selectable field, e.g. spec.color, of a custom object.
func customField(object client.Object, field string) string {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(field, ".")...)
	if err != nil || !found || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
