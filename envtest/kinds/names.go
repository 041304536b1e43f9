package kinds

import (
	"fmt"
	"reflect"
	"slices"

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

// namesSettled says whether there is nothing to accept.
func (d *definition) namesSettled() bool {
	return reflect.DeepEqual(d.Spec.Names, d.Status.AcceptedNames) && d.condition(namesAccepted) != nil
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
