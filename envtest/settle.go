package envtest

import (
	"context"
	"slices"

	"governor/client"
	"governor/envtest/kinds"
	"governor/envtest/storage"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// settling does what follows from a write: what controllers do in a cluster, a
// moment later, is done here before the write is answered. Owners that went take
// their dependents along, namespaces that go are emptied, CustomResourceDefinitions
// are served. It ends when nothing follows any more; what has finalizers
// goes on with the write that takes them off.
type settling struct {
	server *Server
	queue  []task
	queued map[place]bool // the tasks in the queue that know nothing of before
}

// task is an object to look at. before is the state from which it has changed, or
// nil if something else has.
type task struct {
	place
	before *storage.Object
}

// settle does what follows from the write of one object: nothing, for most.
// before is nil if it is new.
func (s *Server) settle(ctx context.Context, at place, before *storage.Object) {
	t := &settling{server: s, queue: []task{{at, before}}, queued: map[place]bool{}}
	// Half of it must not be left undone because the client has gone.
	ctx = context.WithoutCancel(ctx)
	for len(t.queue) > 0 {
		next := t.queue[0]
		t.queue = t.queue[1:]
		if next.before == nil {
			delete(t.queued, next.place)
		}
		if err := t.look(ctx, next); err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "What follows from a write could not be done",
				"resource", next.resource.String(), "namespace", next.namespace, "name", next.name)
		}
	}
}

// hasConsequences says whether anything can follow from there being a new object: what has no
// owner, and nothing of its own below it, is the end of it.
func hasConsequences(o *storage.Object) bool {
	return o.Resource == definitions || o.Resource == namespaces ||
		len(o.Value.GetOwnerReferences()) > 0 || o.Value.GetDeletionTimestamp() != nil
}

// push has an object looked at, once.
func (t *settling) push(at place) {
	if !t.queued[at] {
		t.queued[at] = true
		t.queue = append(t.queue, task{place: at})
	}
}

func (t *settling) changed(at place, before, after *storage.Object) {
	if before != after {
		t.queue = append(t.queue, task{at, before})
	}
}

// look sees what has become of an object, and what follows from it.
func (t *settling) look(ctx context.Context, next task) error {
	before := next.before
	now := t.server.store.Get(next.resource, next.namespace, next.name)
	if before != nil && (now == nil || now.Value.GetUID() != before.Value.GetUID()) {
		t.gone(before)
		before = nil
	}
	if now == nil {
		return nil
	}
	obj := now.Value
	switch next.resource {
	case definitions:
		return t.definition(ctx, now)
	case namespaces:
		if obj.GetDeletionTimestamp() != nil {
			return t.namespace(ctx, now)
		}
	}
	owners := obj.GetOwnerReferences()
	newOwners := before == nil && len(owners) > 0
	if before != nil && !equality.Semantic.DeepEqual(owners, before.Value.GetOwnerReferences()) {
		newOwners = len(owners) > 0
		t.pushOwners(before)
	}
	switch {
	case obj.GetDeletionTimestamp() != nil && hasFinalizer(obj, metav1.FinalizerDeleteDependents):
		return t.deleteDependents(ctx, now)
	case obj.GetDeletionTimestamp() != nil && hasFinalizer(obj, metav1.FinalizerOrphanDependents):
		return t.orphanDependents(ctx, now)
	case obj.GetDeletionTimestamp() == nil && newOwners:
		return t.collect(ctx, now)
	}
	return nil
}

// gone has all those looked at that an object held up, or held.
func (t *settling) gone(o *storage.Object) {
	for _, dependent := range t.server.ledger.dependentsOf(o.Value.GetUID()) {
		t.push(dependent)
	}
	t.pushOwners(o)
	if o.Namespace != "" && t.server.ledger.terminating(o.Namespace) {
		t.push(place{resource: namespaces, name: o.Namespace})
	}
	if o.Resource == definitions {
		t.server.undefine(o)
		t.reconsider(o.Name)
	} else if r := t.server.resourceFor(o.Resource); r != nil && r.Custom != nil && r.Custom.Terminating {
		t.push(place{resource: definitions, name: o.Resource.String()})
	}
}

// pushOwners has those owners looked at that are waiting for their dependents.
func (t *settling) pushOwners(o *storage.Object) {
	for _, ref := range o.Value.GetOwnerReferences() {
		at, ok := t.server.ownerPlace(o.Namespace, ref)
		if !ok {
			continue
		}
		owner := t.server.store.Get(at.resource, at.namespace, at.name)
		if owner != nil && owner.Value.GetUID() == ref.UID && waitsForDependents(owner.Value) {
			t.push(at)
		}
	}
}

func waitsForDependents(obj client.Object) bool {
	return obj.GetDeletionTimestamp() != nil && hasFinalizer(obj, metav1.FinalizerDeleteDependents)
}

// ownerPlace is where the owner of an object in a namespace should be; false if
// its kind is not served, or if it cannot own such an object.
func (s *Server) ownerPlace(namespace string, ref metav1.OwnerReference) (place, bool) {
	r := s.kinds.ForKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if r == nil || r.Namespaced && namespace == "" {
		return place{}, false
	}
	at := place{resource: r.Storage, name: ref.Name}
	if r.Namespaced {
		at.namespace = namespace
	}
	return at, true
}

// resourceFor returns a resource by where its objects are stored, best in the
// version in which they are; nil if it is not served.
func (s *Server) resourceFor(stored schema.GroupResource) *kinds.Resource {
	all := s.kinds.All()
	if i := slices.IndexFunc(all, func(r *kinds.Resource) bool {
		return r.Storage == stored && r.GroupVersionKind.GroupVersion() == r.StorageVersion
	}); i >= 0 {
		return all[i]
	}
	if i := slices.IndexFunc(all, func(r *kinds.Resource) bool { return r.Storage == stored }); i >= 0 {
		return all[i]
	}
	return nil
}

// controllerManager is who makes the writes that follow from others.
const controllerManager = "kube-controller-manager"

// managerFor is who does so to a resource: CustomResourceDefinitions are the API
// server's own affair.
func managerFor(resource schema.GroupResource) string {
	if resource == definitions {
		return "kube-apiserver"
	}
	return controllerManager
}

// write returns a write of the server's own.
func (t *settling) write(at place, subresource string) (*write, error) {
	r := t.server.resourceFor(at.resource)
	if r == nil {
		return nil, apierrors.NewNotFound(at.resource, at.name)
	}
	return &write{
		resource:    r,
		subresource: subresource,
		namespace:   at.namespace,
		name:        at.name,
		manager:     managerFor(at.resource),
		user:        User{Name: "system:" + controllerManager, Groups: []string{"system:authenticated"}},
		warn:        func(string) {},
	}, nil
}

// update changes an object of the server's own accord, as it is now.
func (t *settling) update(ctx context.Context, at place, subresource string, edit func(obj client.Object) error) error {
	w, err := t.write(at, subresource)
	if err != nil {
		return err
	}
	before, after, err := t.server.updateOne(ctx, w, change{next: func(live client.Object) (client.Object, error) {
		next := live.DeepCopyObject().(client.Object)
		if err := edit(next); err != nil {
			return nil, err
		}
		return next, t.server.track(w, live, next)
	}})
	if err == nil {
		t.changed(at, before, after)
	}
	return err
}

// remove deletes an object of the server's own accord, if it is still the one that is meant.
func (t *settling) remove(ctx context.Context, o *storage.Object, propagation metav1.DeletionPropagation) error {
	at := place{o.Resource, o.Namespace, o.Name}
	w, err := t.write(at, "")
	if err != nil {
		return err
	}
	uid := o.Value.GetUID()
	before, after, _, err := t.server.deleteOne(ctx, w, &metav1.DeleteOptions{
		PropagationPolicy: &propagation,
		Preconditions:     &metav1.Preconditions{UID: &uid},
	})
	if err == nil {
		t.changed(at, before, after)
	}
	return err
}
