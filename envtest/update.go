package envtest

import (
	"net/http"

	"governor/client"
	"governor/envtest/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// update replaces an object, or what the path names below it.
func (s *Server) update(c *call) (*answer, error) {
	o := &metav1.UpdateOptions{}
	if err := c.decodeOptions(o); err != nil {
		return nil, err
	}
	if err := errOptions("UpdateOptions", validation.ValidateUpdateOptions(o)); err != nil {
		return nil, err
	}
	sent, err := s.decode(c, o.FieldValidation)
	if err != nil {
		return nil, err
	}
	w := c.newWrite(o.DryRun, o.FieldManager)
	w.options = o
	if err := w.ensureNamespace(sent); err != nil {
		return nil, err
	}
	if err := w.checkName(sent); err != nil {
		return nil, err
	}
	w.dropDuplicateOwners(sent, "")
	written, created, err := s.updateObject(c.Context(), w, change{
		uid:    sent.GetUID(),
		create: c.subresource == nil && strategyOf(c.resource).createOnUpdate,
		next: func(live client.Object) (client.Object, error) {
			next := sent.DeepCopyObject().(client.Object)
			return next, s.track(w, live, next)
		},
	})
	if err != nil {
		return nil, err
	}
	return s.written(w, written, created)
}

// written answers an update, or a patch, with what it has made.
func (s *Server) written(w *write, o *storage.Object, created bool) (*answer, error) {
	a := &answer{object: o}
	if created {
		a.code = http.StatusCreated
	}
	if w.subresource == "scale" {
		scale, err := w.scale(o)
		return &answer{value: scale}, err
	}
	return a, nil
}
