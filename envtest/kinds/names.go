package kinds

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// A NameConflict says that a CRD asks for a name that another CRD of its group has:
// it is not served, or under its earlier names. It is what the condition
// NamesAccepted says; another name, or the other CRD's end, helps.
type NameConflict struct {
	// Reason is the condition's, e.g. PluralConflict.
	Reason string
	// Message is the condition's, e.g. "widgets" is already in use.
	Message string
}

// Error implements error.
func (c *NameConflict) Error() string { return c.Reason + ": " + c.Message }

// acceptNames gives a CRD the names that it asks for as far as no other CRD of its
// group has them, and sets NamesAccepted; Established, too, while it is not true. It
// returns the last conflict.
func (d *definition) acceptNames(others []*definition) *NameConflict {
	resources, kinds := takenNames(d, others)
	asked, accepted := d.Spec.Names, d.Status.AcceptedNames
	next := accepted
	var conflict *NameConflict
	accept := func(reason, name, before string, taken []string, into *string) {
		if err := mayHave(name, before, taken); err != nil {
			conflict = &NameConflict{reason, err.Error()}
			return
		}
		*into = name
	}
	accept("PluralConflict", asked.Plural, accepted.Plural, resources, &next.Plural)
	accept("SingularConflict", asked.Singular, accepted.Singular, resources, &next.Singular)
	var errs []error
	for _, name := range asked.ShortNames {
		if !slices.Contains(accepted.ShortNames, name) {
			errs = append(errs, mayHave(name, "", resources))
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		conflict = &NameConflict{"ShortNamesConflict", err.Error()}
	} else {
		next.ShortNames = asked.ShortNames
	}
	accept("KindConflict", asked.Kind, accepted.Kind, kinds, &next.Kind)
	accept("ListKindConflict", asked.ListKind, accepted.ListKind, kinds, &next.ListKind)
	next.Categories = asked.Categories

	d.Status.AcceptedNames = next
	d.setNamesAccepted(conflict)
	return conflict
}

func (d *definition) setNamesAccepted(conflict *NameConflict) {
	names := condition{Type: namesAccepted, Status: "True", Reason: "NoConflicts", Message: "no conflicts found"}
	serving := condition{Type: established, Status: "False", Reason: "Installing", Message: "the initial names have been accepted"}
	if conflict != nil {
		names.Status, names.Reason, names.Message = "False", conflict.Reason, conflict.Message
		serving.Reason, serving.Message = "NotAccepted", "not all names are accepted"
	}
	d.setCondition(names)
	if c := d.condition(established); c == nil || c.Status != "True" && conflict == nil {
		d.setCondition(serving)
	}
}

// AcceptNames does what the controllers of CRDs do first with one that is new or
// has changed: it returns a copy with acceptedNames and the conditions NamesAccepted
// and Established (false, until Establish), judged beside the CRDs that SetCRD has
// been given; or the CRD itself if its status says all of that already. A name that
// another CRD of the group has is a *NameConflict besides.
func (r *Registry) AcceptNames(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil {
		return crd, err
	}
	before := d.Status
	before.Conditions = slices.Clone(before.Conditions)
	r.mu.Lock()
	conflict := d.acceptNames(slices.Collect(maps.Values(r.definitions)))
	r.mu.Unlock()
	next := crd
	if !reflect.DeepEqual(before, d.Status) {
		if next, err = d.writeStatus(crd); err != nil {
			return crd, err
		}
	}
	if conflict != nil {
		return next, conflict
	}
	return next, nil
}

// Establish does what they do then: it returns a copy of a CRD whose names are
// accepted with the condition Established; or the CRD itself if there is nothing to do.
func Establish(crd *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	d, err := parseDefinition(crd)
	if err != nil || !d.is(namesAccepted) || d.is(established) {
		return crd, err
	}
	d.setCondition(condition{Type: established, Status: "True", Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"})
	return d.writeStatus(crd)
}

// takenNames returns the names of resources and of kinds that other CRDs of d's
// group have.
func takenNames(d *definition, others []*definition) (resources, kinds []string) {
	for _, other := range others {
		if other.Spec.Group != d.Spec.Group || other.Name == d.Name {
			continue
		}
		names := other.Status.AcceptedNames
		resources = append(append(resources, names.Plural, names.Singular), names.ShortNames...)
		kinds = append(kinds, names.Kind, names.ListKind)
	}
	return resources, kinds
}

func mayHave(name, before string, taken []string) error {
	if name != before && slices.Contains(taken, name) {
		return fmt.Errorf("%q is already in use", name)
	}
	return nil
}
