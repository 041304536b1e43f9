package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"governor/client/decode"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Resource is one kind, in one form, at one server. It is never changed, so
// that any number of goroutines may use it.
type Resource struct {
	gvk     schema.GroupVersionKind
	form    Form
	mapping *meta.RESTMapping
	client  rest.Interface
	scheme  *scheme.Scheme
	format  format
	// timeout bounds one request that is not a watch; zero means no bound.
	timeout time.Duration
}

// GroupVersionKind returns the kind.
func (r *Resource) GroupVersionKind() schema.GroupVersionKind { return r.gvk }

// Form returns the form in which objects are handed over.
func (r *Resource) Form() Form { return r.form }

// Namespaced says whether the kind lives in namespaces.
func (r *Resource) Namespaced() bool {
	return r.mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// versionV1 is the version in which all query parameters are spelled.
var versionV1 = schema.GroupVersion{Version: "v1"}

// request begins a request in one namespace, or in all of them.
func (r *Resource) request(verb, namespace string) *rest.Request {
	return r.client.Verb(verb).
		SetHeader("Accept", r.format.accept).
		Timeout(r.timeout).
		NamespaceIfScoped(namespace, r.Namespaced()).
		Resource(r.mapping.Resource.Resource)
}

// collection begins a request that is answered with many objects.
func (r *Resource) collection(verb, namespace string) *rest.Request {
	return r.request(verb, namespace).SetHeader("Accept", r.format.acceptList)
}

// named begins a request for one object.
func (r *Resource) named(verb string, key ObjectKey) (*rest.Request, error) {
	if key.Name == "" {
		return nil, fmt.Errorf("the name is empty")
	}
	if err := r.checkNamespace(key.Namespace); err != nil {
		return nil, err
	}
	return r.request(verb, key.Namespace).Name(key.Name), nil
}

// checkNamespace refuses to address an object that lives in a namespace
// without saying in which.
func (r *Resource) checkNamespace(namespace string) error {
	if r.Namespaced() && namespace == "" {
		return fmt.Errorf("the namespace is empty, and %s lives in namespaces", r.gvk.Kind)
	}
	return nil
}

// checkSelection refuses to take "in this namespace" for "all of them".
func (r *Resource) checkSelection(namespace string) error {
	if !r.Namespaced() && namespace != "" {
		return fmt.Errorf("InNamespace(%q) is given, but %s does not live in namespaces", namespace, r.gvk.Kind)
	}
	return nil
}

// params adds options to the query.
func params(req *rest.Request, opts runtime.Object) *rest.Request {
	return req.SpecificallyVersionedParams(opts, metav1.ParameterCodec, versionV1)
}

// body adds an object to the request, with apiVersion and kind whatever its
// TypeMeta says.
func (r *Resource) body(req *rest.Request, obj runtime.Object) (*rest.Request, error) {
	data, err := runtime.Encode(r.format.encoder, withKind(obj, r.gvk))
	if err != nil {
		return nil, err
	}
	return req.SetHeader("Content-Type", r.format.contentType).Body(data), nil
}

// deleteBody adds what a delete is to do. It is JSON for every kind.
func deleteBody(req *rest.Request, o *DeleteOptions) (*rest.Request, error) {
	data, err := json.Marshal(&metav1.DeleteOptions{
		TypeMeta:           metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		GracePeriodSeconds: o.GracePeriodSeconds,
		Preconditions:      o.Preconditions,
		PropagationPolicy:  o.PropagationPolicy,
		DryRun:             o.DryRun,
	})
	if err != nil {
		return nil, err
	}
	return req.SetHeader("Content-Type", mediaJSON).Body(data), nil
}

// patchBody adds a patch to the request.
func patchBody(req *rest.Request, patchType types.PatchType, data []byte) *rest.Request {
	return req.SetHeader("Content-Type", string(patchType)).Body(data)
}

// do sends a request and returns the reply's bytes. An error that the server
// describes with a Status is an *apierrors.StatusError.
func do(ctx context.Context, req *rest.Request) ([]byte, error) {
	var after retryAfter
	res := req.Do(after.listening(ctx))
	if err := res.Error(); err != nil {
		return nil, after.complete(err)
	}
	return res.Raw()
}

// doInto sends a request and replaces obj by the reply, with the kind set. It
// returns the reply's bytes, also beside an error that is about what they say.
func (r *Resource) doInto(ctx context.Context, req *rest.Request, obj Object) ([]byte, error) {
	data, err := do(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := decodeInto(data, obj, r.checkKind); err != nil {
		return data, err
	}
	obj.GetObjectKind().SetGroupVersionKind(r.gvk)
	return data, nil
}

// newObject returns an empty object of the kind, in the form.
func (r *Resource) newObject() (Object, error) {
	switch r.form {
	case Unstructured:
		return &unstructured.Unstructured{}, nil
	case MetadataOnly:
		return &metav1.PartialObjectMetadata{}, nil
	}
	obj, err := r.scheme.New(r.gvk)
	if err != nil {
		return nil, err
	}
	o, ok := obj.(Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata: it is not an object that can be read", obj)
	}
	return o, nil
}

// NewDecoder returns a Decoder for one ListWatch of this Resource. It is nil,
// which a ListWatch takes for none, if the kind has no Go type that can be read.
func (r *Resource) NewDecoder(o *decode.Options) *decode.Decoder {
	if _, err := r.newObject(); err != nil {
		return nil
	}
	return decode.New(func() decode.Object {
		obj, _ := r.newObject() // it could just now
		return obj
	}, o)
}
