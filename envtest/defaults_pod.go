package envtest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func defaultPod(p *corev1.Pod) {
	for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, limit := range r.Limits {
				if _, ok := r.Requests[name]; ok {
					continue
				}
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = limit.DeepCopy()
			}
		}
	}
	fill(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	defaultPodSpec(&p.Spec)
	if p.Spec.HostNetwork {
		for i := range p.Spec.Containers {
			for j := range p.Spec.Containers[i].Ports {
				port := &p.Spec.Containers[i].Ports[j]
				preset(&port.HostPort, port.ContainerPort)
			}
		}
	}
}

func defaultPodSpec(s *corev1.PodSpec) {
	preset(&s.DNSPolicy, corev1.DNSClusterFirst)
	preset(&s.RestartPolicy, corev1.RestartPolicyAlways)
	preset(&s.SchedulerName, corev1.DefaultSchedulerName)
	fill(&s.SecurityContext, corev1.PodSecurityContext{})
	fill(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	preset(&s.DeprecatedServiceAccount, s.ServiceAccountName)
	for i := range s.Volumes {
		defaultVolume(&s.Volumes[i].VolumeSource)
	}
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		c := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&c)
		s.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
}

func defaultContainer(c *corev1.Container) {
	preset(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	preset(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	preset(&c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		preset(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			preset(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			defaultProbe(probe)
		}
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				defaultHTTPGet(handler.HTTPGet)
			}
		}
	}
}

// pullPolicy is IfNotPresent for an image that does not change under its name.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if strings.Contains(name, "@") || tagged && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func defaultProbe(p *corev1.Probe) {
	preset(&p.TimeoutSeconds, 1)
	preset(&p.PeriodSeconds, 10)
	preset(&p.SuccessThreshold, 1)
	preset(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		fill(&p.GRPC.Service, "")
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		preset(&get.Path, "/")
		preset(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func defaultVolume(v *corev1.VolumeSource) {
	switch {
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case v.Secret != nil:
		fill(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case v.ConfigMap != nil:
		fill(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case v.DownwardAPI != nil:
		fill(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultFieldRefs(v.DownwardAPI.Items)
	case v.HostPath != nil:
		fill(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Projected != nil:
		fill(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				defaultFieldRefs(source.DownwardAPI.Items)
			}
			if source.ServiceAccountToken != nil {
				fill(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
		}
	}
}

func defaultFieldRefs(items []corev1.DownwardAPIVolumeFile) {
	for _, item := range items {
		if item.FieldRef != nil {
			preset(&item.FieldRef.APIVersion, "v1")
		}
	}
}
