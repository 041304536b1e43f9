package envtest

import (
	"fmt"

	"governor/client"
	"governor/envtest/kinds"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// convert returns a stored object in the version of a resource: the object
// itself if it is stored in that, otherwise another one.
func (s *Server) convert(stored client.Object, to *kinds.Resource) (client.Object, error) {
	kind := to.GroupVersionKind
	if stored.GetObjectKind().GroupVersionKind().GroupVersion() == kind.GroupVersion() {
		return stored, nil
	}
	if u, ok := stored.(*unstructured.Unstructured); ok && to.Custom != nil {
		return to.Custom.Convert(u, kind.GroupVersion())
	}
	return nil, fmt.Errorf("%T is not served as %s", stored, kind)
}
