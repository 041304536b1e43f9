package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A server ignores some fields of a write: the status in a write to the object,
// the spec in a write to its status. Whoever sends them does not come to own them.
// The rule is that a resource with a status subresource resets status, and its
// status resets spec; moreResets are the exceptions, as the strategies in
// Kubernetes' pkg/registry have them.
var moreResets = map[schema.GroupResource]map[string][]fieldpath.Path{
	{Resource: "pods"}: {"status": {path("spec"), path("metadata", "deletionTimestamp"), path("metadata", "ownerReferences")}},

	{Resource: "namespaces"}:                 {"finalize": {path("status")}},
	{Group: "apps", Resource: "deployments"}: {"status": {path("spec"), path("metadata", "labels")}},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {
		"":         {path("spec"), path("status")},
		"status":   {path("spec"), path("status", "conditions")},
		"approval": {path("spec"), path("status", "certificate")},
	},
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:               {"status": specAndMetadata},
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:                           {"status": specAndMetadata},
	{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}:         {"status": specAndMetadata},
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:                           {"status": specAndMetadata},
	{Group: "resource.k8s.io", Resource: "devicetaintrules"}:                         {"status": specAndMetadata},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}:                 {"status": specAndMetadata},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}: {"status": specAndMetadata},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}: {"status": specAndMetadata},
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:                         {"status": specAndMetadata},
	{Group: "storage.k8s.io", Resource: "csinodes"}:                                  {"": {path("status")}},
}

var specAndMetadata = []fieldpath.Path{path("spec"), path("metadata")}

// onlyFields are the subresources of pods that write nothing but a few fields.
var onlyFields = map[string]fieldpath.Filter{
	"ephemeralcontainers": fieldpath.NewIncludeMatcherFilter(
		fieldpath.MakePrefixMatcherOrDie("spec", "ephemeralContainers"),
	),
	"resize": fieldpath.NewIncludeMatcherFilter(
		fieldpath.MakePrefixMatcherOrDie("spec", "containers", fieldpath.MatchAnyPathElement(), "resources"),
		fieldpath.MakePrefixMatcherOrDie("spec", "containers", fieldpath.MatchAnyPathElement(), "resizePolicy"),
		fieldpath.MakePrefixMatcherOrDie("spec", "initContainers", fieldpath.MatchAnyPathElement(), "resources"),
		fieldpath.MakePrefixMatcherOrDie("spec", "initContainers", fieldpath.MatchAnyPathElement(), "resizePolicy"),
	),
}

// path returns the path of a field, whose parts are constants.
func path(fields ...any) fieldpath.Path { return fieldpath.MakePathOrDie(fields...) }

// resets returns the filter of what a write to a subresource ("": the object) of
// a built-in resource may own, for each of its versions.
func resets(r *Resource, subresource string, versions []schema.GroupVersion) map[fieldpath.APIVersion]fieldpath.Filter {
	resource := r.GroupVersionResource.GroupResource()
	filters := make(map[fieldpath.APIVersion]fieldpath.Filter, len(versions))
	if only := onlyFields[subresource]; only != nil && resource == (schema.GroupResource{Resource: "pods"}) {
		for _, gv := range versions {
			filters[fieldpath.APIVersion(gv.String())] = only
		}
		return filters
	}
	paths, special := moreResets[resource][subresource]
	if !special {
		switch {
		case subresource == "status":
			paths = []fieldpath.Path{path("spec")}
		case subresource == "" && r.Subresources["status"] != nil:
			paths = []fieldpath.Path{path("status")}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	for _, gv := range versions {
		filters[fieldpath.APIVersion(gv.String())] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(paths...))
	}
	return filters
}
