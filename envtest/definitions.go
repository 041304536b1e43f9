package envtest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"governor/client"
	"governor/envtest/kinds"
	"governor/envtest/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// cleanup holds a CustomResourceDefinition until its objects are gone.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// planDefinition marks a CustomResourceDefinition that is to be deleted.
func planDefinition(crd *unstructured.Unstructured) {
	t := now()
	crd.SetDeletionTimestamp(&t)
	setFinalizer(crd, cleanup, true)
	setDefinitionCondition(crd, "Terminating", "True", "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")
}

// setDefinitionCondition sets a condition; its time is that of the last change of its status.
func setDefinitionCondition(crd *unstructured.Unstructured, of, status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	c := map[string]any{
		"type": of, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": now().UTC().Format("2006-01-02T15:04:05Z"),
	}
	for i := range conditions {
		old, ok := conditions[i].(map[string]any)
		if !ok || old["type"] != of {
			continue
		}
		if old["status"] == status {
			c["lastTransitionTime"] = old["lastTransitionTime"]
		}
		conditions[i] = c
		c = nil
	}
	if c != nil {
		conditions = append(conditions, c)
	}
	// It fails only if the status is no object, which validation excludes.
	_ = unstructured.SetNestedSlice(crd.Object, conditions, "status", "conditions")
}

// definition does what the controllers of CustomResourceDefinitions do: it accepts
// the names, has it served, and says so; or ends that.
func (t *settling) definition(ctx context.Context, o *storage.Object) error {
	crd, ok := o.Value.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if crd.GetDeletionTimestamp() != nil {
		return t.terminate(ctx, o, crd)
	}
	accepted, err := t.server.kinds.AcceptNames(crd)
	if accepted != crd {
		t.reconsider(o.Name)              // a name may be free now
		return t.status(ctx, o, accepted) // and it is looked at again
	}
	if err == nil {
		established, err := kinds.Establish(crd)
		if err != nil {
			return err
		}
		if established != crd {
			if err := t.server.kinds.SetCRD(established); err != nil {
				return err
			}
			return t.status(ctx, o, established)
		}
	}
	err = t.server.kinds.SetCRD(crd)
	if conflict := (*kinds.NameConflict)(nil); errors.As(err, &conflict) {
		return nil // its status says so
	}
	return err
}

// reconsider has the other CustomResourceDefinitions of a group looked at.
func (t *settling) reconsider(name string) {
	_, group, _ := strings.Cut(name, ".")
	all, _, err := t.server.store.List(definitions, "", 0)
	if err != nil {
		return // only for the past
	}
	for _, o := range all {
		if _, other, _ := strings.Cut(o.Name, "."); other == group && o.Name != name {
			t.push(placeOf(o))
		}
	}
}

// status writes a status that the server has made.
func (t *settling) status(ctx context.Context, o *storage.Object, with *unstructured.Unstructured) error {
	return t.update(ctx, placeOf(o), "status", func(obj client.Object) error {
		obj.(*unstructured.Unstructured).Object["status"] = with.DeepCopy().Object["status"]
		return nil
	})
}

// terminate deletes the objects of a CustomResourceDefinition, and lets it go when
// none is left.
func (t *settling) terminate(ctx context.Context, o *storage.Object, crd *unstructured.Unstructured) error {
	if !hasFinalizer(crd, cleanup) {
		return nil
	}
	if err := t.server.kinds.SetCRD(crd); err != nil {
		return err
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	resource := schema.GroupResource{Group: group, Resource: plural}
	if marked := crd.DeepCopy(); !deletionInProgress(crd) {
		setDefinitionCondition(marked, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
		return t.status(ctx, o, marked) // and it is looked at again
	}
	objects, _, err := t.server.store.List(resource, "", 0)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.Value.GetDeletionTimestamp() != nil {
			continue
		}
		if err := t.remove(ctx, object, metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	if left, _, err := t.server.store.List(resource, "", 0); err != nil || len(left) > 0 {
		return err // those that go will have it looked at again
	}
	return t.release(ctx, placeOf(o), cleanup)
}

// deletionInProgress says whether a CustomResourceDefinition's status says that
// its objects are being deleted.
func deletionInProgress(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Terminating" && condition["reason"] == "InstanceDeletionInProgress"
	})
}

// undefine ends what a CustomResourceDefinition has defined, which is gone.
func (s *Server) undefine(o *storage.Object) {
	crd, ok := o.Value.(*unstructured.Unstructured)
	if !ok {
		return
	}
	s.kinds.RemoveCRD(o.Name)
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	s.store.Drop(schema.GroupResource{Group: group, Resource: plural})
}
