package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
)

// Status is SubResource("status").
func (d *Direct) Status() SubResourceClient { return d.SubResource("status") }

// SubResource returns the client of a subresource.
func (d *Direct) SubResource(name string) SubResourceClient { return &subResource{d, name} }

// subResource is the SubResourceClient of one name.
type subResource struct {
	d    *Direct
	name string
}

// check refuses an empty name, with which a call would reach the object itself.
func (s *subResource) check() error {
	if s.name == "" {
		return errors.New("the name of the subresource is empty")
	}
	return nil
}

// Get reads obj's subresource into sub.
func (s *subResource) Get(ctx context.Context, obj, sub Object, opts ...GetOption) error {
	return s.d.write(ctx, "get", s.name, obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		if err := errors.Join(s.check(), new(GetOptions).ApplyOptions(opts)); err != nil {
			return a, err
		}
		r, sub, err := s.d.subBody(r, s.name, obj, sub)
		if err != nil {
			return a, err
		}
		if err := r.checkWhole(); err != nil {
			return a, err
		}
		req, err := r.named(http.MethodGet, key)
		if err != nil {
			return a, err
		}
		_, err = r.doInto(ctx, req.SubResource(s.name), sub)
		return a, err
	})
}

// Create posts sub to obj.
func (s *subResource) Create(ctx context.Context, obj, sub Object, opts ...CreateOption) error {
	return s.d.write(ctx, "create", s.name, obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		var o CreateOptions
		if err := errors.Join(s.check(), o.ApplyOptions(opts)); err != nil {
			return a, err
		}
		r, sub, err := s.d.subBody(r, s.name, obj, sub)
		if err != nil {
			return a, err
		}
		if err := r.checkWhole(); err != nil {
			return a, err
		}
		req, err := r.named(http.MethodPost, key)
		if err != nil {
			return a, err
		}
		if req, err = r.body(params(req.SubResource(s.name), o.meta()), sub); err != nil {
			return a, err
		}
		a.changed = len(o.DryRun) == 0
		if a.data, err = r.doInto(ctx, req, sub); errors.Is(err, errStatusReply) {
			err = nil // an eviction or a binding: done, and there is no object
		}
		return a, err
	})
}

// Update replaces the subresource.
func (s *subResource) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.d.update(ctx, s.name, obj, opts)
}

// Patch changes the subresource.
func (s *subResource) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.d.patch(ctx, s.name, obj, patch, opts)
}

// Apply is server-side apply to the subresource.
func (s *subResource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.d.apply(ctx, s.name, obj, opts)
}

// subBody returns what is sent and gets the reply: obj, or body if there is
// one, and the resource with body's kind and form.
func (d *Direct) subBody(r *Resource, sub string, obj, body Object) (*Resource, Object, error) {
	if body == nil {
		return r, obj, nil
	}
	if sub == "" {
		return nil, nil, errors.New("WithSubResourceBody is for a SubResourceClient: call Status() or SubResource() first")
	}
	gvk, err := d.GroupVersionKindFor(body)
	if err != nil {
		return nil, nil, fmt.Errorf("body: %w", err)
	}
	of := *r
	of.gvk, of.form = gvk, FormOf(body)
	if of.format = d.formats.plain(of.form); r.format.contentType == mediaProtobuf {
		// A custom resource's scale is JSON, though Scale is a built-in kind.
		of.format = d.formats.of(of.form, body)
	}
	return &of, body, nil
}

// subPath is a subresource's path below the object.
func subPath(sub string) []string {
	if sub == "" {
		return nil
	}
	return []string{sub}
}
