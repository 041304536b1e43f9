package envtest

import (
	"errors"
	"fmt"
	"strconv"

	"governor/client"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldLabels are the fields by which objects of one kind can be selected.
// Upstream: kubernetes pkg/apis/*/v1/conversion.go (the names), and
// pkg/registry/*/strategy.go (the values).
type fieldLabels struct {
	// names that requests may use → names that value knows.
	names map[string]string
	// refusal words the error for others.
	refusal func(label string) string
	// read returns a field of a stored object other than name and namespace; nil if there are none.
	read func(object client.Object, field string) string
}

// translate is for fields.Selector.Transform.
func (f *fieldLabels) translate(label, value string) (string, string, error) {
	name, ok := f.names[label]
	if !ok {
		return "", "", errors.New(f.refusal(label))
	}
	return name, value, nil
}

func (f *fieldLabels) value(object client.Object, field string) string {
	if f.read == nil {
		return ""
	}
	return f.read(object, field)
}

// named makes the names of a kind that calls its fields as they are stored.
func named(labels ...string) map[string]string {
	names := make(map[string]string)
	for _, label := range labels {
		names[label] = label
	}
	return names
}

var (
	nameOnly  = named("metadata.name")
	metaNames = named("metadata.name", "metadata.namespace")
)

func plainRefusal(label string) string { return "field label not supported: " + label }

func metaRefusal(label string) string {
	return fmt.Sprintf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, label)
}

func jobRefusal(label string) string {
	return fmt.Sprintf("field label %q not supported for Job", label)
}

func sliceRefusal(label string) string {
	return "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: " + label
}

// builtinFields are those of the kinds that have more than name and namespace.
var builtinFields = map[schema.GroupKind]*fieldLabels{
	{Kind: "Pod"}: {read: podField, refusal: plainRefusal, names: merged(named("metadata.name", "metadata.namespace",
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
		map[string]string{"spec.host": "spec.nodeName"})},
	{Kind: "Node"}:                  {read: nodeField, refusal: plainRefusal, names: named("metadata.name", "spec.unschedulable")},
	{Kind: "Namespace"}:             {read: namespaceField, refusal: plainRefusal, names: named("metadata.name", "status.phase")},
	{Kind: "Secret"}:                {read: secretField, refusal: plainRefusal, names: named("metadata.name", "metadata.namespace", "type")},
	{Kind: "Service"}:               {read: serviceField, refusal: plainRefusal, names: named("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type")},
	{Kind: "ReplicationController"}: {read: replicationControllerField, refusal: plainRefusal, names: named("metadata.name", "metadata.namespace", "status.replicas")},
	{Kind: "Event"}: {read: eventField, refusal: plainRefusal, names: named("metadata.name", "metadata.namespace",
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type")},
	{Group: "events.k8s.io", Kind: "Event"}: {read: eventField, refusal: plainRefusal, names: merged(
		named("metadata.name", "metadata.namespace", "reason", "type"),
		map[string]string{
			"regarding.kind":            "involvedObject.kind",
			"regarding.namespace":       "involvedObject.namespace",
			"regarding.name":            "involvedObject.name",
			"regarding.uid":             "involvedObject.uid",
			"regarding.apiVersion":      "involvedObject.apiVersion",
			"regarding.resourceVersion": "involvedObject.resourceVersion",
			"regarding.fieldPath":       "involvedObject.fieldPath",
			"reportingController":       "reportingComponent",
		})},
	{Group: "batch", Kind: "Job"}:                                     {read: jobField, refusal: jobRefusal, names: named("metadata.name", "metadata.namespace", "status.successful")},
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: {read: signerField, refusal: plainRefusal, names: named("metadata.name", "spec.signerName")},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:        {read: signerField, refusal: plainRefusal, names: named("metadata.name", "spec.signerName")},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                 {read: resourceSliceField, refusal: sliceRefusal, names: named("metadata.name", "spec.nodeName", "spec.driver", "spec.pool.name")},
}

func merged(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

func podField(object client.Object, field string) string {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return ""
	}
	switch field {
	case "spec.nodeName":
		return pod.Spec.NodeName
	case "spec.restartPolicy":
		return string(pod.Spec.RestartPolicy)
	case "spec.schedulerName":
		return pod.Spec.SchedulerName
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName
	case "spec.hostNetwork":
		return strconv.FormatBool(pod.Spec.HostNetwork)
	case "status.phase":
		return string(pod.Status.Phase)
	case "status.podIP":
		if len(pod.Status.PodIPs) > 0 {
			return pod.Status.PodIPs[0].IP
		}
		return pod.Status.PodIP
	case "status.nominatedNodeName":
		return pod.Status.NominatedNodeName
	}
	return "" // status.podIPs may be asked for, and has no value
}

func nodeField(object client.Object, _ string) string {
	node, ok := object.(*corev1.Node)
	return strconv.FormatBool(ok && node.Spec.Unschedulable)
}

func namespaceField(object client.Object, _ string) string {
	if namespace, ok := object.(*corev1.Namespace); ok {
		return string(namespace.Status.Phase)
	}
	return ""
}

func secretField(object client.Object, _ string) string {
	if secret, ok := object.(*corev1.Secret); ok {
		return string(secret.Type)
	}
	return ""
}

func serviceField(object client.Object, field string) string {
	service, ok := object.(*corev1.Service)
	switch {
	case !ok:
		return ""
	case field == "spec.type":
		return string(service.Spec.Type)
	default:
		return service.Spec.ClusterIP
	}
}

func replicationControllerField(object client.Object, _ string) string {
	if rc, ok := object.(*corev1.ReplicationController); ok {
		return strconv.Itoa(int(rc.Status.Replicas))
	}
	return ""
}

func jobField(object client.Object, _ string) string {
	if job, ok := object.(*batchv1.Job); ok {
		return strconv.Itoa(int(job.Status.Succeeded))
	}
	return ""
}

func signerField(object client.Object, _ string) string {
	switch o := object.(type) {
	case *certificatesv1.CertificateSigningRequest:
		return o.Spec.SignerName
	case *certificatesv1beta1.ClusterTrustBundle:
		return o.Spec.SignerName
	}
	return ""
}

func resourceSliceField(object client.Object, field string) string {
	slice, ok := object.(*resourcev1.ResourceSlice)
	switch {
	case !ok:
		return ""
	case field == "spec.driver":
		return slice.Spec.Driver
	case field == "spec.pool.name":
		return slice.Spec.Pool.Name
	case slice.Spec.NodeName != nil:
		return *slice.Spec.NodeName
	}
	return ""
}

// eventField reads events as they are stored, in the core group.
func eventField(object client.Object, field string) string {
	event, ok := object.(*corev1.Event)
	if !ok {
		return ""
	}
	switch field {
	case "involvedObject.kind":
		return event.InvolvedObject.Kind
	case "involvedObject.namespace":
		return event.InvolvedObject.Namespace
	case "involvedObject.name":
		return event.InvolvedObject.Name
	case "involvedObject.uid":
		return string(event.InvolvedObject.UID)
	case "involvedObject.apiVersion":
		return event.InvolvedObject.APIVersion
	case "involvedObject.resourceVersion":
		return event.InvolvedObject.ResourceVersion
	case "involvedObject.fieldPath":
		return event.InvolvedObject.FieldPath
	case "reason":
		return event.Reason
	case "reportingComponent":
		return event.ReportingController
	case "source":
		if event.Source.Component != "" {
			return event.Source.Component
		}
		return event.ReportingController
	case "type":
		return event.Type
	}
	return ""
}
