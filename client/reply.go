package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// WriteObserver is told of each write that the server has made, before the call
// that wrote returns. A Reader that is one can show its callers their own writes,
// though its copy does not have them yet; cache.Cache is one.
type WriteObserver interface {
	// Wrote is called from the goroutine that wrote, and should return soon.
	Wrote(ctx context.Context, r *Reply)
}

// Reply is the server's answer to a write that succeeded, and changed something:
// it was no dry run.
type Reply struct {
	// Kind is that of the object written to, also when a subresource was.
	Kind schema.GroupVersionKind
	// Key is the object's. Of deletecollection, the namespace alone.
	Key ObjectKey
	// Verb is one of the server's: create, update, patch, delete, deletecollection.
	Verb string
	// SubResource is what was written, if it was not the object itself.
	SubResource string

	data []byte // as the server sent it
}

// Object returns the answer as an object of r's kind and form, as a list or a
// watch of r would. It is an error if the answer is something else: a Status,
// another kind, a part.
func (p *Reply) Object(r *Resource) (Object, error) {
	o, err := r.objects(nil)
	if err != nil {
		return nil, err
	}
	obj, bad := o.named(o.one(p.data, o.decoder))
	if bad != nil {
		return nil, bad
	}
	return obj, nil
}

// About returns the kind of the answer, and what it says of the object's
// metadata. Of a Status, that is the UID at most.
func (p *Reply) About() (kind string, about *metav1.PartialObjectMetadata) {
	about = &metav1.PartialObjectMetadata{}
	// An answer that cannot be read says nothing.
	kind, _ = unmarshalAny(p.data, about)
	if kind != "Status" {
		return kind, about
	}
	var status metav1.Status
	about = &metav1.PartialObjectMetadata{}
	if _, err := unmarshalAny(p.data, &status); err == nil && status.Details != nil {
		about.UID = status.Details.UID
	}
	return kind, about
}

// Items returns the metadata of the objects that a deletecollection has deleted,
// or has told to go. They are in the state before that. It is an error if the
// answer does not list them.
func (p *Reply) Items() ([]Object, error) {
	r := &Resource{gvk: p.Kind, form: MetadataOnly}
	o, err := r.objects(nil)
	if err != nil {
		return nil, err
	}
	var items []Object
	var bad error
	page := page{ctx: context.Background(), objects: o, yield: func(obj Object, err error) bool {
		items, bad = append(items, obj), err
		return err == nil
	}}
	err = page.read(bufio.NewReader(bytes.NewReader(p.data)))
	if err == errLeft {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("what was deleted is not known: %w", err)
	}
	return items, nil
}

// wrote tells the observer, if there is one, of a change.
func (d *Direct) wrote(ctx context.Context, r *Resource, verb, sub string, key ObjectKey, a answer) {
	if d.observe != nil && a.changed {
		d.observe(ctx, &Reply{Kind: r.gvk, Key: key, Verb: verb, SubResource: sub, data: a.data})
	}
}

// observed returns a client like d, of which observe hears each write.
func (d *Direct) observed(observe func(context.Context, *Reply)) *Direct {
	return &Direct{
		cfg:     d.cfg,
		http:    d.http,
		scheme:  d.scheme,
		mapper:  d.mapper,
		formats: d.formats,
		timeout: d.timeout,
		clients: map[schema.GroupVersion]rest.Interface{},
		observe: observe,
	}
}
