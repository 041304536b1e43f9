package envtest

import (
	"governor/envtest/storage"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
)

// page is a part of a list.
type page struct {
	objects         []*storage.Object
	resourceVersion uint64
	// next is the token of the next page; empty on the last one.
	next string
	// remaining is how many objects come after this page; nil if nobody counted.
	remaining *int64
}

// list answers with the objects of a resource, or of one namespace.
func (s *Server) list(c *call) (*answer, error) {
	var o metainternal.ListOptions
	if err := c.decodeOptions(&o); err != nil {
		return nil, err
	}
	objects, version, err := s.store.List(c.stored(), c.attributes.Namespace, 0)
	if err != nil {
		return nil, err
	}
	return &answer{page: &page{objects: objects, resourceVersion: version}}, nil
}
