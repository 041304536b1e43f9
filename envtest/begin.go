package envtest

import (
	"slices"

	"governor/client"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// begin fills in what the server says of new objects of some kinds, whatever
// their creator said.
func begin(obj client.Object, user User) {
	switch obj := obj.(type) {
	case *corev1.Namespace:
		obj.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		if !slices.Contains(obj.Spec.Finalizers, corev1.FinalizerKubernetes) {
			obj.Spec.Finalizers = append(obj.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	case *corev1.Pod:
		obj.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&obj.Spec)}
	case *corev1.PersistentVolumeClaim:
		obj.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	case *corev1.PersistentVolume:
		t := now()
		obj.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &t}
	case *certificatesv1.CertificateSigningRequest:
		obj.Spec.Username, obj.Spec.UID, obj.Spec.Groups, obj.Spec.Extra = user.Name, user.UID, user.Groups, nil
	}
}

// canonicalize fills in what is derived from the rest of an object. It comes last: the name is known now.
func (w *write) canonicalize(obj client.Object) {
	if ns, ok := obj.(*corev1.Namespace); ok {
		labelNamespace(ns)
	}
}

// labelNamespace gives a namespace the label by which selectors find it.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// hasSpecFinalizers says whether a namespace is held by what stands in its spec.
func hasSpecFinalizers(obj client.Object) bool {
	ns, ok := obj.(*corev1.Namespace)
	return ok && len(ns.Spec.Finalizers) > 0
}

// keepParts keeps, in an update of the object itself, the parts that have another way.
func keepParts(obj, live client.Object) {
	switch obj := obj.(type) {
	case *corev1.Namespace:
		obj.Spec.Finalizers = live.(*corev1.Namespace).Spec.Finalizers
	case *corev1.Secret:
		if obj.Type == "" {
			obj.Type = live.(*corev1.Secret).Type
		}
	case *certificatesv1.CertificateSigningRequest:
		obj.Spec = live.(*certificatesv1.CertificateSigningRequest).Spec
	}
}

// keepStatusParts keeps, in an update of the status, what is not a status's.
func keepStatusParts(obj, live client.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		old := live.(*corev1.Pod)
		obj.OwnerReferences = old.OwnerReferences
		obj.DeletionTimestamp = nil // comes back from the live one
		if obj.Status.QOSClass == "" {
			obj.Status.QOSClass = old.Status.QOSClass
		}
	case *appsv1.Deployment:
		obj.Labels = live.GetLabels()
	case *certificatesv1.CertificateSigningRequest:
		prepareCertificate(obj, live.(*certificatesv1.CertificateSigningRequest))
	}
}

// preparePodPart keeps all of a pod but what a subresource of it changes.
func preparePodPart(obj, live client.Object, subresource string) {
	pod, old := obj.(*corev1.Pod), live.(*corev1.Pod)
	sent := pod.Spec
	managed, version := pod.ManagedFields, pod.ResourceVersion
	old.DeepCopyInto(pod)
	pod.ManagedFields, pod.ResourceVersion = managed, version
	if subresource == "ephemeralcontainers" {
		pod.Spec.EphemeralContainers = sent.EphemeralContainers
		return
	}
	resize(pod.Spec.Containers, sent.Containers)
	resize(pod.Spec.InitContainers, sent.InitContainers)
}

func resize(containers, sent []corev1.Container) {
	for i := range containers {
		for _, s := range sent {
			if s.Name == containers[i].Name {
				containers[i].Resources, containers[i].ResizePolicy = s.Resources, s.ResizePolicy
			}
		}
	}
}

// qosClass is how well a pod's resources are guaranteed.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	any, all := false, true
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[resource], c.Resources.Limits[resource]
			if request.IsZero() {
				request = limit // which is its default
			}
			any = any || !request.IsZero() || !limit.IsZero()
			all = all && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}
