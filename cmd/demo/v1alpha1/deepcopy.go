package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject implements runtime.Object.
func (r *Replica) DeepCopyObject() runtime.Object { return r.DeepCopy() }

// DeepCopy returns a Replica that shares nothing with r.
func (r *Replica) DeepCopy() *Replica {
	if r == nil {
		return nil
	}
	out := &Replica{TypeMeta: r.TypeMeta, Spec: r.Spec, Status: r.Status}
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.NamespaceSelector = r.Spec.NamespaceSelector.DeepCopy()
	out.Spec.Namespaces = slices.Clone(r.Spec.Namespaces)
	out.Status.Namespaces = slices.Clone(r.Status.Namespaces)
	out.Status.Conditions = nil
	for _, c := range r.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *c.DeepCopy())
	}
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *ReplicaList) DeepCopyObject() runtime.Object {
	if l == nil {
		return (*ReplicaList)(nil)
	}
	out := &ReplicaList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	if l.Items != nil {
		out.Items = make([]Replica, len(l.Items))
		for i := range l.Items {
			out.Items[i] = *l.Items[i].DeepCopy()
		}
	}
	return out
}

var (
	_ runtime.Object       = &Replica{}
	_ runtime.Object       = &ReplicaList{}
	_ metav1.Object        = &Replica{}
	_ metav1.ListInterface = &ReplicaList{}
)
