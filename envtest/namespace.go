package envtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"governor/client"
	"governor/envtest/storage"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// immortal says whether a namespace cannot be deleted.
func immortal(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}

// firstNamespaces are there from the beginning.
var firstNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// createNamespaces creates the namespaces that every cluster has.
func (s *Server) createNamespaces() {
	r := s.resourceFor(namespaces)
	if r == nil {
		return // the scheme does not know any
	}
	for _, name := range firstNamespaces {
		w := &write{resource: r, name: name, manager: "kube-apiserver", warn: func(string) {}}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		ns.SetGroupVersionKind(r.GroupVersionKind)
		labelNamespace(ns)
		// As a field manager would write it; but to make one takes longer than all the rest of a start.
		t := now()
		ns.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: w.manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &t, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`),
		}}
		_, err := s.createObject(context.Background(), w, ns)
		if err != nil {
			panic("envtest: namespace " + name + ": " + err.Error()) // our own mistake
		}
	}
}

// planNamespace marks a namespace that is to be deleted; false if it is empty
// already, and may go as any other object.
func planNamespace(ns *corev1.Namespace, o *metav1.DeleteOptions) bool {
	if ns.DeletionTimestamp != nil {
		return len(ns.Spec.Finalizers) > 0
	}
	t := now()
	ns.DeletionTimestamp = &t
	ns.Status.Phase = corev1.NamespaceTerminating
	orphan, foreground := hasFinalizer(ns, metav1.FinalizerOrphanDependents), hasFinalizer(ns, metav1.FinalizerDeleteDependents)
	switch {
	case orphanDependents(o) != nil:
		orphan = *orphanDependents(o)
		foreground = !orphan
	case o.PropagationPolicy != nil:
		orphan = *o.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *o.PropagationPolicy == metav1.DeletePropagationForeground
	}
	setFinalizer(ns, metav1.FinalizerOrphanDependents, orphan)
	setFinalizer(ns, metav1.FinalizerDeleteDependents, foreground)
	return true
}

// setFinalizer puts a finalizer on an object, or takes it off.
func setFinalizer(obj client.Object, finalizer string, on bool) {
	switch has := hasFinalizer(obj, finalizer); {
	case on && !has:
		obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), finalizer))
	case !on && has:
		obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer }))
	}
}

// namespace goes on with the deletion of a namespace: it empties it, says in its
// status what is left, and lets it go when nothing is.
func (t *settling) namespace(ctx context.Context, o *storage.Object) error {
	ns, ok := o.Value.(*corev1.Namespace)
	if !ok {
		return nil
	}
	at := placeOf(o)
	if slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		left, err := t.empty(ctx, o.Name)
		if err != nil {
			return err
		}
		if err := t.update(ctx, at, "status", func(obj client.Object) error {
			left.report(&obj.(*corev1.Namespace).Status)
			return nil
		}); err != nil {
			return err
		}
		if len(left.objects) > 0 {
			return nil // those that go will have it looked at again
		}
		return t.update(ctx, at, "finalize", func(obj client.Object) error {
			spec := &obj.(*corev1.Namespace).Spec
			spec.Finalizers = slices.DeleteFunc(slices.Clone(spec.Finalizers), func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
			return nil
		})
	}
	switch {
	case hasFinalizer(ns, metav1.FinalizerDeleteDependents):
		return t.deleteDependents(ctx, o)
	case hasFinalizer(ns, metav1.FinalizerOrphanDependents):
		return t.orphanDependents(ctx, o)
	}
	return nil
}

// remains is what is left in a namespace, and what holds it.
type remains struct {
	objects    map[string]int // by resource
	finalizers map[string]int
}

// empty deletes what is in a namespace: pods first, and the rest when they are gone.
func (t *settling) empty(ctx context.Context, namespace string) (remains, error) {
	left := remains{map[string]int{}, map[string]int{}}
	if err := t.emptyOf(ctx, namespace, pods, left); err != nil || len(left.objects) > 0 {
		return left, err
	}
	done := map[schema.GroupResource]bool{{}: true, pods: true}
	for _, r := range t.server.kinds.All() {
		if !r.Namespaced || done[r.Storage] || !slices.Contains(r.Verbs, "delete") {
			continue
		}
		done[r.Storage] = true
		if err := t.emptyOf(ctx, namespace, r.Storage, left); err != nil {
			return left, err
		}
	}
	return left, nil
}

func (t *settling) emptyOf(ctx context.Context, namespace string, resource schema.GroupResource, left remains) error {
	objects, _, err := t.server.store.List(resource, namespace, 0)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.Value.GetDeletionTimestamp() == nil {
			if err := t.remove(ctx, o, metav1.DeletePropagationBackground); err != nil {
				return err
			}
		}
		if o = t.server.store.Get(resource, namespace, o.Name); o != nil {
			left.objects[resource.Resource+"."+resource.Group]++
			for _, finalizer := range o.Value.GetFinalizers() {
				left.finalizers[finalizer]++
			}
		}
	}
	return nil
}

// report says what is left, in conditions.
func (left remains) report(status *corev1.NamespaceStatus) {
	set := func(of corev1.NamespaceConditionType, bad bool, reason, message string) {
		c := corev1.NamespaceCondition{Type: of, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: now()}
		if bad {
			c.Status = corev1.ConditionTrue
		}
		i := slices.IndexFunc(status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == of })
		if i < 0 {
			status.Conditions = append(status.Conditions, c)
			return
		}
		if status.Conditions[i].Status == c.Status {
			c.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = c
	}
	set(corev1.NamespaceDeletionDiscoveryFailure, false, "ResourcesDiscovered", "All resources successfully discovered")
	set(corev1.NamespaceDeletionGVParsingFailure, false, "ParsedGroupVersions", "All legacy kube types successfully parsed")
	set(corev1.NamespaceDeletionContentFailure, false, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
	if len(left.objects) == 0 {
		set(corev1.NamespaceContentRemaining, false, "ContentRemoved", "All content successfully removed")
	} else {
		set(corev1.NamespaceContentRemaining, true, "SomeResourcesRemain", "Some resources are remaining: "+counts(left.objects, "%s has %d resource instances"))
	}
	if len(left.finalizers) == 0 {
		set(corev1.NamespaceFinalizersRemaining, false, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
	} else {
		set(corev1.NamespaceFinalizersRemaining, true, "SomeFinalizersRemain",
			"Some content in the namespace has finalizers remaining: "+counts(left.finalizers, "%s in %d resource instances"))
	}
}

// counts lists what there is, and how much of it.
func counts(of map[string]int, format string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		texts = append(texts, fmt.Sprintf(format, name, of[name]))
	}
	return strings.Join(texts, ", ")
}
