package envtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"governor/client"
	"governor/envtest/kinds"
	"governor/envtest/storage"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// write is one write of one object: who changes what, and how. Every verb that
// writes makes one.
type write struct {
	resource    *kinds.Resource // in the version of the request
	subresource string          // "" for the object itself
	namespace   string
	name        string
	dryRun      bool
	manager     string // who owns the fields that it sets
	user        User
	warn        func(text string)
	options     runtime.Object // for webhooks, such as *metav1.UpdateOptions
	collection  bool           // one of many that a request is about: it names none
	unasked     bool           // what follows from a request about which webhooks have been asked
}

// newWrite returns the write that a call asks for.
func (c *call) newWrite(dryRun []string, fieldManager string) *write {
	return &write{
		resource:    c.resource,
		subresource: c.attributes.Subresource,
		namespace:   c.namespace(),
		name:        c.attributes.Name,
		dryRun:      len(dryRun) > 0,
		manager:     managerName(fieldManager, c.UserAgent()),
		user:        c.attributes.User,
		warn:        c.warn,
	}
}

// live returns a stored object in the version of the write, read only.
func (w *write) live(o *storage.Object) (client.Object, error) {
	return w.resource.Convert(o.Value, w.resource.GroupVersionKind.GroupVersion())
}

// stored returns an object in the version in which it is stored.
func (w *write) stored(obj client.Object) (client.Object, error) {
	return w.resource.Convert(obj, w.resource.StorageVersion)
}

func (w *write) errNotFound() error {
	return apierrors.NewNotFound(w.resource.GroupVersionResource.GroupResource(), w.name)
}

func (w *write) errConflict(err error) error {
	return apierrors.NewConflict(w.resource.GroupVersionResource.GroupResource(), w.name, err)
}

// errModified is what a client hears that writes on top of a state that has passed.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// errRace: somebody else has written in between: look again.
var errRace = errors.New("written by another request")

// change says how updateObject gets from the live state to the next.
type change struct {
	// next gets the live object in the version of the write, read only, and
	// returns the one to write, which is not shared with anyone. live is nil if
	// there is none, and create is set. It is called again when another request
	// was quicker.
	next func(live client.Object) (client.Object, error)
	// create: an object that is not there is created.
	create bool
	// uid that the live object must have; "" for any.
	uid types.UID
}

// updateObject is what update, patch, apply and the subresources have in common:
// it changes an object, or creates it, and says which; then it does what
// follows from that. What it returns may not be in the store: after a dry run, and when the update has
// taken the last finalizer off an object that was to be deleted.
func (s *Server) updateObject(ctx context.Context, w *write, change change) (o *storage.Object, created bool, err error) {
	before, o, err := s.updateOne(ctx, w, change)
	if err != nil {
		return nil, false, err
	}
	if !w.dryRun && o != before {
		s.settle(ctx, w.placeOf(o), before)
	}
	return o, before == nil, nil
}

// updateOne changes an object, and leaves to its caller what follows from that.
func (s *Server) updateOne(ctx context.Context, w *write, change change) (before, o *storage.Object, err error) {
	for {
		before = s.store.Get(w.resource.Storage, w.namespace, w.name)
		if before == nil && !change.create {
			return nil, nil, w.errNotFound()
		}
		o, err = s.tryUpdate(ctx, w, change, before)
		if !errors.Is(err, errRace) {
			return before, o, err
		}
	}
}

func (s *Server) tryUpdate(ctx context.Context, w *write, change change, current *storage.Object) (*storage.Object, error) {
	var live client.Object
	if current != nil {
		var err error
		if live, err = w.live(current); err != nil {
			return nil, err
		}
	}
	if err := w.checkUID(change.uid, live); err != nil {
		return nil, err
	}
	obj, err := w.next(change, live)
	if err != nil {
		return nil, err
	}
	if live == nil {
		wipeSystemFields(obj)
		obj.SetResourceVersion("") // which a create refuses, and an update ignores
		return s.tryCreate(ctx, w, obj)
	}
	if obj, err = s.mutate(ctx, w, obj, live); err != nil {
		return nil, err
	}
	setDefaults(obj) // of what webhooks and an apply have added
	w.dropDuplicateOwners(obj, " after mutating admission happens")
	if err := w.checkResourceVersion(obj, live); err != nil {
		return nil, err
	}
	if err := w.beforeUpdate(obj, live); err != nil {
		return nil, err
	}
	ignoreTimestamps(obj, live)
	if err := s.validate(ctx, w, obj, live); err != nil {
		return nil, err
	}
	return s.storeUpdate(w, obj, live, current)
}

// next asks for the next state of the live object; for a scale, by way of its Scale.
func (w *write) next(change change, live client.Object) (client.Object, error) {
	if w.subresource == "scale" {
		return w.nextScaled(change.next, live)
	}
	return change.next(live)
}

// mutate refuses what its namespace does not take, and lets webhooks change the
// rest. live is nil for a create.
func (s *Server) mutate(ctx context.Context, w *write, obj, live client.Object) (client.Object, error) {
	if live == nil && w.resource.Namespaced {
		if err := s.ledger.admits(w.resource, w.namespace, obj.GetName()); err != nil {
			return nil, err
		}
	}
	return s.askMutating(ctx, w, obj, live)
}

// validate lets webhooks refuse a write: a create (live is nil), an update, or a
// delete (obj is nil).
func (s *Server) validate(ctx context.Context, w *write, obj, live client.Object) error {
	if obj == nil && w.resource.Storage == namespaces && immortal(w.name) {
		return apierrors.NewForbidden(namespaces, w.name, errors.New("this namespace may not be deleted"))
	}
	return s.askValidating(ctx, w, obj, live)
}

// checkUID compares a precondition in the words of the server's storage.
func (w *write) checkUID(want types.UID, live client.Object) error {
	var have types.UID
	if live != nil {
		have = live.GetUID()
	}
	if want == "" || want == have {
		return nil
	}
	key := "/registry/" + w.resource.GroupVersionResource.Resource
	if w.resource.Custom != nil {
		key = "/registry/" + w.resource.GroupVersionResource.Group + "/" + w.resource.GroupVersionResource.Resource
	}
	if w.namespace != "" {
		key += "/" + w.namespace
	}
	return w.errConflict(fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s/%s, ResourceVersion: 0, "+
		"AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s", key, w.name, want, have))
}

// checkResourceVersion refuses what was not made from the live state. Some kinds
// may be updated without saying from what.
func (w *write) checkResourceVersion(obj, live client.Object) error {
	said := obj.GetResourceVersion()
	if said == live.GetResourceVersion() {
		return nil
	}
	var version uint64
	if said != "" {
		var err error
		if version, err = strconv.ParseUint(said, 10, 64); err != nil {
			return err
		}
	}
	if version != 0 {
		return w.errConflict(errModified)
	}
	if !unconditional(w.resource) {
		// The kind is left out here, as by the server.
		kind := w.resource.GroupVersionKind.GroupKind()
		kind.Kind = w.resource.GroupVersionResource.Resource
		return apierrors.NewInvalid(kind, w.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), version, "must be specified for an update"),
		})
	}
	obj.SetResourceVersion(live.GetResourceVersion())
	return nil
}

// storeUpdate writes an object on top of the state that it was made from.
func (s *Server) storeUpdate(w *write, obj, live client.Object, current *storage.Object) (*storage.Object, error) {
	remove := deleteDuringUpdate(obj, live)
	if !remove && sameObject(obj, live) {
		return current, nil
	}
	value, err := w.stored(obj)
	if err != nil {
		return nil, err
	}
	if w.dryRun {
		return storage.NewObject(w.resource.Storage, value, current.ResourceVersion), nil
	}
	if remove {
		if _, err := s.commit(w.resource, w.namespace, w.name, current, nil); err != nil {
			return nil, err
		}
		return storage.NewObject(w.resource.Storage, value, current.ResourceVersion), nil
	}
	return s.commit(w.resource, w.namespace, w.name, current, value)
}

// deleteDuringUpdate says whether an update has taken away what the deletion of
// an object was waiting for.
func deleteDuringUpdate(obj, live client.Object) bool {
	if len(obj.GetFinalizers()) > 0 || live.GetDeletionTimestamp() == nil || hasSpecFinalizers(obj) {
		return false
	}
	grace := live.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// sameObject says whether a write would change nothing, so that it is none.
func sameObject(obj, live client.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqualWithNilDifferentFromEmpty(u.Object, live.(*unstructured.Unstructured).Object)
	}
	return equality.Semantic.DeepEqual(obj, live)
}

// commit replaces current (nil: nothing) by value (nil: nothing), or returns
// errRace if current has passed. All writes of all objects come through here.
func (s *Server) commit(r *kinds.Resource, namespace, name string, current *storage.Object, value client.Object) (*storage.Object, error) {
	return s.store.Write(r.Storage, namespace, name, func(now *storage.Object) (client.Object, error) {
		if now != current {
			return nil, errRace
		}
		var old client.Object
		if current != nil {
			old = current.Value
		}
		if err := s.ledger.enter(r, namespace, name, old, value); err != nil {
			return nil, err
		}
		return value, nil
	})
}
