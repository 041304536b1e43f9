package replicator

import (
	"context"
	"errors"
	"fmt"

	"governor/client"
	"governor/cmd/demo/v1alpha1"
	"governor/controller"
	"governor/manager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Finalizer keeps a Replica until its copies have gone.
const Finalizer = "replicator.governor.dev/copies"

// Reconciler makes the copies of one Replica true.
type Reconciler struct {
	client client.Client // reads from the cache
	live   client.Reader // reads from the server
	events *manager.EventRecorder
	tell   func(station, format string, args ...any)
}

// Reconcile implements controller.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req controller.Request) (controller.Result, error) {
	replica := &v1alpha1.Replica{}
	if err := r.client.Get(ctx, req.NamespacedName, replica); err != nil {
		return controller.Result{}, client.IgnoreNotFound(err)
	}
	r.tell("reconcile", "Replica %s", req.NamespacedName)
	if !replica.DeletionTimestamp.IsZero() {
		return controller.Result{}, r.finalize(ctx, replica)
	}
	if err := r.setFinalizer(ctx, replica, controller.AddFinalizer); err != nil {
		return controller.Result{}, err
	}
	copies, trouble, err := r.converge(ctx, replica)
	if err != nil && copies == nil {
		return controller.Result{}, err // nothing is known that the status could say
	}
	return controller.Result{}, errors.Join(err, r.report(ctx, replica, copies, trouble))
}

// converge makes all copies true, as far as it can, and says how each of them
// is; or what keeps it from touching any.
func (r *Reconciler) converge(ctx context.Context, replica *v1alpha1.Replica) ([]v1alpha1.NamespaceStatus, *problem, error) {
	chosen, trouble := choose(replica)
	if trouble != nil {
		return nil, trouble, nil
	}
	want, trouble, err := r.source(ctx, replica)
	if trouble != nil || err != nil {
		return nil, trouble, err
	}
	targets, err := chosen.targets(ctx, r.client)
	if err != nil {
		return nil, nil, err
	}
	copies := make([]v1alpha1.NamespaceStatus, 0, len(targets))
	wanted := map[string]bool{}
	var errs []error
	c := &copier{Reconciler: r, replica: replica, want: want}
	for _, t := range targets {
		wanted[t.namespace] = true
		status := v1alpha1.NamespaceStatus{Namespace: t.namespace, State: v1alpha1.ReasonWaiting, Message: "the namespace is missing or on its way out"}
		if t.ready {
			var err error
			if status.State, status.Message, err = c.ensure(ctx, t.namespace); err != nil {
				errs = append(errs, fmt.Errorf("copy to namespace %s: %w", t.namespace, err))
			}
		}
		copies = append(copies, status)
	}
	keep := func(obj client.Object) bool {
		return wanted[obj.GetNamespace()] && kindOf(obj) == replica.Spec.Source.Kind && obj.GetName() == replica.Spec.Source.Name
	}
	errs = append(errs, r.removeCopies(ctx, replica, r.client, client.MatchingFields{indexReplicaUID: string(replica.UID)}, keep))
	return copies, nil, errors.Join(errs...)
}

// source reads what is to be copied.
func (r *Reconciler) source(ctx context.Context, replica *v1alpha1.Replica) (content, *problem, error) {
	obj, err := newObject(replica.Spec.Source.Kind)
	if err != nil {
		return content{}, &problem{v1alpha1.ReasonInvalidSource, err.Error()}, nil
	}
	key := client.ObjectKey{Namespace: replica.Namespace, Name: replica.Spec.Source.Name}
	if err := r.client.Get(ctx, key, obj); apierrors.IsNotFound(err) {
		return content{}, &problem{v1alpha1.ReasonSourceMissing,
			fmt.Sprintf("there is no %s %s; copies stay as they are", replica.Spec.Source.Kind, key)}, nil
	} else if err != nil {
		return content{}, nil, fmt.Errorf("read the source: %w", err)
	}
	want := contentOf(obj)
	if size := want.size(); size > MaxSourceBytes {
		return content{}, &problem{v1alpha1.ReasonSourceTooLarge,
			fmt.Sprintf("%s %s has %d bytes, more than the %d that can be copied; copies stay as they are", replica.Spec.Source.Kind, key, size, MaxSourceBytes)}, nil
	}
	return want, nil, nil
}

// removeCopies deletes the copies of a Replica that reader finds by selection and that keep does not want.
func (r *Reconciler) removeCopies(ctx context.Context, replica *v1alpha1.Replica, reader client.Reader, selection client.ListOption, keep func(client.Object) bool) error {
	var errs []error
	for _, list := range copyLists() {
		if err := reader.List(ctx, list, selection); err != nil {
			return fmt.Errorf("list copies: %w", err)
		}
		for _, obj := range copyItems(list) {
			if isCopyOf(obj, replica) && obj.GetDeletionTimestamp().IsZero() && !keep(obj) {
				errs = append(errs, r.remove(ctx, obj))
			}
		}
	}
	return errors.Join(errs...)
}

// finalize removes all copies, then the finalizer. It asks the server, not the
// cache, for them: a copy made a moment ago must not be forgotten.
func (r *Reconciler) finalize(ctx context.Context, replica *v1alpha1.Replica) error {
	if !controller.ContainsFinalizer(replica, Finalizer) {
		return nil
	}
	none := func(client.Object) bool { return false }
	if err := r.removeCopies(ctx, replica, r.live, client.MatchingLabels{LabelReplicaUID: string(replica.UID)}, none); err != nil {
		return err
	}
	return r.setFinalizer(ctx, replica, controller.RemoveFinalizer)
}

// setFinalizer adds or removes the finalizer. The patch carries the
// resourceVersion, since it replaces the whole list of finalizers.
func (r *Reconciler) setFinalizer(ctx context.Context, replica *v1alpha1.Replica, change func(client.Object, string) bool) error {
	before := replica.DeepCopy()
	if !change(replica, Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, replica, patch, FieldOwner); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell("write", "finalizers of Replica %s: %v", client.ObjectKeyFromObject(replica), replica.Finalizers)
	return nil
}
