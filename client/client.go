package client

import (
	"context"
	"iter"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Reader reads objects, from a cache or from the server.
type Reader interface {
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

// Writer changes objects on the server.
type Writer interface {
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error
}

// Client does everything that the API server offers for objects.
type Client interface {
	Reader
	Writer
	// Watch yields the changes of a kind until ctx ends or the stream breaks.
	Watch(ctx context.Context, list ObjectList, opts ...ListOption) iter.Seq2[Event, error]
	// Status is SubResource("status").
	Status() SubResourceClient
	SubResource(name string) SubResourceClient
	Scheme() *scheme.Scheme
	RESTMapper() meta.RESTMapper
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// Options tunes a Direct client. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// Mapper; nil means a lazy one over the server's discovery.
	Mapper meta.RESTMapper
}

// Direct is a Client whose every call is a request to the API server.
type Direct struct{}

// New returns a client of the API server that cfg names. It makes no request.
func New(cfg *rest.Config, o *Options) (*Direct, error) { panic("skeleton") }

// Resource returns what lists and watches one kind in one form.
func (d *Direct) Resource(ctx context.Context, gvk schema.GroupVersionKind, form Form) (*Resource, error) {
	panic("skeleton")
}
