package envtest

import (
	"errors"
	"fmt"

	"governor/envtest/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// page is a part of a list.
type page struct {
	objects         []*storage.Object
	resourceVersion uint64
	// next is the token of the next page; empty on the last one.
	next string
	// remaining is how many objects come after this page; nil if nobody counted.
	remaining *int64
}

// list answers with the objects of a resource, or of one namespace, as they were at
// one resourceVersion:
//
//	continue                        that of the token (or the current one, if the token says so)
//	Exact; or limit without match   the one that is asked for
//	otherwise                       the current one, which must not be less than the one asked for
//
// Every list is of what was written last: there is no stale cache, as there may be
// behind resourceVersion 0 on the real server.
func (s *Server) list(c *call) (*answer, error) {
	o, selected, err := c.listOptions()
	if err != nil {
		return nil, err
	}
	snapshot, from, err := s.snapshotFor(c, o)
	if err != nil {
		return nil, err
	}
	limit := int(o.Limit)
	if o.ResourceVersion == "0" {
		limit = 0 // as on the real server, which answers this from memory
	}
	return &answer{page: selected.page(snapshot, c.namespace(), from, limit)}, nil
}

// listOptions reads what a list or a watch asks for, and refuses what makes no sense.
func (c *call) listOptions() (*metainternal.ListOptions, *selection, error) {
	o := &metainternal.ListOptions{}
	if err := c.decodeOptions(o); err != nil {
		return nil, nil, err
	}
	o.Watch = c.attributes.Verb == "watch"
	metainternal.SetListOptionsDefaults(o, true)
	if errs := metainternalvalidation.ValidateListOptions(o, true); len(errs) > 0 {
		kind := schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}
		return nil, nil, apierrors.NewInvalid(kind, "", errs)
	}
	selected, err := newSelection(c, o)
	return o, selected, err
}

// snapshotFor returns the state that a list is of, and the key at which it starts.
func (s *Server) snapshotFor(c *call, o *metainternal.ListOptions) (storage.Snapshot, string, error) {
	if o.Continue != "" {
		return s.continued(c, o)
	}
	asked, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return storage.Snapshot{}, "", errBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	exact := o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0
	if exact && asked > 0 {
		snapshot, err := s.store.Snapshot(c.stored(), asked)
		if errors.Is(err, storage.ErrTooOld) {
			err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return snapshot, "", s.tooLarge(err, asked)
	}
	snapshot, err := s.store.Snapshot(c.stored(), 0)
	if err == nil && asked > snapshot.ResourceVersion {
		err = errTooLarge(asked, snapshot.ResourceVersion)
	}
	return snapshot, "", err
}

// continued returns the state and the key that a continue token names.
func (s *Server) continued(c *call, o *metainternal.ListOptions) (storage.Snapshot, string, error) {
	token, err := parseContinue(o.Continue)
	if err != nil {
		return storage.Snapshot{}, "", errBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return storage.Snapshot{}, "", errBadRequest("specifying resource version is not allowed when using continue")
	}
	at := uint64(max(0, token.ResourceVersion))
	snapshot, err := s.store.Snapshot(c.stored(), at)
	if errors.Is(err, storage.ErrTooOld) {
		err = errContinueExpired(token)
	}
	return snapshot, token.key(c.namespace()), s.tooLarge(err, at)
}

// tooLarge words the Store's ErrTooLarge for clients.
func (s *Server) tooLarge(err error, asked uint64) error {
	if errors.Is(err, storage.ErrTooLarge) {
		return errTooLarge(asked, s.store.ResourceVersion())
	}
	return err
}

// page takes up to limit objects (zero: all) of a snapshot, from a key on. With a
// selector it may promise a next page that will be empty, as the real
// server does: it does not look ahead.
func (sel *selection) page(snapshot storage.Snapshot, namespace, from string, limit int) *page {
	p := &page{resourceVersion: snapshot.ResourceVersion}
	if object, ok := sel.single(snapshot, namespace); ok {
		if object != nil && sel.matches(object) {
			p.objects = []*storage.Object{object}
		}
		return p
	}
	total := snapshot.Len(namespace, from)
	if limit <= 0 || limit > total {
		limit = total
	}
	if sel.everything() {
		p.objects = make([]*storage.Object, 0, limit)
	}
	seen := 0
	for object := range snapshot.From(namespace, from) {
		if len(p.objects) == limit {
			break
		}
		seen++
		if sel.matches(object) {
			p.objects = append(p.objects, object)
		}
	}
	if seen < total && len(p.objects) > 0 {
		last := p.objects[len(p.objects)-1]
		p.next = newContinue(snapshot.ResourceVersion, namespace, last.Key())
		if sel.everything() {
			remaining := int64(total - seen)
			p.remaining = &remaining
		}
	}
	return p
}
