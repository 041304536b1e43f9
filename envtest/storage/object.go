package storage

import (
	"sync/atomic"

	"governor/client"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is one version of one object. It never changes: whoever wants another
// version makes another Object.
type Object struct {
	// Resource, Namespace and Name are the object's place.
	Resource  schema.GroupResource
	Namespace string
	Name      string
	// ResourceVersion is when it was written.
	ResourceVersion uint64
	// Value is the object in its storage version, read only: typed for
	// built-in kinds, unstructured for custom ones; its metadata carries
	// ResourceVersion.
	Value client.Object

	key       string
	encodings atomic.Pointer[encoding]
	departure atomic.Pointer[Object] // see Change.Departure
}

// encoding is one way in which an object has been written, and the next one: a
// list, since an object is seldom written in more than two.
type encoding struct {
	name  string
	bytes []byte
	next  *encoding
}

// NewObject returns an Object that is in no Store: what a dry run would have
// written.
func NewObject(resource schema.GroupResource, value client.Object, resourceVersion uint64) *Object {
	namespace, name := value.GetNamespace(), value.GetName()
	return &Object{
		Resource:        resource,
		Namespace:       namespace,
		Name:            name,
		ResourceVersion: resourceVersion,
		Value:           value,
		key:             keyOf(namespace, name),
	}
}

// Key is the object's place among those of its resource: namespace/name, or
// the name where there are no namespaces. Lists are in its byte order.
func (o *Object) Key() string { return o.key }

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Encoded returns the bytes of the object in one encoding, made by encode and
// kept for every later reader and watcher: do not write to them. No lock is
// held meanwhile, so that encode may take its time; of two that make the same
// bytes at once, one works in vain. An error is not kept.
func (o *Object) Encoded(name string, encode func() ([]byte, error)) ([]byte, error) {
	first := o.encodings.Load()
	if e := first.find(name); e != nil {
		return e.bytes, nil
	}
	b, err := encode()
	if err != nil {
		return nil, err
	}
	made := &encoding{name: name, bytes: b}
	for {
		made.next = first
		if o.encodings.CompareAndSwap(first, made) {
			return b, nil
		}
		first = o.encodings.Load()
		if e := first.find(name); e != nil {
			return e.bytes, nil
		}
	}
}

func (e *encoding) find(name string) *encoding {
	for ; e != nil && e.name != name; e = e.next {
	}
	return e
}
