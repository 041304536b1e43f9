package envtest

import (
	"context"
	"errors"
	"net/http"

	"governor/client"
	"governor/envtest/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errOptions: the options of a request make no sense.
func errOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// createOptions reads the query of a create.
func (c *call) createOptions() (*metav1.CreateOptions, error) {
	o := &metav1.CreateOptions{}
	if c.URL.RawQuery == "" {
		return o, nil
	}
	if err := c.decodeOptions(o); err != nil {
		return nil, err
	}
	return o, errOptions("CreateOptions", validation.ValidateCreateOptions(o))
}

// create makes a new object, or does what a subresource's create means.
func (s *Server) create(c *call) (*answer, error) {
	if c.subresource != nil {
		return s.createBelow(c)
	}
	if c.resource.GroupVersionResource == bindings {
		return s.createBinding(c)
	}
	o, err := c.createOptions()
	if err != nil {
		return nil, err
	}
	obj, err := s.decode(c, o.FieldValidation)
	if err != nil {
		return nil, err
	}
	w := c.newWrite(o.DryRun, o.FieldManager)
	w.options = o
	if c.resource.StorageVersion.Empty() {
		return s.review(c, obj)
	}
	wipeSystemFields(obj)
	if err := w.ensureNamespace(obj); err != nil {
		return nil, err
	}
	w.dropDuplicateOwners(obj, "")
	if err := s.track(w, nil, obj); err != nil {
		return nil, err
	}
	created, err := s.createObject(c.Context(), w, obj)
	if err != nil {
		return nil, err
	}
	return &answer{code: http.StatusCreated, object: created}, nil
}

// generateAttempts is how many generated names are tried.
const generateAttempts = 8

// createObject creates an object, which is its own from then on. One that wants a
// generated name is tried under several.
func (s *Server) createObject(ctx context.Context, w *write, obj client.Object) (*storage.Object, error) {
	if obj.GetName() != "" || obj.GetGenerateName() == "" {
		return s.createOne(ctx, w, obj)
	}
	var err error
	for range generateAttempts {
		var created *storage.Object
		created, err = s.createOne(ctx, w, obj.DeepCopyObject().(client.Object))
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return created, err
		}
	}
	return nil, err
}

func (s *Server) createOne(ctx context.Context, w *write, obj client.Object) (*storage.Object, error) {
	for {
		created, err := s.tryCreate(ctx, w, obj)
		if errors.Is(err, errRace) {
			continue // it exists now
		}
		if err != nil {
			return nil, err
		}
		if !w.dryRun && hasConsequences(created) {
			s.settle(ctx, w.placeOf(created), nil)
		}
		return created, nil
	}
}

// tryCreate makes of what a client sends a new object, and stores it. It is
// errRace if another request has been quicker. obj has its managed fields, and is
// not shared.
func (s *Server) tryCreate(ctx context.Context, w *write, obj client.Object) (*storage.Object, error) {
	if w.resource.Custom != nil && w.resource.Custom.Terminating {
		return nil, apierrors.NewForbidden(w.resource.GroupVersionResource.GroupResource(), obj.GetName(),
			errors.New("create not allowed while custom resource definition is terminating"))
	}
	obj, err := s.mutate(ctx, w, obj, nil)
	if err != nil {
		return nil, err
	}
	setDefaults(obj)
	w.dropDuplicateOwners(obj, " after mutating admission happens")
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	fillSystemFields(obj)
	if err := w.ensureNamespace(obj); err != nil {
		return nil, err
	}
	w.prepareCreate(obj)
	if errs := w.validateCreate(obj); len(errs) > 0 {
		return nil, w.errInvalid(obj, errs)
	}
	w.warnings(obj, nil)
	w.canonicalize(obj)
	if err := s.validate(ctx, w, obj, nil); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	name := obj.GetName()
	if current := s.store.Get(w.resource.Storage, w.namespace, name); current != nil {
		return nil, w.errExists(current, generated)
	}
	value, err := w.stored(obj)
	if err != nil {
		return nil, err
	}
	if w.dryRun {
		return storage.NewObject(w.resource.Storage, value, 0), nil
	}
	return s.commit(w.resource, w.namespace, name, nil, value)
}

// errExists: the name is taken.
func (w *write) errExists(current *storage.Object, generated bool) error {
	resource := w.resource.GroupVersionResource.GroupResource()
	err := apierrors.NewAlreadyExists(resource, current.Name)
	if generated {
		err = apierrors.NewGenerateNameConflict(resource, current.Name, 1)
	}
	if current.Value.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// placeOf is where an object of the write is.
func (w *write) placeOf(o *storage.Object) place {
	return place{w.resource.Storage, o.Namespace, o.Name}
}
