package controller

import (
	"errors"
	"fmt"
	"slices"

	"governor/client"
	"governor/scheme"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An owner is known by group, kind, name and UID: an object that was deleted and
// made anew under its name is another owner, and what the old one owned goes with
// the old one. Upstream leaves the UID out.

// AlreadyOwnedError says that another object controls the object: it must not be
// taken over. The caller should leave the object alone and report it.
//
// Upstream: controllerutil.AlreadyOwnedError.
type AlreadyOwnedError struct {
	// Object is what should get a controller.
	Object metav1.Object
	// Owner controls it.
	Owner metav1.OwnerReference
}

// Error names both.
func (e *AlreadyOwnedError) Error() string {
	return fmt.Sprintf("object %s is controlled by %s %s (UID %s) already",
		namespacedName(e.Object), e.Owner.Kind, e.Owner.Name, e.Owner.UID)
}

// OwnerReferenceOption changes an owner reference before it is set.
//
// Upstream: controllerutil.OwnerReferenceOption.
type OwnerReferenceOption func(*metav1.OwnerReference)

// WithBlockOwnerDeletion says whether a foreground deletion of the owner waits
// for the object. Upstream: controllerutil.WithBlockOwnerDeletion.
func WithBlockOwnerDeletion(block bool) OwnerReferenceOption {
	return func(ref *metav1.OwnerReference) { ref.BlockOwnerDeletion = &block }
}

// SetControllerReference makes owner the one controller of an object in memory:
// the garbage collector deletes the object after its owner, and Owns finds the
// owner when the object changes. A foreground deletion of the owner waits for the
// object, unless WithBlockOwnerDeletion(false).
//
// It returns an *AlreadyOwnedError when another object is the controller, and an
// error when owner cannot own the object: it has no UID since it was never
// created, or lives in another namespace.
//
// Upstream: controllerutil.SetControllerReference.
func SetControllerReference(owner client.Object, controlled metav1.Object, s *scheme.Scheme, opts ...OwnerReferenceOption) error {
	if current := metav1.GetControllerOfNoCopy(controlled); current != nil {
		ref, err := referenceTo(owner, s)
		if err != nil {
			return fmt.Errorf("set controller reference: %w", err)
		}
		if !sameOwner(*current, ref) {
			return &AlreadyOwnedError{Object: controlled, Owner: *current}
		}
	}
	yes := true
	asController := func(ref *metav1.OwnerReference) { ref.Controller, ref.BlockOwnerDeletion = &yes, &yes }
	if err := setReference(owner, controlled, s, append([]OwnerReferenceOption{asController}, opts...)); err != nil {
		return fmt.Errorf("set controller reference: %w", err)
	}
	return nil
}

// SetOwnerReference makes owner an owner of an object in memory, without control
// over it. A reference to the same owner is replaced. It fails as
// SetControllerReference does, but never for another owner.
//
// Upstream: controllerutil.SetOwnerReference.
func SetOwnerReference(owner client.Object, object metav1.Object, s *scheme.Scheme, opts ...OwnerReferenceOption) error {
	if err := setReference(owner, object, s, opts); err != nil {
		return fmt.Errorf("set owner reference: %w", err)
	}
	return nil
}

// RemoveOwnerReference removes owner from the owners of an object in memory. It
// is an error when it is none of them. Upstream: controllerutil.RemoveOwnerReference.
func RemoveOwnerReference(owner client.Object, object metav1.Object, s *scheme.Scheme) error {
	return removeReference(owner, object, s, func(metav1.OwnerReference) bool { return true })
}

// RemoveControllerReference removes owner from the owners of an object in memory.
// It is an error when owner is not its controller.
//
// Upstream: controllerutil.RemoveControllerReference.
func RemoveControllerReference(owner client.Object, object metav1.Object, s *scheme.Scheme) error {
	return removeReference(owner, object, s, isController)
}

// HasControllerReference says whether an object has a controller.
//
// Upstream: controllerutil.HasControllerReference.
func HasControllerReference(object metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(object) != nil
}

// HasOwnerReference says whether owner is among ownerRefs.
//
// Upstream: controllerutil.HasOwnerReference.
func HasOwnerReference(ownerRefs []metav1.OwnerReference, owner client.Object, s *scheme.Scheme) (bool, error) {
	ref, err := referenceTo(owner, s)
	if err != nil {
		return false, fmt.Errorf("has owner reference: %w", err)
	}
	return slices.ContainsFunc(ownerRefs, func(r metav1.OwnerReference) bool { return sameOwner(r, ref) }), nil
}

func setReference(owner client.Object, object metav1.Object, s *scheme.Scheme, opts []OwnerReferenceOption) error {
	ref, err := referenceTo(owner, s)
	if err != nil {
		return err
	}
	if ref.UID == "" {
		return fmt.Errorf("owner %s has no UID; use the object that the API server returned when it was created or read", namespacedName(owner))
	}
	switch ns := owner.GetNamespace(); {
	case ns == "" || ns == object.GetNamespace():
	case object.GetNamespace() == "":
		return fmt.Errorf("owner %s is in a namespace and cannot own the cluster-scoped object %s", namespacedName(owner), object.GetName())
	default:
		return fmt.Errorf("owner %s cannot own %s: they are in different namespaces", namespacedName(owner), namespacedName(object))
	}
	for _, opt := range opts {
		opt(&ref)
	}
	refs := slices.Clone(object.GetOwnerReferences())
	if i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return sameOwner(r, ref) }); i >= 0 {
		refs[i] = ref
	} else {
		refs = append(refs, ref)
	}
	object.SetOwnerReferences(refs)
	return nil
}

func removeReference(owner client.Object, object metav1.Object, s *scheme.Scheme, also func(metav1.OwnerReference) bool) error {
	ref, err := referenceTo(owner, s)
	if err != nil {
		return fmt.Errorf("remove owner reference: %w", err)
	}
	refs := slices.Clone(object.GetOwnerReferences())
	kept := slices.DeleteFunc(refs, func(r metav1.OwnerReference) bool { return sameOwner(r, ref) && also(r) })
	if len(kept) == len(object.GetOwnerReferences()) {
		return fmt.Errorf("remove owner reference: %s has no such reference to %s %s (UID %s)",
			namespacedName(object), ref.Kind, namespacedName(owner), ref.UID)
	}
	object.SetOwnerReferences(kept)
	return nil
}

// referenceTo returns a reference to owner, without control.
func referenceTo(owner client.Object, s *scheme.Scheme) (metav1.OwnerReference, error) {
	if owner == nil || s == nil {
		return metav1.OwnerReference{}, errors.New("it needs an owner and a scheme, not nil")
	}
	gvk, err := s.GVKForObject(owner)
	if err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("owner %T: %w", owner, err)
	}
	return metav1.OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: owner.GetName(), UID: owner.GetUID(),
	}, nil
}

// sameOwner compares all but the version: one object has several.
func sameOwner(a, b metav1.OwnerReference) bool {
	ga, errA := schema.ParseGroupVersion(a.APIVersion)
	gb, errB := schema.ParseGroupVersion(b.APIVersion)
	return errA == nil && errB == nil &&
		ga.Group == gb.Group && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID
}

func isController(ref metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller }

func namespacedName(object metav1.Object) string {
	return client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()}.String()
}
