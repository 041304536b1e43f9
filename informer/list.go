package informer

import (
	"context"
	"fmt"
	"runtime/debug"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects a list asks for at once, if it may be paged.
const pageSize = 500

// list pushes everything that exists, as one Replaced. It asks for a state that
// is not older than the last seen, or, with newest, for the newest.
//
//	first list       resourceVersion "0"   anything that the server has at hand
//	later ones       the last seen         never goes back in time
//	newest           ""                    after 410 Gone, or too large
func (r *Reflector) list(ctx context.Context, newest bool) error {
	rv := r.position.resourceVersion
	switch {
	case newest:
		rv = ""
	case rv == "":
		rv = "0"
	}
	r.status.listed()
	objects, got, err := r.pages(ctx, rv)
	if err != nil {
		return err
	}
	if isVersion(rv) && older(got, rv) {
		return errWentBack
	}
	if err := r.fifo.Push(ctx, Delta{Type: Replaced, Objects: objects, ResourceVersion: got}); err != nil {
		return err
	}
	r.position = position{resourceVersion: got, ordered: isVersion(got)}
	return nil
}

// pages requests one page after the other. A list that names a resourceVersion
// is never paged: the server would have to read it from etcd, page by page,
// while it has the whole in memory.
func (r *Reflector) pages(ctx context.Context, rv string) (objects []client.Object, got string, err error) {
	opts := metav1.ListOptions{ResourceVersion: rv}
	if !isVersion(rv) {
		opts.Limit = pageSize
	}
	for {
		page, err := r.page(ctx, opts)
		switch {
		case err == nil:
		case opts.Continue != "" && diagnose(err) == unavailable:
			// The first page's state is forgotten before the last page was
			// read: all of it at once cannot come too late.
			opts, objects, got = metav1.ListOptions{ResourceVersion: rv}, nil, ""
			continue
		default:
			return nil, "", err
		}
		objects = append(objects, page.objects...)
		if got == "" {
			got = page.ResourceVersion // the oldest of all pages
		}
		if page.Continue == "" {
			return objects, got, nil
		}
		opts.ResourceVersion, opts.Continue = "", page.Continue // Continue knows the version
	}
}

type page struct {
	metav1.ListMeta
	objects []client.Object
}

// page requests one page and transforms its objects.
func (r *Reflector) page(ctx context.Context, opts metav1.ListOptions) (page, error) {
	var p page
	var bad error
	meta, err := r.lw.List(ctx, opts, func(obj client.Object, err error) bool {
		if err != nil {
			bad = err
		} else if obj, bad = r.transform(obj); bad == nil {
			p.objects = append(p.objects, obj)
		}
		return bad == nil
	})
	switch {
	case bad != nil:
		return page{}, bad
	case err != nil:
		return page{}, err
	}
	p.ListMeta = meta
	return p, ctx.Err() // a list that ctx has cut short is not whole
}

// transform applies the Transform function. This is the only place that does, and
// each object passes it once.
func (r *Reflector) transform(obj client.Object) (_ client.Object, err error) {
	fn := r.options.transform()
	if fn == nil {
		return obj, nil
	}
	key := client.ObjectKeyFromObject(obj)
	defer func() {
		if p := recover(); p != nil {
			err = &ObjectError{Op: "transform", Key: key, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	obj, err = fn(obj)
	switch {
	case err != nil:
	case obj == nil:
		err = fmt.Errorf("the function returned no object")
	case client.ObjectKeyFromObject(obj) != key:
		err = fmt.Errorf("the function changed the name to %s", client.ObjectKeyFromObject(obj))
	}
	if err != nil {
		return nil, &ObjectError{Op: "transform", Key: key, Err: err}
	}
	return obj, nil
}
