package envtest

import (
	"cmp"
	"context"
	"errors"

	"governor/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Where the webhooks are configured.
var (
	mutatingWebhooks   = schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "mutatingwebhookconfigurations"}
	validatingWebhooks = schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "validatingwebhookconfigurations"}
)

// hasAny says whether there is an object of a resource.
func (s *Server) hasAny(resource schema.GroupResource) bool {
	snapshot, err := s.store.Snapshot(resource, 0)
	return err == nil && snapshot.Len("", "") > 0
}

// askMutating lets webhooks change what a write is about to do: make obj of live, which
// is nil for a create. It returns obj, or another object in its place.
func (s *Server) askMutating(ctx context.Context, w *write, obj, live client.Object) (client.Object, error) {
	if w.unasked || !s.hasAny(mutatingWebhooks) {
		return obj, nil
	}
	a, err := w.admission(obj, live)
	if err != nil {
		return nil, err
	}
	asked := a.object
	if err := s.admitMutating(ctx, a); err != nil {
		return nil, err
	}
	scale, ok := a.object.(*autoscalingv1.Scale)
	switch {
	case a.object == asked:
		return obj, nil
	case ok:
		return obj, setReplicas(w.resource, obj, scale.Spec.Replicas)
	}
	return a.object, nil
}

// askValidating lets webhooks refuse what a write is about to do; obj is nil for a delete, about
// which the mutating ones are asked here too.
func (s *Server) askValidating(ctx context.Context, w *write, obj, live client.Object) error {
	if w.unasked || !s.hasAny(validatingWebhooks) && !(obj == nil && s.hasAny(mutatingWebhooks)) {
		return nil
	}
	a, err := w.admission(obj, live)
	if err != nil {
		return err
	}
	if obj == nil {
		if err := s.admitMutating(ctx, a); err != nil {
			return err
		}
	}
	return s.admitValidating(ctx, a)
}

// admission is what webhooks are asked of a write.
func (w *write) admission(obj, live client.Object) (*admission, error) {
	a := &admission{
		operation:   admissionregistrationv1.Update,
		resource:    w.resource,
		subresource: w.subresource,
		kind:        w.resource.GroupVersionKind,
		namespace:   w.namespace,
		name:        w.name,
		object:      obj,
		old:         live,
		dryRun:      w.dryRun,
		user:        w.user,
		warn:        w.warn,
	}
	switch {
	case obj == nil:
		a.operation = admissionregistrationv1.Delete
	case live == nil:
		a.operation = admissionregistrationv1.Create
		a.name = cmp.Or(w.name, obj.GetName())
	}
	a.options = optionsOf(w.options, a.operation)
	if isNamespace(a) {
		a.namespace = a.name
	}
	if w.collection {
		a.name = ""
	}
	if w.subresource == "scale" {
		scale, _, err1 := scaleOf(w.resource, obj)
		old, _, err2 := scaleOf(w.resource, live)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		a.object, a.old = scale, old
	}
	if a.object != nil && w.subresource != "" {
		a.kind = a.object.GetObjectKind().GroupVersionKind()
	}
	return a, nil
}

// optionsOf returns the options of a request with their kind. A patch's are those
// of what it turns out to be.
func optionsOf(options runtime.Object, operation admissionregistrationv1.OperationType) runtime.Object {
	if patch, ok := options.(*metav1.PatchOptions); ok {
		if operation == admissionregistrationv1.Create {
			options = &metav1.CreateOptions{DryRun: patch.DryRun, FieldManager: patch.FieldManager, FieldValidation: patch.FieldValidation}
		} else {
			options = &metav1.UpdateOptions{DryRun: patch.DryRun, FieldManager: patch.FieldManager, FieldValidation: patch.FieldValidation}
		}
	}
	kind := ""
	switch options.(type) {
	case nil:
		return nil
	case *metav1.CreateOptions:
		kind = "CreateOptions"
	case *metav1.UpdateOptions:
		kind = "UpdateOptions"
	case *metav1.DeleteOptions:
		kind = "DeleteOptions"
	}
	options = options.DeepCopyObject()
	options.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: kind})
	return options
}
