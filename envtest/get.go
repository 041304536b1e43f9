package envtest

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// get answers with one object. Every read is of the last write: a
// resourceVersion only says what is too new.
func (s *Server) get(c *call) (*answer, error) {
	var o metav1.GetOptions
	if v := c.URL.Query()["export"]; len(v) > 0 && v[0] != "false" && v[0] != "0" {
		return nil, errBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	if err := c.decodeOptions(&o); err != nil {
		return nil, err
	}
	if err := s.checkReached(o.ResourceVersion); err != nil {
		return nil, err
	}
	object := s.store.Get(c.stored(), c.namespace(), c.attributes.Name)
	if object == nil {
		return nil, apierrors.NewNotFound(c.groupResource(), c.attributes.Name)
	}
	if c.attributes.Subresource == "scale" {
		return s.getScale(c, object)
	}
	return &answer{object: object}, nil
}

// checkReached refuses a resourceVersion that the server has not reached.
func (s *Server) checkReached(resourceVersion string) error {
	v, err := parseVersion(resourceVersion)
	if err != nil {
		return err
	}
	if current := s.store.ResourceVersion(); v > current {
		return errTooLarge(v, current)
	}
	return nil
}

// parseVersion reads a resourceVersion that a client sent; none is zero.
func parseVersion(resourceVersion string) (uint64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", resourceVersion, err)
	}
	return v, nil
}

// formatVersion is a resourceVersion as clients see it.
func formatVersion(resourceVersion uint64) string { return strconv.FormatUint(resourceVersion, 10) }
