package envtest

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// createBinding binds a pod to a node, as the scheduler does.
func (s *Server) createBinding(c *call) (*answer, error) {
	obj, w, err := s.decodeBelow(c)
	if err != nil {
		return nil, err
	}
	binding := obj.(*corev1.Binding)
	if c.subresource == nil { // the old way, without a pod in the path
		w.name = binding.Name
		w.resource = s.resourceFor(pods)
	} else if w.name != binding.Name {
		return nil, errBadRequest("name in URL does not match name in Binding object")
	}
	if w.resource == nil {
		return nil, errNotServed()
	}
	if err := validateBinding(binding); err != nil {
		return nil, err
	}
	if err := s.bind(c.Context(), w, binding); err != nil {
		return nil, err
	}
	return done(), nil
}

func validateBinding(b *corev1.Binding) error {
	var errs field.ErrorList
	target := field.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	}
	if len(errs) == 0 {
		return nil // an empty aggregate is not a nil error
	}
	return errs.ToAggregate()
}

// bind writes the node into the pod. It is no update of a client's: who owns the
// field is not noted.
func (s *Server) bind(ctx context.Context, w *write, b *corev1.Binding) error {
	w.subresource = "binding"
	_, _, err := s.updateObject(ctx, w, change{uid: b.UID, next: func(live client.Object) (client.Object, error) {
		if b.ResourceVersion != "" && b.ResourceVersion != live.GetResourceVersion() {
			return nil, w.errConflict(errModified)
		}
		pod := live.(*corev1.Pod).DeepCopy()
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
		case pod.Spec.NodeName != "":
			return nil, fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		case len(pod.Spec.SchedulingGates) > 0:
			return nil, fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
		}
		pod.Spec.NodeName = b.Target.Name
		pod.Status.NominatedNodeName = ""
		pod.Annotations = overlaid(pod.Annotations, b.Annotations)
		pod.Labels = overlaid(pod.Labels, b.Labels)
		setPodCondition(&pod.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		return pod, nil
	}})
	if _, ok := errors.AsType[*apierrors.StatusError](err); err == nil || ok {
		return err
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, w.name, err)
}

// overlaid puts the second map over the first.
func overlaid(into, from map[string]string) map[string]string {
	if len(from) == 0 {
		return into
	}
	if into == nil {
		return maps.Clone(from)
	}
	maps.Copy(into, from)
	return into
}

// setPodCondition sets a condition; its time is that of the last change of its status.
func setPodCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	c.LastTransitionTime = now()
	for i := range status.Conditions {
		if status.Conditions[i].Type != c.Type {
			continue
		}
		if status.Conditions[i].Status == c.Status {
			c.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
