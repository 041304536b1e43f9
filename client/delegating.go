package client

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DelegatingOptions tunes a Delegating client. The zero value, and nil, are
// ready to use.
type DelegatingOptions struct {
	// DisableFor lists kinds that are read from the server all the same: the
	// kind counts, not the form.
	DisableFor []Object
	// DisableReadYourWritesConsistency leaves the reader untold of writes. False
	// means that a reader that is a WriteObserver hears of each write to a kind
	// that is read from it.
	DisableReadYourWritesConsistency bool
}

// Delegating is a Client that reads from a cache and does all else at the
// server. Any number of goroutines may use it.
//
// It reads its own writes: once a write has returned, a Get or a List shows
// it, or something later, though the cache's watch may not have brought it. A write
// that failed promises nothing.
type Delegating struct {
	// Client does all that is not Get or List.
	Client
	reader Reader
	live   map[schema.GroupVersionKind]struct{} // read from the server
}

var _ Client = &Delegating{}

// NewDelegating returns a Client that reads from reader and does all else by
// direct. It fails if a kind in DisableFor is not in the scheme.
func NewDelegating(direct *Direct, reader Reader, o *DelegatingOptions) (*Delegating, error) {
	d := &Delegating{Client: direct, reader: reader, live: map[schema.GroupVersionKind]struct{}{}}
	if o == nil {
		o = &DelegatingOptions{}
	}
	for _, obj := range o.DisableFor {
		gvk, err := direct.GroupVersionKindFor(obj)
		if err != nil {
			return nil, fmt.Errorf("client: DisableFor: %w", err)
		}
		d.live[gvk] = struct{}{}
	}
	if observer, ok := reader.(WriteObserver); ok && !o.DisableReadYourWritesConsistency {
		d.Client = direct.observed(func(ctx context.Context, r *Reply) {
			if _, live := d.live[r.Kind]; !live {
				observer.Wrote(ctx, r)
			}
		})
	}
	return d, nil
}

// Get reads one object from the cache; from the server, if Live is given.
func (d *Delegating) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	gvk, err := d.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("get %T: %w", obj, err)
	}
	reader := d.readerOf(gvk)
	live, err := getsLive(opts)
	if err != nil {
		return fmt.Errorf("get %T: %w", obj, err)
	}
	if live {
		reader = d.Client
	}
	return reader.Get(ctx, key, obj, opts...)
}

// getsLive says whether opts ask for the server. It allocates nothing for what most
// reads ask for, so that one without a copy costs next to nothing.
func getsLive(opts []GetOption) (bool, error) {
	for _, opt := range opts {
		switch opt.(type) {
		case unsafeDisableDeepCopy, disableReadYourWritesConsistency:
		default:
			var o GetOptions
			err := o.ApplyOptions(opts)
			return o.Live, err
		}
	}
	return false, nil
}

// List reads many from the cache; from the server, if Live is given.
func (d *Delegating) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	gvk, err := d.GroupVersionKindFor(list)
	if err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	var o ListOptions
	if err := o.ApplyOptions(opts); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	reader := d.readerOf(itemKind(gvk))
	if o.Live {
		reader = d.Client
	}
	return reader.List(ctx, list, opts...)
}

func (d *Delegating) readerOf(gvk schema.GroupVersionKind) Reader {
	if _, ok := d.live[gvk]; ok {
		return d.Client
	}
	return d.reader
}
