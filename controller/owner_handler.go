package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"governor/client"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// OwnerOption tunes EnqueueRequestForOwner.
type OwnerOption func(*ownerHandler)

// OnlyControllerOwner looks at the one owner that controls the object, not at
// the others. Upstream: handler.OnlyControllerOwner.
func OnlyControllerOwner() OwnerOption { return func(o *ownerHandler) { o.onlyController = true } }

// EnqueueRequestForOwner enqueues the owners of an object that are of ownerType's
// kind; for an update, those that it had and those that it has. The owner's
// version does not matter, its group and kind do; the key of a cluster-scoped
// owner has no namespace.
//
// An ownerType that s does not know is the error of the Watch or Build that
// uses the handler.
//
// Upstream: handler.EnqueueRequestForOwner, which panics then.
func EnqueueRequestForOwner(s *scheme.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption) EventHandler[Request] {
	o := &ownerHandler{mapper: mapper}
	o.mapHandler.fn = o.requests
	for _, opt := range opts {
		opt(o)
	}
	if s == nil || mapper == nil || ownerType == nil {
		o.err = errors.New("EnqueueRequestForOwner needs a scheme, a REST mapper and an object of the owner's type, not nil")
		return o
	}
	if o.owner, o.err = s.GVKForObject(ownerType); o.err != nil {
		o.err = fmt.Errorf("owner %T: %w", ownerType, o.err)
	}
	return o
}

type ownerHandler struct {
	mapHandler[Request]
	mapper         meta.RESTMapper
	owner          schema.GroupVersionKind
	onlyController bool
	err            error // why owner is not known
}

func (o *ownerHandler) Validate() error { return o.err }

// requests returns the keys of an object's owners of the kind.
func (o *ownerHandler) requests(ctx context.Context, object client.Object) []Request {
	var requests []Request
	for _, ref := range object.GetOwnerReferences() {
		if !o.matches(ctx, object, ref) {
			continue
		}
		namespaced, err := o.namespaced(ctx)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Owner not enqueued: the scope of its kind is not known",
				"object", klog.KObj(object), "owner", klog.KRef("", ref.Name), "ownerKind", o.owner.GroupKind())
			return requests
		}
		request := Request{}
		request.Name = ref.Name
		if namespaced {
			request.Namespace = object.GetNamespace()
		}
		requests = append(requests, request)
	}
	return requests
}

func (o *ownerHandler) matches(ctx context.Context, object client.Object, ref metav1.OwnerReference) bool {
	if o.onlyController && (ref.Controller == nil || !*ref.Controller) {
		return false
	}
	if ref.Kind != o.owner.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Owner ignored: its apiVersion is malformed",
			"object", klog.KObj(object), "owner", ref.Name, "apiVersion", ref.APIVersion)
		return false
	}
	return gv.Group == o.owner.Group
}

// namespaced says whether owners live in namespaces. The mapper may have to ask
// the server: while that fails the event waits, since nobody would send it
// again. A kind that the server does not have is not waited for.
func (o *ownerHandler) namespaced(ctx context.Context) (bool, error) {
	var mapping *meta.RESTMapping
	err := retry(ctx, "scope of the owners' kind "+o.owner.GroupKind().String(), func() (final bool, err error) {
		mapping, err = o.mapper.RESTMapping(o.owner.GroupKind(), o.owner.Version)
		return err == nil || meta.IsNoMatchError(err), err
	})
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// The pauses between tries of what a source cannot do without.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 10 * time.Second
)

// retry calls try until it says that its error is final, with growing pauses.
// When ctx ends, the error is the last one of try.
func retry(ctx context.Context, what string, try func() (final bool, err error)) error {
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		final, err := try()
		if final {
			return err
		}
		klog.FromContext(ctx).Info("Not available yet, will try again", "what", what, "after", pause, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}
