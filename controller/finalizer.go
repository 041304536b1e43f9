package controller

import (
	"slices"

	"governor/client"
)

// AddFinalizer adds a finalizer to an object in memory, unless it is there. It
// says whether it did, so whether the object has to be written.
//
// Upstream: controllerutil.AddFinalizer.
func AddFinalizer(o client.Object, finalizer string) (added bool) {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer from an object in memory, as often as it
// is there. It says whether it was.
//
// Upstream: controllerutil.RemoveFinalizer.
func RemoveFinalizer(o client.Object, finalizer string) (removed bool) {
	if !ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
	return true
}

// ContainsFinalizer says whether an object has a finalizer.
//
// Upstream: controllerutil.ContainsFinalizer.
func ContainsFinalizer(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}
