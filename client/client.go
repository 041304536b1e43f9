package client

import (
	"context"
	"iter"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader reads objects, from a cache or from the server.
type Reader interface {
	// Get reads one object into obj. On an error obj is as it was.
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	// List reads many objects into list. On an error list is as it was.
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

// Writer changes objects on the server. After a call that succeeded the object
// in memory equals the server's reply; after an error it is as it was.
type Writer interface {
	// Create stores a new object.
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	// Update replaces an object; its resourceVersion, if set, must be the
	// server's, else the error is a Conflict.
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	// Patch changes parts of an object; obj gives kind and key, and gets the
	// reply.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	// Apply states what the caller wants to be true of an object, and so owns:
	// server-side apply. [FieldOwner] is required.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	// Delete removes an object; obj gives kind and key, and stays as it is.
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	// DeleteAllOf removes every object of obj's kind that the options select,
	// in one request. A kind that lives in namespaces needs [InNamespace].
	DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error
}

// SubResourceClient reads and writes a subresource of objects. Its options are
// those of the verbs.
type SubResourceClient interface {
	// Get reads obj's subresource into subResource. It is always live.
	Get(ctx context.Context, obj, subResource Object, opts ...GetOption) error
	// Create posts subResource to obj: an eviction, a binding, a token request.
	// A reply of subResource's kind replaces it; a bare "success" does not.
	Create(ctx context.Context, obj, subResource Object, opts ...CreateOption) error
	// Update replaces the subresource with obj, or with [WithSubResourceBody],
	// which then gets the reply.
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	// Patch changes the subresource; [WithSubResourceBody] as for Update.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	// Apply is server-side apply to the subresource.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
}

// Client does everything that the API server offers for objects.
type Client interface {
	Reader
	Writer
	// Watch yields the changes of a kind until ctx ends or the stream breaks.
	// It starts at list's resourceVersion: after a List into the same list
	// nothing is missed; from an empty list what exists comes first, as Added.
	// list itself is not filled. One stream, no retry: an informer does that.
	Watch(ctx context.Context, list ObjectList, opts ...ListOption) iter.Seq2[Event, error]
	// Status is SubResource("status").
	Status() SubResourceClient
	// SubResource returns the client of a subresource: "scale", "eviction", ….
	SubResource(name string) SubResourceClient
	// Scheme is what the client knows Go types by.
	Scheme() *scheme.Scheme
	// RESTMapper is what the client finds resources and scopes by.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns an object's kind, whatever its TypeMeta says.
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced says whether obj's kind lives in namespaces.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}
