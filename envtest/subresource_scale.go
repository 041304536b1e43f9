package envtest

import (
	"fmt"
	"strings"

	"governor/client"
	"governor/envtest/kinds"
	"governor/envtest/storage"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// getScale answers with how far an object is scaled.
func (s *Server) getScale(c *call, o *storage.Object) (*answer, error) {
	w := c.newWrite(nil, "")
	live, err := w.live(o)
	if err != nil {
		return nil, err
	}
	scale, found, err := scaleOf(c.resource, live)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", c.resource.Custom.SpecReplicasPath))
	}
	return &answer{value: scale}, nil
}

// scale is the Scale of an object that has been written.
func (w *write) scale(o *storage.Object) (*autoscalingv1.Scale, error) {
	live, err := w.live(o)
	if err != nil {
		return nil, err
	}
	scale, _, err := scaleOf(w.resource, live)
	return scale, err
}

// scaleOf returns the Scale of an object; found says whether it says how many
// replicas it wants.
func scaleOf(r *kinds.Resource, obj client.Object) (scale *autoscalingv1.Scale, found bool, err error) {
	scale = &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name:              obj.GetName(),
		Namespace:         obj.GetNamespace(),
		UID:               obj.GetUID(),
		ResourceVersion:   obj.GetResourceVersion(),
		CreationTimestamp: obj.GetCreationTimestamp(),
	}}
	scale.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	var replicas *int32
	var selector *metav1.LabelSelector
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		replicas, selector, scale.Status.Replicas = obj.Spec.Replicas, obj.Spec.Selector, obj.Status.Replicas
	case *appsv1.ReplicaSet:
		replicas, selector, scale.Status.Replicas = obj.Spec.Replicas, obj.Spec.Selector, obj.Status.Replicas
	case *appsv1.StatefulSet:
		replicas, selector, scale.Status.Replicas = obj.Spec.Replicas, obj.Spec.Selector, obj.Status.Replicas
	case *corev1.ReplicationController:
		scale.Status.Replicas = obj.Status.Replicas
		scale.Status.Selector = labels.SelectorFromSet(obj.Spec.Selector).String()
		replicas = obj.Spec.Replicas
	case *unstructured.Unstructured:
		found, err := customScale(r.Custom, obj, scale)
		return scale, found, err
	default:
		return nil, false, fmt.Errorf("%T has no scale", obj)
	}
	if replicas != nil {
		scale.Spec.Replicas = *replicas
	}
	if selector != nil {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return nil, false, errBadRequest(err.Error())
		}
		scale.Status.Selector = s.String()
	}
	return scale, true, nil
}

// customScale reads a Scale from where a CRD says that it is.
func customScale(c *kinds.Custom, obj *unstructured.Unstructured, scale *autoscalingv1.Scale) (found bool, err error) {
	wanted, found, err := unstructured.NestedInt64(obj.Object, pathOf(c.SpecReplicasPath)...)
	if err != nil {
		return false, err
	}
	there, _, err := unstructured.NestedInt64(obj.Object, pathOf(c.StatusReplicasPath)...)
	if err != nil {
		return false, err
	}
	scale.Spec.Replicas, scale.Status.Replicas = int32(wanted), int32(there)
	if c.LabelSelectorPath != "" {
		scale.Status.Selector, _, err = unstructured.NestedString(obj.Object, pathOf(c.LabelSelectorPath)...)
	}
	return found, err
}

// pathOf splits a path such as .spec.replicas.
func pathOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// unset is the number of replicas of a custom object that has none.
const unset = -1 << 31

// nextScaled asks next for the next Scale of an object, and returns the object scaled so.
func (w *write) nextScaled(next func(live client.Object) (client.Object, error), live client.Object) (client.Object, error) {
	scale, found, err := scaleOf(w.resource, live)
	if err != nil {
		return nil, err
	}
	if !found {
		scale.Spec.Replicas = unset
	}
	handler := managedfields.NewScaleHandler(live.GetManagedFields(), w.resource.GroupVersionKind.GroupVersion(), w.replicasPaths())
	managed, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	scale.ManagedFields = managed
	sent, err := next(scale)
	if err != nil {
		return nil, err
	}
	wanted, ok := sent.(*autoscalingv1.Scale)
	if !ok {
		return nil, errBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", sent))
	}
	if err := w.checkScale(wanted); err != nil {
		return nil, err
	}
	obj := live.DeepCopyObject().(client.Object)
	if err := setReplicas(w.resource, obj, wanted.Spec.Replicas); err != nil {
		return nil, err
	}
	if wanted.ResourceVersion != "" {
		obj.SetResourceVersion(wanted.ResourceVersion)
	}
	entries, err := handler.ToParent(wanted.ManagedFields)
	if err != nil {
		return nil, err
	}
	obj.SetManagedFields(entries)
	return obj, nil
}

// checkScale refuses numbers that make no sense. Those of custom objects are
// checked with the object.
func (w *write) checkScale(scale *autoscalingv1.Scale) error {
	if w.resource.Custom != nil {
		if scale.Spec.Replicas == unset {
			return errBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", w.resource.Custom.SpecReplicasPath))
		}
		return nil
	}
	if scale.Spec.Replicas < 0 {
		kind := autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind()
		return apierrors.NewInvalid(kind, scale.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0"),
		})
	}
	return nil
}

func setReplicas(r *kinds.Resource, obj client.Object, n int32) error {
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		obj.Spec.Replicas = &n
	case *appsv1.ReplicaSet:
		obj.Spec.Replicas = &n
	case *appsv1.StatefulSet:
		obj.Spec.Replicas = &n
	case *corev1.ReplicationController:
		obj.Spec.Replicas = &n
	case *unstructured.Unstructured:
		return unstructured.SetNestedField(obj.Object, int64(n), pathOf(r.Custom.SpecReplicasPath)...)
	}
	return nil
}

// replicasPaths says where the number of replicas is, by version: whose field it
// is, is known by that.
func (w *write) replicasPaths() managedfields.ResourcePathMappings {
	path := fieldpath.MakePathOrDie("spec", "replicas")
	if w.resource.Custom != nil {
		path = fieldpath.Path{}
		for _, name := range pathOf(w.resource.Custom.SpecReplicasPath) {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
	}
	return managedfields.ResourcePathMappings{w.resource.GroupVersionKind.GroupVersion().String(): path}
}
