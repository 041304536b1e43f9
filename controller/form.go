package controller

import (
	"governor/client"
	"governor/informer"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// inForm returns a handler that hands each object to h in the form of like. A
// cache stores a kind in one form, whoever asked for which, and shows its
// handlers that one.
func inForm(like client.Object, h informer.Handler) informer.Handler {
	switch client.FormOf(like) {
	case client.MetadataOnly:
		return &converter{h, func(obj client.Object) client.Object { return toMetadata(like, obj) }}
	case client.Unstructured:
		return &converter{h, func(obj client.Object) client.Object { return toUnstructured(like, obj) }}
	}
	return h // what the scheme knows is stored typed
}

type converter struct {
	handler informer.Handler
	convert func(client.Object) client.Object
}

// OnAdd implements informer.Handler.
func (c *converter) OnAdd(obj client.Object, isInInitialList bool) {
	c.handler.OnAdd(c.convert(obj), isInInitialList)
}

// OnUpdate implements informer.Handler.
func (c *converter) OnUpdate(oldObj, newObj client.Object) {
	c.handler.OnUpdate(c.convert(oldObj), c.convert(newObj))
}

// OnDelete implements informer.Handler.
func (c *converter) OnDelete(obj client.Object, finalStateUnknown bool) {
	c.handler.OnDelete(c.convert(obj), finalStateUnknown)
}

// toMetadata shares obj's labels and the like, as events share objects anyway.
func toMetadata(like, obj client.Object) client.Object {
	if obj == nil {
		return nil
	}
	if metadata, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return metadata
	}
	metadata := meta.AsPartialObjectMetadata(obj)
	metadata.SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
	return metadata
}

func toUnstructured(like, obj client.Object) client.Object {
	if obj == nil {
		return nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil { // it was decoded from JSON or protobuf, so it can be encoded
		return obj
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
	return u
}
