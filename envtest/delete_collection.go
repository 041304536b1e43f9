package envtest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// deleteCollection deletes the objects that a list with the same query has, one
// after the other, and answers with that list.
func (s *Server) deleteCollection(c *call) (*answer, error) {
	a, err := s.list(c)
	if err != nil {
		return nil, err
	}
	o, err := s.deleteOptions(c)
	if err != nil {
		return nil, err
	}
	c.newWrite(o.DryRun, "").warnOrphans(o)
	for _, object := range a.page.objects {
		w := c.newWrite(o.DryRun, "")
		w.options, w.collection = o, true
		w.namespace, w.name = object.Namespace, object.Name
		if _, _, err := s.deleteObject(c.Context(), w, o); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return a, nil
}
