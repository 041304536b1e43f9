package envtest

import (
	"net/http"
	"sync"

	"governor/envtest/kinds"
	"governor/envtest/storage"
	"governor/scheme"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Server is an API server in memory: an http.Handler.
type Server struct {
	scheme *scheme.Scheme
	// options knows DeleteOptions under every version under which clients send it:
	// kubectl's is of meta.k8s.io/v1.
	options *scheme.Scheme
	formats []runtime.SerializerInfo // of the scheme
	store   *storage.Store
	kinds   *kinds.Registry
	ledger  ledger // what each write has to know of other objects
	shapes  shapes

	// What requests pass before their verb; see ServeHTTP.
	authorizer Authorizer // nil: allows everything
	rbac       bool
	users      users
	admin      *rest.Config
	modes      sync.Map // how users last impersonated others, by their names; see impersonate
	requests   requests
	frost      frost
	faults     faults
	watches    watches
	webhooks   webhooks
}

// Options tunes a Server. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme has the built-in kinds that are served; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// RBAC refuses what no Role or ClusterRole in the server allows. The package's
	// documentation says what it leaves out.
	RBAC bool
	// Authorizer refuses more, or all by itself; nil refuses nothing.
	Authorizer Authorizer
	// ResolveService finds the host:port of a webhook's service; nil finds none. A
	// handler of HandleWebhook comes first.
	ResolveService func(namespace, name string, port int32) (address string, err error)
	// History is how many changes of each resource are kept at least, for watches
	// and for lists of the past; zero means 10,000.
	History int
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

func (o *Options) scheme() *scheme.Scheme {
	if s := o.orZero().Scheme; s != nil {
		return s
	}
	return scheme.Builtin()
}

// NewServer returns a Server with the namespaces that every cluster has. It starts no goroutine.
func NewServer(o *Options) *Server {
	s := &Server{
		scheme:     o.scheme(),
		options:    optionsScheme(),
		formats:    o.scheme().Codecs().SupportedMediaTypes(),
		store:      storage.New(&storage.Options{History: o.orZero().History}),
		authorizer: o.orZero().Authorizer,
		rbac:       o.orZero().RBAC,
	}
	s.kinds = kinds.New(s.scheme, &kinds.Options{Webhook: s.webhooks.call})
	s.webhooks.resolve = o.orZero().ResolveService
	s.admin = s.AddUser("admin", administrators)
	s.createNamespaces()
	if s.rbac {
		s.installPolicy()
	}
	return s
}

// optionsScheme returns what DeleteOptions in a body are decoded with.
func optionsScheme() *scheme.Scheme {
	s := scheme.Builtin()
	err := s.Install(func(known *runtime.Scheme) error {
		metav1.AddToGroupVersion(known, metav1.SchemeGroupVersion)
		return nil
	})
	if err != nil {
		panic(err) // these types are in no other scheme's way
	}
	return s
}

// Config returns a configuration whose transport calls the server in process, as an administrator.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.admin) }

// serve answers a request that may be made.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, attributes Attributes) {
	if !attributes.ResourceRequest {
		s.serveNonResource(w, r)
		return
	}
	c, err := s.newCall(w, r, attributes)
	switch {
	case err == errNoPath:
		http.NotFound(w, r)
		return
	case err != nil:
		s.writeError(w, r, err)
		return
	}
	a, err := s.dispatch(c)
	switch {
	case err != nil:
		s.writeError(w, r, err)
	case a != nil: // nil: the verb has answered by itself
		s.writeAnswer(c, a)
	}
}

// dispatch calls the method of the call's verb. Those of subresources that are no part
// of the object (scale, eviction, token, binding, …) have methods of their own.
func (s *Server) dispatch(c *call) (*answer, error) {
	switch c.attributes.Verb {
	case "get":
		return s.get(c)
	case "list":
		return s.list(c)
	case "watch":
		return s.watch(c)
	case "create":
		return s.create(c)
	case "update":
		return s.update(c)
	case "patch":
		return s.patch(c)
	case "delete":
		return s.delete(c)
	case "deletecollection":
		return s.deleteCollection(c)
	default:
		return nil, errMethodNotAllowed()
	}
}
