package envtest

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// get answers with one object. Every read is of the last write: a
// resourceVersion only says what is too new.
func (s *Server) get(c *call) (*answer, error) {
	var o metav1.GetOptions
	if err := c.decodeOptions(&o); err != nil {
		return nil, err
	}
	if err := s.checkReached(o.ResourceVersion); err != nil {
		return nil, err
	}
	object := s.store.Get(c.stored(), c.attributes.Namespace, c.attributes.Name)
	if object == nil {
		return nil, apierrors.NewNotFound(c.groupResource(), c.attributes.Name)
	}
	return &answer{object: object}, nil
}

// checkReached refuses a resourceVersion that the server has not reached.
func (s *Server) checkReached(resourceVersion string) error {
	if resourceVersion == "" {
		return nil
	}
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return errInvalidVersion(resourceVersion, err)
	}
	if current := s.store.ResourceVersion(); v > current {
		return errTooLarge(v, current)
	}
	return nil
}
