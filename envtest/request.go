package envtest

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"governor/envtest/kinds"
	"governor/envtest/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// call is one resource request, understood: what the verbs' methods get.
//
// For the verbs of resources, by method of *Server: each gets a *call and returns an *answer, or an
// error (an apierrors.APIStatus, or any other, which becomes a 500).
type call struct {
	*http.Request
	w          http.ResponseWriter
	attributes Attributes
	resource   *kinds.Resource
	// subresource is what the path names below the object; nil for the object itself.
	subresource *kinds.Subresource
	// format is how the client wants the answer.
	format format
}

// answer is what a verb's method returns: one of its fields besides code. The pipeline
// converts to the version of the path, and encodes as the client wants it.
type answer struct {
	// code is the HTTP status; zero means 200.
	code int
	// object is written with its cache of encodings.
	object *storage.Object
	// value is any other object, of the kind that the path names: a Scale, an
	// Eviction, …
	value runtime.Object
	// page is what a list answers.
	page *page
	// status is a success without an object.
	status *metav1.Status
}

// stored is where the call's objects are.
func (c *call) stored() schema.GroupResource { return c.resource.Storage }

// namespace is that of the call's objects; empty if they have none, or for all of them.
func (c *call) namespace() string {
	if !c.resource.Namespaced {
		return "" // the path of a Namespace has its name in this place, too
	}
	return c.attributes.Namespace
}

// groupResource is what the path calls them, for errors.
func (c *call) groupResource() schema.GroupResource {
	return c.resource.GroupVersionResource.GroupResource()
}

// kind is what the path names: of the subresource, if it names one.
func (c *call) kind() schema.GroupVersionKind {
	if c.subresource != nil {
		return c.subresource.Kind
	}
	return c.resource.GroupVersionKind
}

// decodeOptions reads the query into options of version v1 (metav1.CreateOptions, …).
func (c *call) decodeOptions(into runtime.Object) error {
	if c.URL.RawQuery == "" {
		return nil
	}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(c.URL.Query(), metav1.SchemeGroupVersion, into); err != nil {
		return errBadRequest(err.Error())
	}
	return nil
}

// errNoPath: there is nothing at all under a path. It is answered in plain text.
var errNoPath = errors.New("404 page not found")

// newCall finds the resource that a request names, and how to answer. Which error comes
// first is as with the real server: is there such a path, does it take the
// method, can the answer be had in such a form.
func (s *Server) newCall(w http.ResponseWriter, r *http.Request, a Attributes) (*call, error) {
	c := &call{Request: r, w: w, attributes: a}
	c.resource = s.kinds.Lookup(schema.GroupVersionResource{Group: a.Group, Version: a.Version, Resource: a.Resource})
	if c.resource == nil {
		if builtinGroup(a.Group, s.kinds.All()) {
			return nil, errNotServed()
		}
		return nil, errNoPath
	}
	if err := c.checkPath(); err != nil {
		return nil, err
	}
	if c.resource.Custom != nil && c.resource.Custom.Warning != "" {
		c.warn(c.resource.Custom.Warning)
	}
	var err error
	c.format, err = c.negotiate()
	return c, err
}

// checkPath checks that the resource has the path, and that the path takes the method.
func (c *call) checkPath() error {
	a, parts := c.attributes, resourceParts(c.URL.Path)
	named := len(parts) > 1
	switch {
	case len(parts) > 3,
		!c.resource.Namespaced && a.Namespace != "" && a.Resource != "namespaces",
		c.resource.Namespaced && a.Namespace == "" && (named || c.resource.Custom != nil && a.Verb == "create"):
		return c.noPath()
	case len(parts) == 3:
		if c.subresource = c.resource.Subresources[a.Subresource]; c.subresource != nil {
			return c.checkMethod(c.subresource.Verbs)
		}
		if c.resource.Custom != nil {
			return apierrors.NewNotFound(c.groupResource(), a.Name)
		}
		return c.noPath()
	case named != takesName(a.Verb) && a.Verb != "watch",
		// Across namespaces one can read, no more.
		c.resource.Namespaced && a.Namespace == "" && a.Verb != "list" && a.Verb != "watch":
		return errMethodNotAllowed()
	}
	return c.checkMethod(c.resource.Verbs)
}

// noPath is the error for a path that a resource does not have.
func (c *call) noPath() error {
	if c.resource.Custom != nil {
		return errNoPath
	}
	return errNotServed()
}

func (c *call) checkMethod(verbs []string) error {
	if !slices.Contains(verbs, c.attributes.Verb) || c.Method == http.MethodHead {
		return errMethodNotAllowed()
	}
	return nil
}

// takesName says whether a verb is for one object, named by the path.
func takesName(verb string) bool {
	return verb == "get" || verb == "update" || verb == "patch" || verb == "delete"
}

// attributesOf says what a request asks for, by its method, path and query. Upstream:
// apiserver pkg/endpoints/request/requestinfo.go.
func attributesOf(r *http.Request) Attributes {
	a := Attributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	parts := pathParts(r.URL.Path)
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		a.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		a.Group, a.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return a
	}
	a.ResourceRequest = true
	a.Verb = verbs[r.Method]
	if parts[0] == "watch" && len(parts) > 1 { // deprecated, and still served
		a.Verb, parts = "watch", parts[1:]
	}
	a.Namespace, parts = splitNamespace(parts)
	a.Resource = parts[0]
	if len(parts) > 1 {
		a.Name = parts[1]
	}
	if len(parts) > 2 {
		a.Subresource = parts[2]
	}
	switch {
	case a.Name != "":
	case a.Verb == "get":
		a.Verb, a.Name = listOrWatch(r)
	case a.Verb == "delete":
		a.Verb = "deletecollection"
	}
	return a
}

// splitNamespace takes namespaces/NAME off a path, where more than that follows.
func splitNamespace(parts []string) (namespace string, rest []string) {
	if parts[0] != "namespaces" || len(parts) < 2 {
		return "", parts
	}
	if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		return parts[1], parts[2:]
	}
	return parts[1], parts // a Namespace itself, or what is below it
}

// resourceParts is what a resource request's path says after group, version and
// namespace: resource, name, subresource.
func resourceParts(path string) []string {
	parts := pathParts(path)
	if parts[0] == "api" {
		parts = parts[2:]
	} else {
		parts = parts[3:]
	}
	if parts[0] == "watch" && len(parts) > 1 {
		parts = parts[1:]
	}
	_, parts = splitNamespace(parts)
	return parts
}

// verbs are the API's verbs for a path with a name.
var verbs = map[string]string{
	http.MethodGet:    "get",
	http.MethodHead:   "get",
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// listOrWatch tells the two apart by the query, and finds the one name that a field
// selector may ask for.
func listOrWatch(r *http.Request) (verb, name string) {
	query := r.URL.Query()
	var o metainternal.ListOptions
	if err := metainternalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &o); err != nil {
		o = metainternal.ListOptions{}
		if v := query["watch"]; len(v) > 0 {
			o.Watch = !slices.Contains([]string{"false", "0"}, strings.ToLower(v[0]))
		}
	}
	verb = "list"
	if o.Watch {
		verb = "watch"
	}
	if o.FieldSelector != nil {
		if n, ok := o.FieldSelector.RequiresExactMatch("metadata.name"); ok && len(content.IsPathSegmentName(n)) == 0 {
			name = n
		}
	}
	return verb, name
}
