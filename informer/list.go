package informer

import (
	"cmp"
	"context"
	"time"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pageSize is how many objects a list asks for at once, if it may be paged.
	pageSize = 500
	// pagePatience is how long nothing may be heard of a page. Servers give up
	// on a request that is not a watch after a minute.
	pagePatience = 2 * time.Minute
)

// list pushes everything that exists, as one Replaced. It asks for a state that
// is not older than the last seen, or, with newest, for the newest.
//
//	first list       resourceVersion "0"   anything that the server has at hand
//	later ones       the last seen         never goes back in time
//	newest           ""                    after 410 Gone, or too large
func (r *Reflector) list(ctx context.Context, newest bool) (err error) {
	rv := r.position.resourceVersion
	switch {
	case newest:
		rv = ""
	case rv == "":
		rv = "0"
	}
	r.status.listed()
	began := time.Now()
	var c collection
	defer func() { r.metrics.Listed(time.Since(began), len(c.objects), err) }()
	got, err := r.pages(ctx, rv, &c)
	if err != nil {
		return err
	}
	return r.replace(ctx, &c, rv, got)
}

// replace pushes everything that exists: what was asked for at one version, and
// was got at another, perhaps.
func (r *Reflector) replace(ctx context.Context, c *collection, asked, got string) error {
	if isVersion(asked) && older(got, asked) {
		return errWentBack
	}
	for _, u := range c.unread {
		r.missed(ctx, u)
	}
	d := c.replaced(got)
	d.taken = r.unread.mendingAllBut(c.unread, r.metrics.Unread)
	if err := r.fifo.Push(ctx, d); err != nil {
		return err
	}
	r.position = position{resourceVersion: got, ordered: isVersion(got)}
	r.retryAt = time.Time{}
	for _, u := range c.unread {
		if u.retry() {
			r.planRetry()
			break
		}
	}
	return nil
}

// pages requests one page after the other. A list that names a resourceVersion
// is never paged: the server would have to read it from etcd, page by page,
// while it has the whole in memory.
func (r *Reflector) pages(ctx context.Context, rv string, c *collection) (got string, err error) {
	opts := metav1.ListOptions{ResourceVersion: rv}
	if !isVersion(rv) {
		opts.Limit = pageSize
	}
	for {
		page, err := r.page(ctx, opts, c)
		switch {
		case err == nil:
		case opts.Continue != "" && diagnose(err) == unavailable:
			// The first page's state is forgotten before the last page was
			// read: all of it at once cannot come too late.
			opts, got, *c = metav1.ListOptions{ResourceVersion: rv}, "", collection{}
			continue
		default:
			return "", err
		}
		if got == "" {
			got = page.ResourceVersion // the oldest of all pages
		}
		if page.Continue == "" {
			return got, nil
		}
		opts.ResourceVersion, opts.Continue = "", page.Continue // Continue knows the version
	}
}

// page requests one page and collects its objects.
func (r *Reflector) page(ctx context.Context, opts metav1.ListOptions, c *collection) (metav1.ListMeta, error) {
	var bad error
	var meta metav1.ListMeta
	v := newVigil()
	v.expect(pagePatience, errSilent)
	err := v.over(ctx, nil, func(ctx context.Context) (err error) {
		meta, err = r.lw.List(ctx, opts, func(obj client.Object, err error) bool {
			v.hear(time.Now())
			bad = r.collect(c, obj, err)
			return bad == nil
		})
		return err
	})
	// A list that ctx has cut short is not whole.
	return meta, cmp.Or(bad, err, ctx.Err())
}

// collect takes one object that exists, or the error in place of it. What it
// returns is an error that is not of that object alone.
func (r *Reflector) collect(c *collection, obj client.Object, err error) error {
	if err != nil {
		u, ok := undecoded(err)
		if !ok {
			return err
		}
		c.miss(*u)
		return nil
	}
	obj, u := r.transformed(obj)
	if u != nil {
		c.miss(*u)
		return nil
	}
	c.add(obj)
	return nil
}
