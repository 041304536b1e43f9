package cache

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldLabel is a field by which the server selects the objects of a kind, and
// so the cache does without an index.
type fieldLabel struct {
	// paths lead to the value, as in JSON; the first that has one counts.
	paths []string
	// zero is what stands for a field that is absent.
	zero string
}

// Ways to write a field label: most are called by their path.
func text(paths ...string) fieldLabel { return fieldLabel{paths, ""} }
func boolean(path string) fieldLabel  { return fieldLabel{[]string{path}, "false"} }
func integer(path string) fieldLabel  { return fieldLabel{[]string{path}, "0"} }

// knownFields are those of the kinds that have more, or fewer, than metadata.name
// and metadata.namespace. Upstream: kubernetes pkg/apis/*/v1/conversion.go (the
// names) and pkg/registry/*/strategy.go (the values).
var knownFields = map[schema.GroupKind]map[string]fieldLabel{
	{Kind: "Pod"}: {
		fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"spec.nodeName": text("spec.nodeName"), "spec.host": text("spec.nodeName"),
		"spec.restartPolicy": text("spec.restartPolicy"), "spec.schedulerName": text("spec.schedulerName"),
		"spec.serviceAccountName": text("spec.serviceAccountName"), "spec.hostNetwork": boolean("spec.hostNetwork"),
		"status.phase": text("status.phase"), "status.nominatedNodeName": text("status.nominatedNodeName"),
		"status.podIP":  text("status.podIPs.0.ip", "status.podIP"),
		"status.podIPs": text(), // it may be asked for, and has no value
	},
	{Kind: "Node"}:      {fieldName: text(fieldName), "spec.unschedulable": boolean("spec.unschedulable")},
	{Kind: "Namespace"}: {fieldName: text(fieldName), "status.phase": text("status.phase")},
	{Kind: "Secret"}:    {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace), "type": text("type")},
	{Kind: "Service"}: {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"spec.clusterIP": text("spec.clusterIP"), "spec.type": text("spec.type")},
	{Kind: "ReplicationController"}: {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"status.replicas": integer("status.replicas")},
	{Kind: "Event"}: {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"involvedObject.kind": text("involvedObject.kind"), "involvedObject.namespace": text("involvedObject.namespace"),
		"involvedObject.name": text("involvedObject.name"), "involvedObject.uid": text("involvedObject.uid"),
		"involvedObject.apiVersion":      text("involvedObject.apiVersion"),
		"involvedObject.resourceVersion": text("involvedObject.resourceVersion"),
		"involvedObject.fieldPath":       text("involvedObject.fieldPath"),
		"reason":                         text("reason"), "type": text("type"), "reportingComponent": text("reportingComponent"),
		"source": text("source.component", "reportingComponent"),
	},
	{Group: "events.k8s.io", Kind: "Event"}: {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"regarding.kind": text("regarding.kind"), "regarding.namespace": text("regarding.namespace"),
		"regarding.name": text("regarding.name"), "regarding.uid": text("regarding.uid"),
		"regarding.apiVersion":      text("regarding.apiVersion"),
		"regarding.resourceVersion": text("regarding.resourceVersion"),
		"regarding.fieldPath":       text("regarding.fieldPath"),
		"reason":                    text("reason"), "type": text("type"), "reportingController": text("reportingController"),
	},
	{Group: "batch", Kind: "Job"}: {fieldName: text(fieldName), fieldNamespace: text(fieldNamespace),
		"status.successful": integer("status.succeeded")},
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: {fieldName: text(fieldName),
		"spec.signerName": text("spec.signerName")},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}: {fieldName: text(fieldName),
		"spec.signerName": text("spec.signerName")},
	{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}: {fieldName: text(fieldName), "spec.signerName": text("spec.signerName"),
		"spec.podName": text("spec.podName"), "spec.nodeName": text("spec.nodeName")},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}: {fieldName: text(fieldName),
		"spec.nodeName": text("spec.nodeName"), "spec.driver": text("spec.driver"), "spec.pool.name": text("spec.pool.name")},
}

// otherFields are those of all other kinds.
var otherFields = map[string]fieldLabel{fieldName: text(fieldName), fieldNamespace: text(fieldNamespace)}

// fieldLabelOf returns what a kind can be selected by without an index.
func fieldLabelOf(kind schema.GroupKind, field string) (label fieldLabel, known bool) {
	fields, special := knownFields[kind]
	if !special {
		fields = otherFields
	}
	label, known = fields[field]
	return label, known
}

// inMetadata says whether an object's metadata is enough to read the field, which
// has a reader.
func inMetadata(kind schema.GroupKind, field string) bool {
	label, _ := fieldLabelOf(kind, field) // there are no paths to owners
	return !slices.ContainsFunc(label.paths, func(p string) bool { return !strings.HasPrefix(p, "metadata.") })
}
