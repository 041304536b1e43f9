package envtest

import (
	"context"
	"slices"

	"governor/client"
	"governor/envtest/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// owners are the references of an object, by what has become of whom they name.
type owners struct {
	solid    []types.UID // there
	dangling []types.UID // not there, or another object of that name
	waiting  []types.UID // being deleted, as soon as its dependents are gone
}

// ownersOf looks at the owners of an object; false if one of them is of a kind that
// is not served, or is where no owner can be: then nobody knows.
func (t *settling) ownersOf(o *storage.Object) (found owners, ok bool) {
	for _, ref := range o.Value.GetOwnerReferences() {
		at, ok := t.server.ownerPlace(o.Namespace, ref)
		if !ok {
			return owners{}, false
		}
		owner := t.server.store.Get(at.resource, at.namespace, at.name)
		switch {
		case owner == nil || owner.Value.GetUID() != ref.UID:
			found.dangling = append(found.dangling, ref.UID)
		case waitsForDependents(owner.Value):
			found.waiting = append(found.waiting, ref.UID)
		default:
			found.solid = append(found.solid, ref.UID)
		}
	}
	return found, true
}

// collect deletes an object if none of its owners is left, and else takes those
// out of its references that are not.
func (t *settling) collect(ctx context.Context, o *storage.Object) error {
	if o.Resource == events {
		return nil
	}
	found, ok := t.ownersOf(o)
	if !ok {
		return nil
	}
	obj := o.Value
	if len(found.solid) > 0 {
		if lost := slices.Concat(found.dangling, found.waiting); len(lost) > 0 {
			return t.disown(ctx, placeOf(o), lost)
		}
		return nil
	}
	if len(found.waiting) > 0 {
		if dependents := t.dependents(obj.GetUID()); len(dependents) > 0 {
			if err := t.unblockCycle(ctx, o, dependents); err != nil {
				return err
			}
			return t.remove(ctx, o, metav1.DeletePropagationForeground)
		}
	}
	switch {
	case hasFinalizer(obj, metav1.FinalizerOrphanDependents):
		return t.remove(ctx, o, metav1.DeletePropagationOrphan)
	case hasFinalizer(obj, metav1.FinalizerDeleteDependents):
		return t.remove(ctx, o, metav1.DeletePropagationForeground)
	}
	return t.remove(ctx, o, metav1.DeletePropagationBackground)
}

// unblockCycle makes an object hold up none of its owners any more, if one of its own
// dependents waits in turn: they might wait for each other.
func (t *settling) unblockCycle(ctx context.Context, o *storage.Object, dependents []*storage.Object) error {
	if !slices.ContainsFunc(dependents, func(d *storage.Object) bool { return waitsForDependents(d.Value) }) {
		return nil
	}
	return t.update(ctx, placeOf(o), "", func(obj client.Object) error {
		refs := slices.Clone(obj.GetOwnerReferences())
		for i := range refs {
			if refs[i].BlockOwnerDeletion != nil {
				refs[i].BlockOwnerDeletion = new(bool)
			}
		}
		obj.SetOwnerReferences(refs)
		return nil
	})
}

// dependents are the objects that name an owner, as they are now.
func (t *settling) dependents(owner types.UID) []*storage.Object {
	var found []*storage.Object
	for _, at := range t.server.ledger.dependentsOf(owner) {
		if o := t.server.store.Get(at.resource, at.namespace, at.name); o != nil && slices.Contains(ownerUIDs(o.Value), owner) {
			found = append(found, o)
		}
	}
	return found
}

// deleteDependents goes on with a deletion in the foreground: the owner goes when
// no dependent is left that holds it up.
func (t *settling) deleteDependents(ctx context.Context, owner *storage.Object) error {
	uid := owner.Value.GetUID()
	held := false
	for _, dependent := range t.dependents(uid) {
		held = held || blocks(dependent.Value, uid)
		if dependent.Value.GetDeletionTimestamp() != nil {
			continue
		}
		if err := t.collect(ctx, dependent); err != nil {
			return err
		}
	}
	if !held {
		return t.release(ctx, placeOf(owner), metav1.FinalizerDeleteDependents)
	}
	return nil // those that go will have it looked at again
}

// orphanDependents goes on with a deletion that leaves the dependents behind.
func (t *settling) orphanDependents(ctx context.Context, owner *storage.Object) error {
	uid := owner.Value.GetUID()
	for _, dependent := range t.dependents(uid) {
		if err := t.disown(ctx, placeOf(dependent), []types.UID{uid}); err != nil {
			return err
		}
	}
	return t.release(ctx, placeOf(owner), metav1.FinalizerOrphanDependents)
}

// disown takes owners out of an object's references.
func (t *settling) disown(ctx context.Context, at place, uids []types.UID) error {
	return t.update(ctx, at, "", func(obj client.Object) error {
		obj.SetOwnerReferences(withoutOwners(obj.GetOwnerReferences(), uids))
		return nil
	})
}

// release takes a finalizer off an object.
func (t *settling) release(ctx context.Context, at place, finalizer string) error {
	return t.update(ctx, at, "", func(obj client.Object) error {
		obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer }))
		return nil
	})
}

func placeOf(o *storage.Object) place { return place{o.Resource, o.Namespace, o.Name} }
