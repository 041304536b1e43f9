package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"governor/client"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OperationResult is what CreateOrUpdate or CreateOrPatch did.
//
// Upstream: controllerutil.OperationResult.
type OperationResult string

// The results.
const (
	// OperationResultNone means that the object was as it should be.
	OperationResultNone OperationResult = "unchanged"
	// OperationResultCreated means that the object was made.
	OperationResultCreated OperationResult = "created"
	// OperationResultUpdated means that the object was changed.
	OperationResultUpdated OperationResult = "updated"
	// OperationResultUpdatedStatus means that the object and its status were
	// changed, each by its own request.
	OperationResultUpdatedStatus OperationResult = "updatedStatus"
	// OperationResultUpdatedStatusOnly means that only the status was changed.
	OperationResultUpdatedStatusOnly OperationResult = "updatedStatusOnly"
)

// MutateFn makes an object, which its closure holds, what it should be. It must
// not change name and namespace. Its error ends the operation before a write.
//
// Upstream: controllerutil.MutateFn.
type MutateFn func() error

// CreateOrUpdate reads obj by its name and namespace, calls f, and writes what f
// made: with Create when there was none, with Update when f changed it, not at
// all when it did not. A nil f changes nothing. Changes of the status are not
// written where the kind has it as a subresource.
//
// Equal is what means the same to the API: no list and an empty one, 1 and 1000m.
// An f that removes what the server fills in (by replacing a whole pod template)
// changes the object each time, so that the result is "updated" each time: set the
// fields that matter one by one.
//
// When somebody else was faster the error is the server's, AlreadyExists or
// Conflict: return it, and the next try will see the other's work.
//
// Upstream: controllerutil.CreateOrUpdate.
func CreateOrUpdate(ctx context.Context, c client.Client, obj client.Object, f MutateFn) (OperationResult, error) {
	before, err := readAndMutate(ctx, c, obj, f)
	switch {
	case err != nil:
		return OperationResultNone, fmt.Errorf("create or update %T %s: %w", obj, namespacedName(obj), err)
	case before == nil:
		return create(ctx, c, obj)
	case equality.Semantic.DeepEqual(before, obj):
		return OperationResultNone, nil
	}
	if err := c.Update(ctx, obj); err != nil {
		return OperationResultNone, err
	}
	return OperationResultUpdated, nil
}

// CreateOrPatch is CreateOrUpdate with merge patches: one for the object, one for
// its status, each only where f changed something. Since a patch names no
// resourceVersion, what others changed meanwhile stays, unless f changed it too.
// The status of a new object is not written: its first event leads here again.
//
// Upstream: controllerutil.CreateOrPatch.
func CreateOrPatch(ctx context.Context, c client.Client, obj client.Object, f MutateFn) (OperationResult, error) {
	before, err := readAndMutate(ctx, c, obj, f)
	switch {
	case err != nil:
		return OperationResultNone, fmt.Errorf("create or patch %T %s: %w", obj, namespacedName(obj), err)
	case before == nil:
		return create(ctx, c, obj)
	}
	wanted := copyOf(obj)
	statusChanged := !equality.Semantic.DeepEqual(before, withStatus(before, wanted))
	setStatus(obj, copyOf(before)) // for now

	result := OperationResultNone
	if !equality.Semantic.DeepEqual(before, obj) {
		if err := c.Patch(ctx, obj, client.MergeFrom(before)); err != nil {
			return result, err
		}
		result = OperationResultUpdated
	}
	if !statusChanged {
		return result, nil
	}
	base := copyOf(obj)
	setStatus(obj, wanted)
	if err := c.Status().Patch(ctx, obj, client.MergeFrom(base)); err != nil {
		return result, err
	}
	if result == OperationResultUpdated {
		return OperationResultUpdatedStatus, nil
	}
	return OperationResultUpdatedStatusOnly, nil
}

// readAndMutate reads obj, remembers it and calls f. What it remembers is nil
// when there is no such object yet.
func readAndMutate(ctx context.Context, c client.Client, obj client.Object, f MutateFn) (before client.Object, err error) {
	key := client.ObjectKeyFromObject(obj)
	if key.Name == "" {
		return nil, errors.New("the object needs a name")
	}
	if err := c.Get(ctx, key, obj); err == nil {
		before = copyOf(obj)
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	if f == nil {
		return before, nil
	}
	if err := f(); err != nil {
		return nil, err
	}
	if now := client.ObjectKeyFromObject(obj); now != key {
		return nil, fmt.Errorf("the mutate function must not change name and namespace, it made them %s", now)
	}
	if before != nil {
		// Replacing the whole object drops its kind; that is no change to write.
		obj.GetObjectKind().SetGroupVersionKind(before.GetObjectKind().GroupVersionKind())
	}
	return before, nil
}

func create(ctx context.Context, c client.Client, obj client.Object) (OperationResult, error) {
	if err := c.Create(ctx, obj); err != nil {
		return OperationResultNone, err
	}
	return OperationResultCreated, nil
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

// withStatus returns a copy of obj that has the status of src.
func withStatus(obj, src client.Object) client.Object {
	obj = copyOf(obj)
	setStatus(obj, src)
	return obj
}

// setStatus gives dst the status of src, an object of the same Go type. They
// share what it points to.
func setStatus(dst, src client.Object) {
	if u, ok := dst.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		if status, ok := src.(*unstructured.Unstructured).Object["status"]; ok {
			u.Object["status"] = status
		}
		return
	}
	to, from := reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()
	for i := range to.NumField() {
		if name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ","); name == "status" {
			to.Field(i).Set(from.Field(i))
		}
	}
}
