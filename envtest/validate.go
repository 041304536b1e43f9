package envtest

import (
	"strings"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// validateCreate says what is wrong with a new object.
func (w *write) validateCreate(obj client.Object) field.ErrorList {
	errs := w.validateMetadata(obj)
	return append(errs, w.validateContent(obj, nil)...)
}

// validateUpdate says what is wrong with an update.
func (w *write) validateUpdate(obj, live client.Object) field.ErrorList {
	errs := w.validateMetadata(obj)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(obj, live, metadataPath)...)
	return append(errs, w.validateContent(obj, live)...)
}

// validateMetadata checks names, labels, annotations, owners, finalizers and
// managed fields.
func (w *write) validateMetadata(obj client.Object) field.ErrorList {
	errs := validation.ValidateObjectMetaAccessor(obj, w.resource.Namespaced, nameRule(w.resource), metadataPath)
	if unstructuredKind(w.resource) {
		return errs
	}
	for i, finalizer := range obj.GetFinalizers() {
		if unqualified(finalizer) {
			errs = append(errs, field.Invalid(metadataPath.Child("finalizers").Index(i), finalizer,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// unqualified says whether a finalizer is neither the server's nor under a domain.
func unqualified(finalizer string) bool {
	switch finalizer {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return false
	}
	return !strings.Contains(finalizer, "/")
}

// validateContent checks what an object is besides its metadata: custom objects
// by their schema, of the built-in kinds only a few.
func (w *write) validateContent(obj, live client.Object) field.ErrorList {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if w.resource.Rules == nil {
			return nil
		}
		var old *unstructured.Unstructured
		if live != nil {
			old = live.(*unstructured.Unstructured)
		}
		if w.subresource == "status" {
			return w.resource.Rules.ValidateStatus(u, old)
		}
		return w.resource.Rules.Validate(u, old)
	}
	var errs field.ErrorList
	if live != nil && w.subresource == "" {
		errs = validateKept(obj, live)
	}
	return append(errs, validateTyped(obj, live, w.subresource)...)
}

// errInvalid: the object is against the rules.
func (w *write) errInvalid(obj client.Object, errs field.ErrorList) error {
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind() // which may be what is wrong
	if kind.Group == "events.k8s.io" {
		kind.Group = "" // they are the same events
	}
	return apierrors.NewInvalid(kind, obj.GetName(), unique(errs))
}

// unique returns errors once each, in order: several checks may find the same.
func unique(errs field.ErrorList) field.ErrorList {
	seen := make(map[string]bool, len(errs))
	var kept field.ErrorList
	for _, err := range errs {
		if text := err.Error(); !seen[text] {
			seen[text] = true
			kept = append(kept, err)
		}
	}
	return kept
}

// warnings tells a client what is allowed, but not wise. live is nil for a create.
func (w *write) warnings(obj, live client.Object) {
	if w.resource.Custom == nil || w.resource.GroupVersionKind == definitionKind {
		return
	}
	for _, finalizer := range obj.GetFinalizers() {
		if unqualified(finalizer) && (live == nil || !hasFinalizer(live, finalizer)) {
			w.warn("metadata.finalizers: \"" + finalizer + "\": prefer a domain-qualified finalizer name " +
				"to avoid accidental conflicts with other finalizer writers")
		}
	}
}
