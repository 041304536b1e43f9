package envtest

import (
	"context"
	"fmt"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// crdTimeout limits the wait for CRDs if ctx does not: a CRD that is not
	// served by then never will be.
	crdTimeout = time.Minute
	// crdInterval is how often the server is asked.
	crdInterval = 50 * time.Millisecond
	// crdOwner is the field owner of what InstallCRDs applies.
	crdOwner = client.FieldOwner("governor-envtest")
)

// crdKind is the only kind that ReadCRDs accepts.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// ReadCRDs reads CustomResourceDefinitions (apiextensions.k8s.io/v1) from files,
// and from the .yaml, .yml and .json files of directories, not of those below
// them. A file may hold several documents. One that is no CRD, a file that cannot be read and a
// directory without CRDs are errors that name the file.
func ReadCRDs(paths ...string) ([]*unstructured.Unstructured, error) {
	return readManifests("CRDs", "CustomResourceDefinition", paths, func(o *unstructured.Unstructured) (bool, error) {
		if gvk := o.GroupVersionKind(); gvk != crdKind {
			return false, fmt.Errorf("is a %s %s, not a CustomResourceDefinition of %s",
				gvk.GroupVersion(), gvk.Kind, crdKind.GroupVersion())
		}
		return true, nil
	})
}

// InstallCRDs creates or updates CRDs, by server-side apply, and returns when
// every version of theirs that is to be served is: the next request for it works. c has
// to be a direct client, as client.New returns. ctx limits the wait, and a
// minute does.
func InstallCRDs(ctx context.Context, c client.Client, crds ...*unstructured.Unstructured) error {
	for _, crd := range crds {
		desired := client.ApplyConfigurationFromUnstructured(crd.DeepCopy())
		if err := c.Apply(ctx, desired, crdOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		err := poll(ctx, func(ctx context.Context) (bool, error) { return served(ctx, c, crd) })
		if err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

// UninstallCRDs deletes CRDs, and with them every object of their kinds, and
// returns when they are gone. One that is not there is gone already.
func UninstallCRDs(ctx context.Context, c client.Client, crds ...*unstructured.Unstructured) error {
	for _, crd := range crds {
		if err := client.IgnoreNotFound(c.Delete(ctx, crd.DeepCopy())); err != nil {
			return fmt.Errorf("uninstall CRD %s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		err := poll(ctx, func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(crd), newCRD())
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("uninstall CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

func newCRD() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	return crd
}

// served says whether the server answers for every version of the CRD. That it
// is Established is not enough: discovery and the handlers learn of it a little
// later. So this lists: a list that works has found the kind in discovery and
// its handler.
func served(ctx context.Context, c client.Client, crd *unstructured.Unstructured) (bool, error) {
	live := newCRD()
	if err := c.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
		return false, err
	}
	if message, ok := condition(live, "NamesAccepted", "False"); ok {
		return false, fmt.Errorf("its names are not accepted: %s", message)
	}
	if _, ok := condition(live, "Established", "True"); !ok {
		return false, nil
	}
	group, _, _ := unstructured.NestedString(live.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(live.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if is, _, _ := unstructured.NestedBool(version, "served"); !is {
			continue
		}
		name, _, _ := unstructured.NestedString(version, "name")
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: name, Kind: kind + "List"})
		switch err := c.List(ctx, list, client.Limit(1)); {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
			return false, nil // not yet
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// condition returns the message of a condition, and whether it has this status.
func condition(crd *unstructured.Unstructured, kind, status string) (string, bool) {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == kind && c["status"] == status {
			return fmt.Sprint(c["message"]), true
		}
	}
	return "", false
}

// poll asks until the answer is yes, or an error.
func poll(ctx context.Context, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, crdTimeout, fmt.Errorf("not there after %v", crdTimeout))
	defer cancel()
	ticker := time.NewTicker(crdInterval)
	defer ticker.Stop()
	for {
		if yes, err := ask(ctx); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
