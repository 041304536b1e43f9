package envtest

import (
	"maps"

	"governor/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setDefaults fills in what an object of a well-known kind leaves open. That is
// what makes a controller that compares its wish with the server's answer loop for
// ever, so tests should see it. Upstream: kubernetes pkg/apis/*/v1/defaults.go.
func setDefaults(obj client.Object) {
	switch obj := obj.(type) {
	case *corev1.Namespace:
		labelNamespace(obj)
	case *corev1.Secret:
		defaultSecret(obj)
	case *corev1.Service:
		defaultService(&obj.Spec)
	case *corev1.PersistentVolume:
		preset(&obj.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
		fill(&obj.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case *corev1.PersistentVolumeClaim:
		fill(&obj.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case *storagev1.StorageClass:
		fill(&obj.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		fill(&obj.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	case *rbacv1.RoleBinding:
		defaultBinding(&obj.RoleRef, obj.Subjects)
	case *rbacv1.ClusterRoleBinding:
		defaultBinding(&obj.RoleRef, obj.Subjects)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range obj.Webhooks {
			defaultMutatingWebhook(&obj.Webhooks[i])
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range obj.Webhooks {
			defaultValidatingWebhook(&obj.Webhooks[i])
		}
	default:
		defaultWorkload(obj)
	}
}

// defaultWorkload fills in pods, and what makes pods.
func defaultWorkload(obj client.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		defaultPod(obj)
	case *corev1.PodTemplate:
		defaultPodSpec(&obj.Template.Spec)
	case *corev1.ReplicationController:
		defaultReplicationController(obj)
	case *appsv1.Deployment:
		defaultDeployment(&obj.Spec)
	case *appsv1.ReplicaSet:
		fill(&obj.Spec.Replicas, 1)
		defaultPodSpec(&obj.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		defaultStatefulSet(&obj.Spec)
	case *appsv1.DaemonSet:
		defaultDaemonSet(&obj.Spec)
	case *batchv1.Job:
		fill(&obj.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
		defaultJob(&obj.Spec)
	case *batchv1.CronJob:
		preset(&obj.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		fill(&obj.Spec.Suspend, false)
		fill(&obj.Spec.SuccessfulJobsHistoryLimit, 3)
		fill(&obj.Spec.FailedJobsHistoryLimit, 1)
		defaultPodSpec(&obj.Spec.JobTemplate.Spec.Template.Spec)
	}
}

// fill sets what is nil.
func fill[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// preset sets what is zero.
func preset[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// defaultSecret also moves what was given as text to where it is read.
func defaultSecret(s *corev1.Secret) {
	preset(&s.Type, corev1.SecretTypeOpaque)
	if s.StringData == nil {
		return
	}
	if s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

func defaultService(s *corev1.ServiceSpec) {
	preset(&s.SessionAffinity, corev1.ServiceAffinityNone)
	preset(&s.Type, corev1.ServiceTypeClusterIP)
	for i := range s.Ports {
		preset(&s.Ports[i].Protocol, corev1.ProtocolTCP)
		preset(&s.Ports[i].TargetPort, intstr.FromInt32(s.Ports[i].Port))
	}
	if s.Type != corev1.ServiceTypeExternalName {
		fill(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

func defaultBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	preset(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if k := subjects[i].Kind; k == rbacv1.UserKind || k == rbacv1.GroupKind {
			preset(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func defaultReplicationController(rc *corev1.ReplicationController) {
	fill(&rc.Spec.Replicas, 1)
	if rc.Spec.Template == nil {
		return
	}
	labels := rc.Spec.Template.Labels
	if len(rc.Spec.Selector) == 0 {
		rc.Spec.Selector = maps.Clone(labels)
	}
	if len(rc.Labels) == 0 {
		rc.Labels = maps.Clone(labels)
	}
	defaultPodSpec(&rc.Spec.Template.Spec)
}

func defaultDeployment(s *appsv1.DeploymentSpec) {
	fill(&s.Replicas, 1)
	fill(&s.RevisionHistoryLimit, 10)
	fill(&s.ProgressDeadlineSeconds, 600)
	preset(&s.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		fill(&s.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		fill(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		fill(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaultPodSpec(&s.Template.Spec)
}

func defaultStatefulSet(s *appsv1.StatefulSetSpec) {
	preset(&s.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	preset(&s.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if s.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		fill(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
		fill(&s.UpdateStrategy.RollingUpdate.Partition, 0)
	}
	fill(&s.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	preset(&s.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	preset(&s.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	fill(&s.Replicas, 1)
	fill(&s.RevisionHistoryLimit, 10)
	defaultPodSpec(&s.Template.Spec)
	for i := range s.VolumeClaimTemplates {
		claim := &s.VolumeClaimTemplates[i]
		preset(&claim.APIVersion, "v1")
		preset(&claim.Kind, "PersistentVolumeClaim")
		preset(&claim.Status.Phase, corev1.ClaimPending)
		fill(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

func defaultDaemonSet(s *appsv1.DaemonSetSpec) {
	preset(&s.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if s.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		fill(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		fill(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		fill(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	fill(&s.RevisionHistoryLimit, 10)
	defaultPodSpec(&s.Template.Spec)
}

func defaultJob(s *batchv1.JobSpec) {
	if s.Completions == nil && s.Parallelism == nil {
		fill(&s.Completions, 1)
	}
	fill(&s.Parallelism, 1)
	fill(&s.BackoffLimit, 6)
	fill(&s.CompletionMode, batchv1.NonIndexedCompletion)
	fill(&s.Suspend, false)
	fill(&s.ManualSelector, false)
	defaultPodSpec(&s.Template.Spec)
}
