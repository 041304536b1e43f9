package decode

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contract 1, 3, 5.
func FuzzProtobuf(f *testing.F) {
	kinds := []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[resourcev1.ResourceSlice](), reflect.TypeFor[rbacv1.ClusterRole](), reflect.TypeFor[metav1.PartialObjectMetadata]()}
	filler := newFiller(1)
	var real [][]byte
	for k, typ := range kinds {
		obj := reflect.New(typ)
		filler.fill(obj.Elem(), 5)
		real = append(real, marshal(f, obj.Interface()))
		f.Add(uint8(k), real[k])
	}
	f.Add(uint8(0), marshal(f, newPods(f)(0)))
	f.Fuzz(func(t *testing.T, k uint8, data []byte) {
		k %= uint8(len(kinds))
		for _, o := range []*Options{nil, {DropManagedFields: true}} {
			d := New(freshOf(kinds[k]), o)
			check(t, d, real[k])
			check(t, d, data)
			check(t, d, data)
			check(t, d, real[k])
		}
	})
}
