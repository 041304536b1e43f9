package envtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"governor/client"
	"governor/envtest/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// delete removes an object, or asks those that hold it to let it go.
func (s *Server) delete(c *call) (*answer, error) {
	o, err := s.deleteOptions(c)
	if err != nil {
		return nil, err
	}
	w := c.newWrite(o.DryRun, "")
	w.options = o
	w.warnOrphans(o)
	orphan := orphanDependents(o)
	explicit := orphan != nil && !*orphan
	object, gone, err := s.deleteObject(c.Context(), w, o)
	if err != nil {
		return nil, err
	}
	if gone && !strategyOf(c.resource).returnsDeleted {
		return &answer{status: w.deleted(object)}, nil
	}
	a := &answer{object: object}
	if !gone && explicit {
		a.code = http.StatusAccepted
	}
	return a, nil
}

// deleted is what a client hears of an object that is gone.
func (w *write) deleted(o *storage.Object) *metav1.Status {
	resource := w.resource.GroupVersionResource
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: o.Name, Group: resource.Group, Kind: resource.Resource, UID: o.Value.GetUID()},
	}
}

// deleteOptions reads the options of a delete, from the body or else from the query.
func (s *Server) deleteOptions(c *call) (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	data, err := c.body()
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		err = c.decodeOptions(o)
	} else {
		err = s.decodeDeleteOptions(c, data, o)
	}
	if err != nil {
		return nil, err
	}
	o.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	return o, errOptions("DeleteOptions", validation.ValidateDeleteOptions(o))
}

func (s *Server) decodeDeleteOptions(c *call, data []byte, o *metav1.DeleteOptions) error {
	// Its codecs know the options in every group.
	codecs := metainternalscheme.Codecs
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), c.mediaType())
	if !ok {
		return errUnknownFormat(objectFormats...)
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	decoded, _, err := codecs.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode(data, &kind, o)
	if err != nil {
		return errBadRequest(err.Error())
	}
	if decoded != o {
		return errBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return nil
}

// preconditionFailed begins what the real server says of a namespace.
const preconditionFailed = "Precondition failed"

// orphanDependents is what came before the propagation policy: clients still may
// send it, so a server has to honour it.
func orphanDependents(o *metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 for the reason above
	return o.OrphanDependents
}

// warnOrphans tells who deletes a Job that its pods stay, if nothing was said of them.
func (w *write) warnOrphans(o *metav1.DeleteOptions) {
	if w.resource.GroupVersionResource.Group == "batch" && strategyOf(w.resource).orphans &&
		o.PropagationPolicy == nil && orphanDependents(o) == nil {
		w.warn("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them " +
			"or set propagationPolicy=Orphan to suppress this warning")
	}
}

// deleteObject deletes an object, and does what follows from that. What it returns
// is the object in its last state, which is still there if gone is false: it has
// finalizers, or a grace period.
func (s *Server) deleteObject(ctx context.Context, w *write, o *metav1.DeleteOptions) (object *storage.Object, gone bool, err error) {
	before, object, gone, err := s.deleteOne(ctx, w, o)
	if err == nil && !w.dryRun && object != before {
		s.settle(ctx, w.placeOf(object), before)
	}
	return object, gone, err
}

// deleteOne deletes an object, and leaves to its caller what follows from that.
func (s *Server) deleteOne(ctx context.Context, w *write, o *metav1.DeleteOptions) (before, object *storage.Object, gone bool, err error) {
	for {
		before = s.store.Get(w.resource.Storage, w.namespace, w.name)
		if before == nil {
			return nil, nil, false, w.errNotFound()
		}
		object, gone, err = s.tryDelete(ctx, w, o, before)
		if !errors.Is(err, errRace) {
			return before, object, gone, err
		}
	}
}

func (s *Server) tryDelete(ctx context.Context, w *write, o *metav1.DeleteOptions, current *storage.Object) (*storage.Object, bool, error) {
	if err := w.checkPreconditions(o.Preconditions, current.Value); err != nil {
		return nil, false, err
	}
	if err := s.validate(ctx, w, nil, current.Value); err != nil {
		return nil, false, err
	}
	next, step := w.planDeletion(current.Value, o)
	switch {
	case step == wait && next == nil:
		return current, false, nil
	case step == remove && next == nil:
		return s.remove(w, current)
	}
	if w.dryRun {
		return storage.NewObject(w.resource.Storage, next, current.ResourceVersion), step == remove, nil
	}
	marked, err := s.commit(w.resource, w.namespace, w.name, current, next)
	if err != nil || step == wait {
		return marked, false, err
	}
	gone, _, err := s.remove(w, marked)
	if errors.Is(err, errRace) {
		return marked, true, nil // somebody else has done it
	}
	return gone, true, err
}

// remove takes an object out of the store.
func (s *Server) remove(w *write, current *storage.Object) (*storage.Object, bool, error) {
	if w.dryRun {
		return current, true, nil
	}
	gone, err := s.commit(w.resource, w.namespace, w.name, current, nil)
	return gone, true, err
}

// checkPreconditions refuses to delete another object than the client means.
func (w *write) checkPreconditions(p *metav1.Preconditions, obj client.Object) error {
	if p == nil {
		return nil
	}
	var err error
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	switch namespace := w.resource.Storage == namespaces; {
	case p.UID != nil && *p.UID != uid && namespace:
		err = fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", preconditionFailed, *p.UID, uid)
	case p.UID != nil && *p.UID != uid:
		err = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, uid)
	case p.ResourceVersion != nil && *p.ResourceVersion != version && namespace:
		err = fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", preconditionFailed, *p.ResourceVersion, version)
	case p.ResourceVersion != nil && *p.ResourceVersion != version:
		err = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, version)
	default:
		return nil
	}
	if w.resource.Storage == namespaces {
		return w.errConflict(err)
	}
	kind := w.resource.GroupVersionKind
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, w.name, err)
}

// hasFinalizer says whether a finalizer holds an object.
func hasFinalizer(obj client.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}
