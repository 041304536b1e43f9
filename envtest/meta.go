package envtest

import (
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// now is the time as objects have it: in seconds.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// wipeSystemFields takes away what a client cannot say of a new object.
func wipeSystemFields(obj metav1.Object) {
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetUID("")
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// fillSystemFields gives a new object its identity.
func fillSystemFields(obj metav1.Object) {
	obj.SetCreationTimestamp(now())
	obj.SetUID(uuid.NewUUID())
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(generateName(obj.GetGenerateName()))
	}
}

// generateName returns a name that begins with prefix. It may be taken.
func generateName(prefix string) string {
	const random, most = 5, 63
	if len(prefix) > most-random {
		prefix = prefix[:most-random]
	}
	return prefix + rand.String(random)
}

// ensureNamespace fills in the namespace of the path, and refuses another.
func (w *write) ensureNamespace(obj metav1.Object) error {
	switch said := obj.GetNamespace(); {
	case said == w.namespace:
	case said == "" || w.namespace == "":
		obj.SetNamespace(w.namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkName refuses an object with another name than the path's.
func (w *write) checkName(obj metav1.Object) error {
	switch said := obj.GetName(); {
	case said == "":
		return apierrors.NewBadRequest("the name of the object (" + w.name + " based on URL) was undeterminable: name must be provided")
	case said != w.name:
		return apierrors.NewBadRequest("the name of the object (" + said + ") does not match the name on the URL (" + w.name + ")")
	}
	return nil
}

// beforeUpdate makes of what a client sends what is written: it keeps what no
// update changes, and refuses what none may.
func (w *write) beforeUpdate(obj, live client.Object) error {
	if err := w.ensureNamespace(obj); err != nil {
		return err
	}
	obj.SetGeneration(live.GetGeneration())
	obj.SetSelfLink("")
	w.prepareUpdate(obj, live)
	keepSystemFields(obj, live)
	if errs := w.validateUpdate(obj, live); len(errs) > 0 {
		return w.errInvalid(obj, errs)
	}
	w.warnings(obj, live)
	w.canonicalize(obj)
	return nil
}

// keepSystemFields ignores what an update says of times, and fills in the UID.
func keepSystemFields(obj, live metav1.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(live.GetUID())
	}
	if t := live.GetCreationTimestamp(); !t.IsZero() {
		obj.SetCreationTimestamp(t)
	}
	if t := live.GetDeletionTimestamp(); !t.IsZero() {
		obj.SetDeletionTimestamp(t)
	}
	if grace := live.GetDeletionGracePeriodSeconds(); grace != nil && obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(grace)
	}
}
