package client

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// InNamespace selects the objects of one namespace; empty selects all.
type InNamespace string

// ApplyToList makes it an option of List.
func (n InNamespace) ApplyToList(o *ListOptions) { o.addNamespace(string(n)) }

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (n InNamespace) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { n.ApplyToList(&o.ListOptions) }

// MatchingLabels selects objects that have each of these labels; empty selects
// all. An invalid key or value is an error from the call.
type MatchingLabels map[string]string

// ApplyToList makes it an option of List.
func (m MatchingLabels) ApplyToList(o *ListOptions) {
	sel, err := labels.ValidatedSelectorFromSet(labels.Set(m))
	if err != nil {
		o.fail(fmt.Errorf("MatchingLabels: %w", err))
		return
	}
	o.addLabels(sel)
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (m MatchingLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// HasLabels selects objects that have each of these label keys. An invalid key
// is an error from the call.
type HasLabels []string

// ApplyToList makes it an option of List.
func (m HasLabels) ApplyToList(o *ListOptions) {
	sel := labels.NewSelector()
	for _, key := range m {
		req, err := labels.NewRequirement(key, selection.Exists, nil)
		if err != nil {
			o.fail(fmt.Errorf("HasLabels: %w", err))
			return
		}
		sel = sel.Add(*req)
	}
	o.addLabels(sel)
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (m HasLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingLabelsSelector selects by any label selector. A nil Selector is an
// error from the call; labels.Nothing() selects nothing.
type MatchingLabelsSelector struct{ labels.Selector }

// ApplyToList makes it an option of List.
func (m MatchingLabelsSelector) ApplyToList(o *ListOptions) {
	if m.Selector == nil {
		o.fail(errors.New("MatchingLabelsSelector: the selector is nil: use labels.Everything() or labels.Nothing()"))
		return
	}
	o.addLabels(m.Selector)
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// MatchingFields selects objects by the values of fields. The server knows few
// fields per kind, a cache these and those that were declared with an index; any
// other is an error from the call.
type MatchingFields fields.Set

// ApplyToList makes it an option of List.
func (m MatchingFields) ApplyToList(o *ListOptions) { o.addFields(fields.Set(m).AsSelector()) }

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (m MatchingFields) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingFieldsSelector selects by any field selector. A nil Selector is an
// error from the call; fields.Nothing() selects nothing.
type MatchingFieldsSelector struct{ fields.Selector }

// ApplyToList makes it an option of List.
func (m MatchingFieldsSelector) ApplyToList(o *ListOptions) {
	if m.Selector == nil {
		o.fail(errors.New("MatchingFieldsSelector: the selector is nil: use fields.Everything() or fields.Nothing()"))
		return
	}
	o.addFields(m.Selector)
}

// ApplyToDeleteAllOf makes it an option of DeleteAllOf.
func (m MatchingFieldsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// fail records the first mistake and makes the selection empty, so that a
// caller who overlooks the error gets nothing rather than everything.
func (o *ListOptions) fail(err error) {
	if o.err == nil {
		o.err = err
	}
	o.LabelSelector = labels.Nothing()
}

func (o *ListOptions) addNamespace(ns string) {
	switch {
	case ns == "" || ns == o.Namespace:
	case o.Namespace == "":
		o.Namespace = ns
	default:
		o.fail(fmt.Errorf("InNamespace: both %q and %q are given, and no object is in two namespaces", o.Namespace, ns))
	}
}

func (o *ListOptions) addLabels(sel labels.Selector) {
	if o.LabelSelector == nil {
		o.LabelSelector = sel
		return
	}
	reqs, selectable := sel.Requirements()
	if !selectable {
		o.LabelSelector = labels.Nothing()
		return
	}
	o.LabelSelector = o.LabelSelector.Add(reqs...) // Add copies
}

func (o *ListOptions) addFields(sel fields.Selector) {
	switch {
	case o.FieldSelector == nil:
		o.FieldSelector = sel
	case selectsNothing(o.FieldSelector):
	case selectsNothing(sel):
		o.FieldSelector = sel
	default:
		o.FieldSelector = fields.AndSelectors(o.FieldSelector, sel)
	}
}

// selectsNothing recognises labels.Nothing() and fields.Nothing(). In the
// server's syntax they cannot be said: their text is that of "everything".
func selectsNothing(sel interface {
	Empty() bool
	String() string
}) bool {
	return !sel.Empty() && sel.String() == ""
}

// selectsNothing says whether no object can match.
func (o *ListOptions) selectsNothing() bool {
	return o.LabelSelector != nil && selectsNothing(o.LabelSelector) ||
		o.FieldSelector != nil && selectsNothing(o.FieldSelector)
}
