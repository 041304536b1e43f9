package envtest

import (
	"context"
	"net/http"

	"governor/envtest/kinds"
	"governor/envtest/storage"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Server is an API server in memory: an http.Handler.
type Server struct {
	scheme *scheme.Scheme
	store  *storage.Store
	kinds  *kinds.Registry
}

// Options tunes a Server. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// Authorizer decides who may do what; nil allows everything. RBAC(server) evaluates Role objects.
	Authorizer Authorizer
}

// NewServer returns a Server with the namespaces that every cluster has. It starts no goroutine.
func NewServer(o *Options) *Server { panic("skeleton") }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic("skeleton") }

// Config returns a configuration whose transport calls the server in process, as an administrator.
func (s *Server) Config() *rest.Config { panic("skeleton") }

// User is who makes a request.
type User struct {
	Name   string
	UID    string
	Groups []string
}

// Attributes is what a request asks for.
type Attributes struct {
	User                               User
	Verb, Group, Version, Resource     string
	Subresource, Namespace, Name, Path string
	ResourceRequest                    bool
}

// Authorizer decides whether a request may be made; reason is for the error's text.
type Authorizer func(ctx context.Context, a Attributes) (allowed bool, reason string)

// call is one resource request, understood: what the verbs' functions get.
type call struct {
	*http.Request
	attributes Attributes
	resource   *kinds.Resource
	// body is decoded by (*Server).decode; options by the verb.
	w http.ResponseWriter
}

// Verbs are methods that return what to answer: an object, a list or a *metav1.Status, and the HTTP code; or an error
// (apierrors.APIStatus or any other, which becomes a 500). The pipeline negotiates, converts to the request's version and encodes.
//
//	func (s *Server) get(c *call) (*answer, error)         reads.go
//	func (s *Server) list(c *call) (*answer, error)        list.go
//	func (s *Server) watch(c *call) error                  watch.go (writes the stream itself)
//	func (s *Server) create(c *call) (*answer, error)      create.go
//	func (s *Server) update(c *call) (*answer, error)      update.go
//	func (s *Server) patch(c *call) (*answer, error)       patch.go, apply.go
//	func (s *Server) delete(c *call) (*answer, error)      delete.go
//	func (s *Server) deleteCollection(c *call) (*answer, error)
type answer struct {
	code   int
	object *storage.Object // encoded with the cache of encodings
	status *v1.Status
}
