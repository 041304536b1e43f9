package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// ApplyConfigurationFromUnstructured lets Client.Apply take an unstructured
// object: what u has is what the caller owns. u gets the reply.
func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration {
	return &unstructuredConfiguration{u}
}

type unstructuredConfiguration struct{ *unstructured.Unstructured }

// IsApplyConfiguration makes it a runtime.ApplyConfiguration.
func (*unstructuredConfiguration) IsApplyConfiguration() {}

// typedConfiguration is what client-go's generated apply configurations have.
type typedConfiguration interface {
	GetName() *string
	GetNamespace() *string
	GetKind() *string
	GetAPIVersion() *string
}

var errNoFieldOwner = errors.New(`the field owner is missing: pass client.FieldOwner("name-of-your-controller")`)

// Apply is server-side apply. The body is always JSON.
func (d *Direct) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	return d.apply(ctx, "", obj, opts)
}

func (d *Direct) apply(ctx context.Context, sub string, obj runtime.ApplyConfiguration, opts []ApplyOption) error {
	gvk, key, err := d.identify(obj)
	if err != nil {
		return fmt.Errorf("apply %T: %w", obj, err)
	}
	var a answer
	r, err := d.resource(ctx, gvk, Unstructured, nil)
	if err == nil {
		a, err = r.apply(ctx, sub, key, obj, opts)
	}
	if err != nil {
		return callError("apply", gvk.GroupKind(), sub, key, err)
	}
	d.wrote(ctx, r, "patch", sub, key, a)
	return nil
}

func (r *Resource) apply(ctx context.Context, sub string, key ObjectKey, obj runtime.ApplyConfiguration, opts []ApplyOption) (a answer, err error) {
	var o ApplyOptions
	if err := o.ApplyOptions(opts); err != nil {
		return a, err
	}
	if o.FieldManager == "" {
		return a, errNoFieldOwner
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return a, err
	}
	req, err := r.named(http.MethodPatch, key)
	if err != nil {
		return a, err
	}
	req = params(req.SubResource(subPath(sub)...), &metav1.PatchOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, Force: o.Force})
	a.changed = len(o.DryRun) == 0
	if a.data, err = do(ctx, patchBody(req, types.ApplyPatchType, data)); err != nil {
		return a, err
	}
	return a, r.decodeConfiguration(a.data, obj)
}

// decodeConfiguration replaces a configuration by the server's reply.
func (r *Resource) decodeConfiguration(reply []byte, obj runtime.ApplyConfiguration) error {
	if u, ok := obj.(*unstructuredConfiguration); ok {
		return decodeInto(reply, u.Unstructured, r.checkKind)
	}
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	if err := json.Unmarshal(reply, fresh.Interface()); err != nil {
		return fmt.Errorf("decode the reply: %w", err)
	}
	if kind := text(fresh.Interface().(typedConfiguration).GetKind()); kind != r.gvk.Kind {
		return fmt.Errorf("decode the reply: %w", r.checkKind(kind))
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return nil
}

// identify returns kind and key of what is applied.
func (d *Direct) identify(obj runtime.ApplyConfiguration) (schema.GroupVersionKind, ObjectKey, error) {
	var none schema.GroupVersionKind
	if err := checkNotNil(obj); err != nil {
		return none, ObjectKey{}, err
	}
	if u, ok := obj.(*unstructuredConfiguration); ok {
		gvk, err := d.GroupVersionKindFor(u.Unstructured)
		if err != nil {
			return none, ObjectKey{}, err
		}
		return gvk, ObjectKeyFromObject(u.Unstructured), nil
	}
	c, ok := obj.(typedConfiguration)
	if !ok {
		return none, ObjectKey{}, errors.New("not an apply configuration with GetName, GetNamespace, GetKind and GetAPIVersion: use client-go's, or ApplyConfigurationFromUnstructured")
	}
	gvk := schema.FromAPIVersionAndKind(text(c.GetAPIVersion()), text(c.GetKind()))
	if gvk.Kind == "" || gvk.Version == "" {
		return none, ObjectKey{}, errors.New("apiVersion or kind is missing: make it with its constructor, like applycorev1.Pod(name, namespace)")
	}
	return gvk, ObjectKey{Namespace: text(c.GetNamespace()), Name: text(c.GetName())}, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
