package replicator

import (
	"context"
	"encoding/json"
	"fmt"

	"governor/client"
	"governor/cmd/demo/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

const (
	// LabelReplicaUID marks a copy with the UID of its Replica. It, and
	// nothing else, makes an object a copy.
	LabelReplicaUID = "replicator.governor.dev/replica-uid"
	// AnnotationReplica names a copy's Replica as namespace/name, for people
	// and for the way from a copy's event to the Replica's key.
	AnnotationReplica = "replicator.governor.dev/replica"
	// FieldOwner owns the fields of copies on the server.
	FieldOwner = client.FieldOwner("replicator")
)

// isCopyOf says whether an object is a Replica's copy.
func isCopyOf(obj client.Object, replica *v1alpha1.Replica) bool {
	return obj.GetLabels()[LabelReplicaUID] == string(replica.UID)
}

// copier makes the copies of one Replica true.
type copier struct {
	*Reconciler
	replica *v1alpha1.Replica
	want    content
}

// ensure makes the copy in a namespace true, and says how it is then. An error
// is worth a retry; a state other than Copied without an error is not: an event
// will tell when it can change.
func (c *copier) ensure(ctx context.Context, namespace string) (state, message string, err error) {
	key := client.ObjectKey{Namespace: namespace, Name: c.replica.Spec.Source.Name}
	current, _ := newObject(c.replica.Spec.Source.Kind)
	err = c.client.Get(ctx, key, current)
	if apierrors.IsNotFound(err) {
		current, err = c.create(ctx, key)
	}
	if err == nil && isCopyOf(current, c.replica) {
		current, err = c.align(ctx, current)
	}
	switch {
	case err == nil && isCopyOf(current, c.replica):
		return v1alpha1.ReasonCopied, "", nil
	case err == nil:
		return v1alpha1.ReasonForeignObject, fmt.Sprintf("a %s of this name stands here that is no copy of this Replica", c.replica.Spec.Source.Kind), nil
	case apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return v1alpha1.ReasonWaiting, "the namespace is missing or on its way out", nil
	}
	return v1alpha1.ReasonCopyFailed, c.explain(err), err
}

// create makes a new copy, in one request that fails when something else has
// taken the name meanwhile: then it returns that, as the server has it, since
// the cache has not seen it yet.
func (c *copier) create(ctx context.Context, key client.ObjectKey) (client.Object, error) {
	obj, _ := newObject(c.replica.Spec.Source.Kind)
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetLabels(c.labels())
	obj.SetAnnotations(c.annotations())
	c.want.putInto(obj)
	err := c.client.Create(ctx, obj, FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return obj, c.live.Get(ctx, key, obj)
	}
	if err == nil {
		c.tell("write", "create %s", c.describe(key.Namespace))
	}
	return obj, err
}

// align makes an existing copy true.
func (c *copier) align(ctx context.Context, current client.Object) (client.Object, error) {
	have := contentOf(current)
	if have.equal(c.want) && current.GetAnnotations()[AnnotationReplica] == c.annotations()[AnnotationReplica] {
		return current, nil
	}
	if have.secretType != c.want.secretType {
		// The server lets nobody change the type of a Secret.
		if err := c.remove(ctx, current); err != nil {
			return current, err
		}
		return c.create(ctx, client.ObjectKeyFromObject(current))
	}
	applied, err := c.apply(ctx, current)
	if err != nil {
		return current, err
	}
	return current, c.prune(ctx, applied)
}

// apply writes the content by server-side apply. The UID makes the server
// refuse when the copy was replaced by something else meanwhile.
func (c *copier) apply(ctx context.Context, current client.Object) (client.Object, error) {
	var configuration runtime.ApplyConfiguration
	var read func() client.Object
	name, namespace := current.GetName(), current.GetNamespace()
	switch current.(type) {
	case *corev1.Secret:
		ac := corev1ac.Secret(name, namespace).WithUID(current.GetUID()).WithLabels(c.labels()).
			WithAnnotations(c.annotations()).WithData(c.want.bytes).WithType(c.want.secretType)
		configuration = ac
		read = func() client.Object {
			return &corev1.Secret{Data: ac.Data, ObjectMeta: metav1.ObjectMeta{ResourceVersion: *ac.ResourceVersion}}
		}
	default:
		ac := corev1ac.ConfigMap(name, namespace).WithUID(current.GetUID()).WithLabels(c.labels()).
			WithAnnotations(c.annotations()).WithData(c.want.text).WithBinaryData(c.want.bytes)
		configuration = ac
		read = func() client.Object {
			return &corev1.ConfigMap{Data: ac.Data, BinaryData: ac.BinaryData, ObjectMeta: metav1.ObjectMeta{ResourceVersion: *ac.ResourceVersion}}
		}
	}
	if err := c.client.Apply(ctx, configuration, FieldOwner, client.ForceOwnership); err != nil {
		return nil, err
	}
	c.tell("write", "apply %s", c.describe(namespace))
	applied := read()
	applied.SetName(name)
	applied.SetNamespace(namespace)
	return applied, nil
}

// prune removes the keys that others have added to a copy: apply leaves alone
// what another field owner has.
func (c *copier) prune(ctx context.Context, applied client.Object) error {
	text, bytes := c.want.surplus(contentOf(applied))
	if len(text)+len(bytes) == 0 {
		return nil
	}
	nulls := func(keys []string) map[string]any {
		m := map[string]any{}
		for _, key := range keys {
			m[key] = nil
		}
		return m
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": applied.GetResourceVersion()}}
	if _, secret := applied.(*corev1.Secret); secret {
		patch["data"] = nulls(bytes)
	} else {
		patch["data"], patch["binaryData"] = nulls(text), nulls(bytes)
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the removal of surplus keys: %w", err)
	}
	if err := c.client.Patch(ctx, applied, client.RawPatch(types.MergePatchType, data), FieldOwner); err != nil {
		return err
	}
	c.tell("write", "prune %s: %d keys that the source has not", c.describe(applied.GetNamespace()), len(text)+len(bytes))
	return nil
}

func (c *copier) labels() map[string]string {
	return map[string]string{LabelReplicaUID: string(c.replica.UID)}
}

func (c *copier) annotations() map[string]string {
	return map[string]string{AnnotationReplica: client.ObjectKeyFromObject(c.replica).String()}
}

func (c *copier) describe(namespace string) string {
	return fmt.Sprintf("%s %s/%s", c.replica.Spec.Source.Kind, namespace, c.replica.Spec.Source.Name)
}

// explain words an error for the status. The server's own words about a Secret
// are left out, since they may quote it.
func (c *copier) explain(err error) string {
	if c.replica.Spec.Source.Kind == v1alpha1.KindSecret {
		return fmt.Sprintf("the server refused the copy: %s", apierrors.ReasonForError(err))
	}
	return err.Error()
}

// remove deletes a copy, unless it has changed since it was read: it may have
// been handed over.
func (r *Reconciler) remove(ctx context.Context, obj client.Object) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := r.client.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err == nil {
		r.tell("write", "delete %s %s", kindOf(obj), client.ObjectKeyFromObject(obj))
	}
	return client.IgnoreNotFound(err)
}
