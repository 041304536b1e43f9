package envtest

import (
	"slices"

	"governor/client"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateKept refuses changes of what a controller might try to change, and
// cannot: the fields of well-known kinds that stay as they were created.
func validateKept(obj, live client.Object) field.ErrorList {
	selector := field.NewPath("spec", "selector")
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		return validation.ValidateImmutableField(obj.Spec.Selector, live.(*appsv1.Deployment).Spec.Selector, selector)
	case *appsv1.ReplicaSet:
		return validation.ValidateImmutableField(obj.Spec.Selector, live.(*appsv1.ReplicaSet).Spec.Selector, selector)
	case *appsv1.DaemonSet:
		return validation.ValidateImmutableField(obj.Spec.Selector, live.(*appsv1.DaemonSet).Spec.Selector, selector)
	case *rbacv1.RoleBinding:
		return keepRole(obj.RoleRef, live.(*rbacv1.RoleBinding).RoleRef)
	case *rbacv1.ClusterRoleBinding:
		return keepRole(obj.RoleRef, live.(*rbacv1.ClusterRoleBinding).RoleRef)
	case *corev1.Pod:
		if !sameButImages(&obj.Spec, &live.(*corev1.Pod).Spec) {
			return field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than "+
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"+
				"`spec.tolerations` (only additions to existing tolerations),"+
				"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")}
		}
	}
	return nil
}

// keepRole words the value as the server does, whose type has no names for JSON.
func keepRole(role, live rbacv1.RoleRef) field.ErrorList {
	if role == live {
		return nil
	}
	value := struct{ APIGroup, Kind, Name string }{role.APIGroup, role.Kind, role.Name}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), value, validation.FieldImmutableErrorMsg)}
}

// sameButImages says whether two pods differ in nothing but what may change of a
// pod that is there: images, how long it may run and take to end, more
// tolerations, fewer scheduling gates.
func sameButImages(pod, live *corev1.PodSpec) bool {
	if !slices.EqualFunc(pod.Containers, live.Containers, func(a, b corev1.Container) bool { return a.Name == b.Name }) ||
		!slices.EqualFunc(pod.InitContainers, live.InitContainers, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		return false
	}
	p := pod.DeepCopy()
	for i := range p.Containers {
		p.Containers[i].Image = live.Containers[i].Image
	}
	for i := range p.InitContainers {
		p.InitContainers[i].Image = live.InitContainers[i].Image
	}
	p.ActiveDeadlineSeconds = live.ActiveDeadlineSeconds
	p.TerminationGracePeriodSeconds = live.TerminationGracePeriodSeconds
	if len(p.SchedulingGates) <= len(live.SchedulingGates) {
		p.SchedulingGates = live.SchedulingGates
	}
	if len(p.Tolerations) >= len(live.Tolerations) {
		p.Tolerations = live.Tolerations
	}
	return equality.Semantic.DeepEqual(p, live)
}
