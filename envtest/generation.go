package envtest

import (
	"reflect"

	"governor/client"
	"governor/envtest/kinds"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// counted says whether a resource's generation counts the changes of what its
// objects want. Others keep the one that their creator says.
func counted(r *kinds.Resource) bool {
	return unstructuredKind(r) || strategyOf(r).counted
}

// raiseGeneration raises an object's generation if anything but metadata and
// status differs from the live one.
func (w *write) raiseGeneration(obj, live client.Object) {
	if counted(w.resource) && wantsOther(obj, live) {
		obj.SetGeneration(live.GetGeneration() + 1)
	}
}

func wantsOther(obj, live client.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return unstructuredWantsOther(u, live.(*unstructured.Unstructured))
	}
	switch obj := obj.(type) {
	case *appsv1.Deployment: // its annotations go on to its ReplicaSets
		if !equality.Semantic.DeepEqual(obj.Annotations, live.GetAnnotations()) {
			return true
		}
	case *discoveryv1.EndpointSlice:
		if !equality.Semantic.DeepEqual(obj.Labels, live.GetLabels()) {
			return true
		}
	}
	a, b := reflect.ValueOf(obj).Elem(), reflect.ValueOf(live).Elem()
	for i := range a.NumField() {
		switch a.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !equality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// unstructuredWantsOther compares all but the metadata. The status has been kept if
// it has a subresource of its own; if not, it counts.
func unstructuredWantsOther(obj, live *unstructured.Unstructured) bool {
	for _, u := range []*unstructured.Unstructured{obj, live} {
		for key := range u.Object {
			if key != "metadata" && !equality.Semantic.DeepEqual(obj.Object[key], live.Object[key]) {
				return true
			}
		}
	}
	return false
}
