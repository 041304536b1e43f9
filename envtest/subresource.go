package envtest

import (
	"net/http"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var bindings = schema.GroupVersionResource{Version: "v1", Resource: "bindings"}

// createBelow does what a create below an object means.
func (s *Server) createBelow(c *call) (*answer, error) {
	switch c.attributes.Subresource {
	case "eviction":
		return s.createEviction(c)
	case "binding":
		return s.createBinding(c)
	case "token":
		return s.createToken(c)
	}
	return nil, errMethodNotAllowed() // what would need a node
}

// decodeBelow reads what a create below an object is sent. A wrong namespace is refused.
func (s *Server) decodeBelow(c *call) (client.Object, *write, error) {
	o, err := c.createOptions()
	if err != nil {
		return nil, nil, err
	}
	obj, err := s.decode(c, o.FieldValidation)
	if err != nil {
		return nil, nil, err
	}
	w := c.newWrite(o.DryRun, o.FieldManager)
	w.options = o
	if err := w.ensureNamespace(obj); err != nil {
		return nil, nil, err
	}
	if err := s.ledger.admits(c.resource, w.namespace, obj.GetName()); err != nil {
		return nil, nil, err
	}
	if obj, err = s.askMutating(c.Context(), w, obj, nil); err != nil {
		return nil, nil, err
	}
	if err := s.askValidating(c.Context(), w, obj, nil); err != nil {
		return nil, nil, err
	}
	w.unasked = true
	return obj, w, nil
}

// done answers what has no object to show.
func done() *answer {
	return &answer{code: http.StatusCreated, status: &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}}
}
