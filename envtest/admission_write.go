package envtest

import (
	"context"

	"governor/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// askMutating lets webhooks change what a write is about to do: make obj of live, which
// is nil for a create. It returns obj, or another object in its place.
func (s *Server) askMutating(ctx context.Context, w *write, obj, live client.Object) (client.Object, error) {
	a := w.admission(obj, live)
	if err := s.admitMutating(ctx, a); err != nil {
		return nil, err
	}
	return a.object, nil
}

// askValidating lets webhooks refuse what a write is about to do; obj is nil for a delete, about
// which the mutating ones are asked here too.
func (s *Server) askValidating(ctx context.Context, w *write, obj, live client.Object) error {
	a := w.admission(obj, live)
	if obj == nil {
		if err := s.admitMutating(ctx, a); err != nil {
			return err
		}
	}
	return s.admitValidating(ctx, a)
}

// admission is what webhooks are asked of a write.
func (w *write) admission(obj, live client.Object) *admission {
	a := &admission{
		operation:   admissionregistrationv1.Update,
		resource:    w.resource,
		subresource: w.subresource,
		kind:        w.resource.GroupVersionKind,
		namespace:   w.namespace,
		name:        w.name,
		object:      obj,
		old:         live,
		options:     w.options,
		dryRun:      w.dryRun,
		user:        w.user,
		warn:        w.warn,
	}
	switch {
	case obj == nil:
		a.operation = admissionregistrationv1.Delete
	case live == nil:
		a.operation = admissionregistrationv1.Create
		a.name = obj.GetName()
	}
	if isNamespace(a) {
		a.namespace = a.name
	}
	if obj != nil && w.subresource != "" {
		a.kind = obj.GetObjectKind().GroupVersionKind()
	}
	return a
}
