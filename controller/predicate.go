package controller

import (
	"errors"
	"fmt"
	"maps"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Predicate says which events count: one that returns false never reaches the
// handler. It does not change what is watched and cached.
//
// Upstream: predicate.Predicate.
type Predicate interface {
	Create(CreateEvent) bool
	Update(UpdateEvent) bool
	Delete(DeleteEvent) bool
	Generic(GenericEvent) bool
}

// PredicateFuncs is a Predicate of functions; a nil function is always true.
//
// Upstream: predicate.Funcs.
type PredicateFuncs struct {
	CreateFunc  func(CreateEvent) bool
	UpdateFunc  func(UpdateEvent) bool
	DeleteFunc  func(DeleteEvent) bool
	GenericFunc func(GenericEvent) bool
}

// Create implements Predicate.
func (p PredicateFuncs) Create(e CreateEvent) bool { return p.CreateFunc == nil || p.CreateFunc(e) }

// Update implements Predicate.
func (p PredicateFuncs) Update(e UpdateEvent) bool { return p.UpdateFunc == nil || p.UpdateFunc(e) }

// Delete implements Predicate.
func (p PredicateFuncs) Delete(e DeleteEvent) bool { return p.DeleteFunc == nil || p.DeleteFunc(e) }

// Generic implements Predicate.
func (p PredicateFuncs) Generic(e GenericEvent) bool { return p.GenericFunc == nil || p.GenericFunc(e) }

// NewPredicateFuncs asks filter about the object of each event; of an update,
// about the new one. Upstream: predicate.NewPredicateFuncs.
func NewPredicateFuncs(filter func(object client.Object) bool) PredicateFuncs {
	return PredicateFuncs{
		CreateFunc:  func(e CreateEvent) bool { return filter(e.Object) },
		UpdateFunc:  func(e UpdateEvent) bool { return filter(e.ObjectNew) },
		DeleteFunc:  func(e DeleteEvent) bool { return filter(e.Object) },
		GenericFunc: func(e GenericEvent) bool { return filter(e.Object) },
	}
}

// onUpdate makes a Predicate that is true for all but updates; of those, for
// the ones that changed, and always for an object that was made anew under its
// old name: its new life may begin with the generation, labels and annotations
// that the old one ended with.
func onUpdate(e UpdateEvent, changed func(from, to client.Object) bool) bool {
	if e.ObjectOld == nil || e.ObjectNew == nil {
		return false
	}
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || changed(e.ObjectOld, e.ObjectNew)
}

// GenerationChangedPredicate drops updates that leave metadata.generation as it
// was: changes of status, labels, annotations. Kinds without a generation (a
// ConfigMap) never change it, so that all their updates are dropped.
//
// Upstream: predicate.GenerationChangedPredicate, which also drops the update
// that stands for a delete and a new object of the same name.
type GenerationChangedPredicate struct{ PredicateFuncs }

// Update implements Predicate.
func (GenerationChangedPredicate) Update(e UpdateEvent) bool {
	return onUpdate(e, func(from, to client.Object) bool {
		return from.GetGeneration() != to.GetGeneration()
	})
}

// ResourceVersionChangedPredicate drops updates that change nothing: resyncs.
//
// Upstream: predicate.ResourceVersionChangedPredicate.
type ResourceVersionChangedPredicate struct{ PredicateFuncs }

// Update implements Predicate.
func (ResourceVersionChangedPredicate) Update(e UpdateEvent) bool {
	return onUpdate(e, func(from, to client.Object) bool {
		return from.GetResourceVersion() != to.GetResourceVersion()
	})
}

// LabelChangedPredicate drops updates that leave the labels as they were.
//
// Upstream: predicate.LabelChangedPredicate.
type LabelChangedPredicate struct{ PredicateFuncs }

// Update implements Predicate.
func (LabelChangedPredicate) Update(e UpdateEvent) bool {
	return onUpdate(e, func(from, to client.Object) bool {
		return !maps.Equal(from.GetLabels(), to.GetLabels())
	})
}

// AnnotationChangedPredicate drops updates that leave the annotations as they
// were. Upstream: predicate.AnnotationChangedPredicate.
type AnnotationChangedPredicate struct{ PredicateFuncs }

// Update implements Predicate.
func (AnnotationChangedPredicate) Update(e UpdateEvent) bool {
	return onUpdate(e, func(from, to client.Object) bool {
		return !maps.Equal(from.GetAnnotations(), to.GetAnnotations())
	})
}

// LabelSelectorPredicate is true for objects that s selects; of an update, for
// the new one. The error says what is wrong with s.
//
// Upstream: predicate.LabelSelectorPredicate.
func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, fmt.Errorf("label selector predicate: %w", err)
	}
	return NewPredicateFuncs(func(object client.Object) bool {
		return selector.Matches(labels.Set(object.GetLabels()))
	}), nil
}

// Predicates is true when all of its members are, so also when it has none. It
// is an option of For, Owns and Watches too: there it adds to what is asked for
// already.
//
// Upstream: builder.Predicates, which replaces what was given before.
type Predicates []Predicate

// WithPredicates returns the option that lets only events through for which
// every predicate is true. Upstream: builder.WithPredicates.
func WithPredicates(predicates ...Predicate) Predicates { return predicates }

// And is true when all predicates are. Upstream: predicate.And.
func And(predicates ...Predicate) Predicate { return Predicates(predicates) }

// Create implements Predicate.
func (p Predicates) Create(e CreateEvent) bool {
	return p.all(func(m Predicate) bool { return m.Create(e) })
}

// Update implements Predicate.
func (p Predicates) Update(e UpdateEvent) bool {
	return p.all(func(m Predicate) bool { return m.Update(e) })
}

// Delete implements Predicate.
func (p Predicates) Delete(e DeleteEvent) bool {
	return p.all(func(m Predicate) bool { return m.Delete(e) })
}

// Generic implements Predicate.
func (p Predicates) Generic(e GenericEvent) bool {
	return p.all(func(m Predicate) bool { return m.Generic(e) })
}

func (p Predicates) all(ask func(Predicate) bool) bool {
	for _, member := range p {
		if !ask(member) {
			return false
		}
	}
	return true
}

// validate reports a nil predicate, which would panic with each event.
func (p Predicates) validate() error {
	for _, member := range p {
		if member == nil {
			return errors.New("a predicate is nil")
		}
	}
	return nil
}

// Not is true when the predicate is not. Upstream: predicate.Not.
func Not(predicate Predicate) Predicate { return not{predicate} }

type not struct{ Predicate }

func (n not) Create(e CreateEvent) bool   { return !n.Predicate.Create(e) }
func (n not) Update(e UpdateEvent) bool   { return !n.Predicate.Update(e) }
func (n not) Delete(e DeleteEvent) bool   { return !n.Predicate.Delete(e) }
func (n not) Generic(e GenericEvent) bool { return !n.Predicate.Generic(e) }

// Or is true when at least one predicate is: with none, never.
//
// Upstream: predicate.Or.
func Or(predicates ...Predicate) Predicate {
	members := make(Predicates, 0, len(predicates))
	for _, p := range predicates {
		members = append(members, Not(p))
	}
	return Not(members)
}
