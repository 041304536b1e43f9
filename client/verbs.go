package client

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Get reads one object from the server.
func (d *Direct) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	r, err := d.resourceOf(ctx, obj)
	if err != nil {
		return fmt.Errorf("get %T: %w", obj, err)
	}
	if err := r.get(ctx, key, obj, opts); err != nil {
		return callError("get", r.gvk.GroupKind(), "", key, err)
	}
	return nil
}

func (r *Resource) get(ctx context.Context, key ObjectKey, obj Object, opts []GetOption) error {
	// No option changes a live read; they are folded to hear their complaints.
	if err := new(GetOptions).ApplyOptions(opts); err != nil {
		return err
	}
	req, err := r.named(http.MethodGet, key)
	if err != nil {
		return err
	}
	_, err = r.doInto(ctx, req, obj)
	return err
}

// List reads many objects from the server: one page, if Limit is given.
func (d *Direct) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	r, err := d.resourceOfList(ctx, list)
	if err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	var o ListOptions
	err = o.ApplyOptions(opts)
	if err == nil {
		err = r.list(ctx, list, &o)
	}
	if err != nil {
		return callError("list", r.gvk.GroupKind(), "", ObjectKey{Name: o.where()}, err)
	}
	return nil
}

func (r *Resource) list(ctx context.Context, list ObjectList, o *ListOptions) error {
	if err := r.checkSelection(o.Namespace); err != nil {
		return err
	}
	if o.selectsNothing() {
		empty(list)
		return r.setListKind(list)
	}
	data, err := do(ctx, params(r.collection(http.MethodGet, o.Namespace), o.meta()))
	if err != nil {
		return err
	}
	if err := decodeInto(data, list, r.checkListKind); err != nil {
		return err
	}
	return r.setListKind(list)
}

// empty makes a list one of no items.
func empty(list ObjectList) {
	v := reflect.ValueOf(list).Elem()
	v.Set(reflect.Zero(v.Type()))
}

// setListKind gives a list its kind, and each item its own.
func (r *Resource) setListKind(list ObjectList) error {
	gvk := r.gvk
	gvk.Kind += "List"
	if r.form == Typed {
		var err error
		if gvk, err = r.scheme.GVKForObject(list); err != nil {
			return err
		}
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	return meta.EachListItem(list, func(obj runtime.Object) error {
		obj.GetObjectKind().SetGroupVersionKind(r.gvk)
		return nil
	})
}

// meta translates options to the server's.
func (o *ListOptions) meta() *metav1.ListOptions {
	opts := &metav1.ListOptions{Limit: o.Limit, Continue: o.Continue}
	if o.LabelSelector != nil {
		opts.LabelSelector = o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		opts.FieldSelector = o.FieldSelector.String()
	}
	return opts
}

// where tells a selection's namespace in an error.
func (o *ListOptions) where() string {
	if o.Namespace == "" {
		return ""
	}
	return "in " + o.Namespace
}

// answer is what a change was answered with.
type answer struct {
	data    []byte
	changed bool // it was a write, and no dry run
}

// write runs one change of one object, and adds to its error what was tried.
func (d *Direct) write(ctx context.Context, verb, sub string, obj Object, change func(r *Resource, key ObjectKey) (answer, error)) error {
	r, err := d.resourceOf(ctx, obj)
	if err != nil {
		return fmt.Errorf("%s %T: %w", verb, obj, err)
	}
	key := ObjectKeyFromObject(obj)
	a, err := change(r, key)
	if err != nil {
		if key.Name == "" {
			key.Name = obj.GetGenerateName()
		}
		return callError(verb, r.gvk.GroupKind(), sub, key, err)
	}
	d.wrote(ctx, r, verb, sub, ObjectKeyFromObject(obj), a) // a create may have made the name
	return nil
}

// checkWhole refuses to send an object of which only the metadata is known.
func (r *Resource) checkWhole() error {
	if r.form == MetadataOnly {
		return fmt.Errorf("a metadata-only object is not whole: use Patch, or the typed or unstructured form")
	}
	return nil
}

// Create stores a new object.
func (d *Direct) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	return d.write(ctx, "create", "", obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		var o CreateOptions
		if err := o.ApplyOptions(opts); err != nil {
			return a, err
		}
		if err := r.checkWhole(); err != nil {
			return a, err
		}
		if err := r.checkNamespace(key.Namespace); err != nil {
			return a, err
		}
		req, err := r.body(params(r.request(http.MethodPost, key.Namespace), o.meta()), obj)
		if err != nil {
			return a, err
		}
		a.data, err = r.doInto(ctx, req, obj)
		a.changed = len(o.DryRun) == 0
		return a, err
	})
}

func (o *CreateOptions) meta() runtime.Object {
	return &metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
}

// Update replaces an object.
func (d *Direct) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	return d.update(ctx, "", obj, opts)
}

func (d *Direct) update(ctx context.Context, sub string, obj Object, opts []UpdateOption) error {
	return d.write(ctx, "update", sub, obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		var o UpdateOptions
		if err := o.ApplyOptions(opts); err != nil {
			return a, err
		}
		r, body, err := d.subBody(r, sub, obj, o.SubResourceBody)
		if err != nil {
			return a, err
		}
		if err := r.checkWhole(); err != nil {
			return a, err
		}
		req, err := r.named(http.MethodPut, key)
		if err != nil {
			return a, err
		}
		if req, err = r.body(params(req.SubResource(subPath(sub)...), o.meta()), body); err != nil {
			return a, err
		}
		a.data, err = r.doInto(ctx, req, body)
		a.changed = len(o.DryRun) == 0
		return a, err
	})
}

func (o *UpdateOptions) meta() runtime.Object {
	return &metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
}

// Patch changes parts of an object.
func (d *Direct) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	return d.patch(ctx, "", obj, patch, opts)
}

func (d *Direct) patch(ctx context.Context, sub string, obj Object, patch Patch, opts []PatchOption) error {
	return d.write(ctx, "patch", sub, obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		var o PatchOptions
		if err := o.ApplyOptions(opts); err != nil {
			return a, err
		}
		r, body, err := d.subBody(r, sub, obj, o.SubResourceBody)
		if err != nil {
			return a, err
		}
		if patch == nil {
			return a, fmt.Errorf("the patch is nil")
		}
		data, err := patch.Data(withKind(body, r.gvk))
		if err != nil {
			return a, err
		}
		req, err := r.named(http.MethodPatch, key)
		if err != nil {
			return a, err
		}
		req = patchBody(params(req.SubResource(subPath(sub)...), o.meta()), patch.Type(), data)
		a.data, err = r.doInto(ctx, req, body)
		a.changed = len(o.DryRun) == 0
		return a, err
	})
}

func (o *PatchOptions) meta() runtime.Object {
	return &metav1.PatchOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation, Force: o.Force}
}

// Delete removes an object.
func (d *Direct) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return d.write(ctx, "delete", "", obj, func(r *Resource, key ObjectKey) (a answer, err error) {
		var o DeleteOptions
		if err := o.ApplyOptions(opts); err != nil {
			return a, err
		}
		req, err := r.named(http.MethodDelete, key)
		if err != nil {
			return a, err
		}
		if req, err = deleteBody(req, &o); err != nil {
			return a, err
		}
		a.data, err = do(ctx, req)
		a.changed = len(o.DryRun) == 0
		return a, err
	})
}

// DeleteAllOf removes every object of obj's kind that the options select.
func (d *Direct) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	r, err := d.resourceOf(ctx, obj)
	if err != nil {
		return fmt.Errorf("delete all of %T: %w", obj, err)
	}
	var o DeleteAllOfOptions
	var a answer
	err = o.ApplyOptions(opts)
	if err == nil {
		a, err = r.deleteAllOf(ctx, &o)
	}
	if err != nil {
		return callError("delete all of", r.gvk.GroupKind(), "", ObjectKey{Name: o.where()}, err)
	}
	d.wrote(ctx, r, "deletecollection", "", ObjectKey{Namespace: o.Namespace}, a)
	return nil
}

func (r *Resource) deleteAllOf(ctx context.Context, o *DeleteAllOfOptions) (a answer, err error) {
	if err := r.checkSelection(o.Namespace); err != nil {
		return a, err
	}
	if r.Namespaced() && o.Namespace == "" {
		return a, fmt.Errorf("%s lives in namespaces, and the server deletes in one at a time: pass InNamespace", r.gvk.Kind)
	}
	if o.selectsNothing() {
		return a, nil
	}
	req, err := deleteBody(params(r.collection(http.MethodDelete, o.Namespace), o.ListOptions.meta()), &o.DeleteOptions)
	if err != nil {
		return a, err
	}
	a.data, err = do(ctx, req)
	a.changed = len(o.DeleteOptions.DryRun) == 0
	return a, err
}
