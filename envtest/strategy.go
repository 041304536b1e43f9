package envtest

import (
	"maps"
	"reflect"

	"governor/client"
	"governor/envtest/kinds"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// strategy is what is particular about a built-in resource's writes.
type strategy struct {
	// name is which names it takes; nil means DNS subdomains. prefix is for what
	// more is to be appended to.
	name func(name string, prefix bool) []string
	// conditional: an update has to say from which resourceVersion it comes.
	conditional bool
	// createOnUpdate: an update of one that is not there creates it.
	createOnUpdate bool
	// returnsDeleted: a delete is answered by the object, not by a Status.
	returnsDeleted bool
	// counted: the generation counts the changes of the spec.
	counted bool
	// statusAlone: a write to the status leaves the metadata alone.
	statusAlone bool
	// orphans: who deletes it without saying what is to become of its
	// dependents keeps them.
	orphans bool
}

// strategyOf returns the strategy of a built-in resource; that of all others is
// the zero one.
func strategyOf(r *kinds.Resource) strategy {
	return strategies[r.GroupVersionResource.GroupResource()]
}

// strategies are those that differ from the zero one. It is not written to.
var strategies = map[schema.GroupResource]strategy{
	{Resource: "endpoints"}:              {createOnUpdate: true},
	{Resource: "events"}:                 {createOnUpdate: true, name: pathSegment},
	{Resource: "limitranges"}:            {createOnUpdate: true},
	{Resource: "namespaces"}:             {returnsDeleted: true, name: validation.NameIsDNSLabel},
	{Resource: "persistentvolumeclaims"}: {returnsDeleted: true},
	{Resource: "persistentvolumes"}:      {returnsDeleted: true},
	{Resource: "pods"}:                   {returnsDeleted: true, counted: true},
	{Resource: "podtemplates"}:           {returnsDeleted: true, counted: true, conditional: true},
	{Resource: "replicationcontrollers"}: {counted: true, orphans: true},
	{Resource: "resourcequotas"}:         {returnsDeleted: true},
	{Resource: "serviceaccounts"}:        {returnsDeleted: true},
	{Resource: "services"}:               {returnsDeleted: true, createOnUpdate: true, name: validation.NameIsDNSLabel},

	{Group: "apiregistration.k8s.io", Resource: "apiservices"}: {conditional: true},

	{Group: "apps", Resource: "daemonsets"}:   {counted: true},
	{Group: "apps", Resource: "deployments"}:  {counted: true},
	{Group: "apps", Resource: "replicasets"}:  {counted: true},
	{Group: "apps", Resource: "statefulsets"}: {counted: true, name: validation.NameIsDNSLabel},

	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: {counted: true},

	{Group: "batch", Resource: "cronjobs"}: {counted: true},
	{Group: "batch", Resource: "jobs"}:     {counted: true, orphans: true},

	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {name: pathSegment},
	{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:        {conditional: true},
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:     {conditional: true, statusAlone: true},

	{Group: "coordination.k8s.io", Resource: "leases"}:          {conditional: true, createOnUpdate: true},
	{Group: "coordination.k8s.io", Resource: "leasecandidates"}: {conditional: true, createOnUpdate: true},

	{Group: "discovery.k8s.io", Resource: "endpointslices"}: {counted: true},

	{Group: "events.k8s.io", Resource: "events"}: {createOnUpdate: true},

	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}:                 {counted: true, statusAlone: true},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}: {counted: true, statusAlone: true},

	{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}: {conditional: true, statusAlone: true},

	{Group: "networking.k8s.io", Resource: "ingressclasses"}:  {counted: true},
	{Group: "networking.k8s.io", Resource: "ingresses"}:       {counted: true},
	{Group: "networking.k8s.io", Resource: "networkpolicies"}: {counted: true},
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:    {statusAlone: true},

	{Group: "node.k8s.io", Resource: "runtimeclasses"}: {conditional: true, createOnUpdate: true},

	{Group: "policy", Resource: "poddisruptionbudgets"}: {conditional: true, counted: true, name: pathSegment},

	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:        {createOnUpdate: true, name: pathSegment},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: {createOnUpdate: true, name: pathSegment},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:               {createOnUpdate: true, name: pathSegment},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        {createOnUpdate: true, name: pathSegment},

	{Group: "resource.k8s.io", Resource: "deviceclasses"}:              {returnsDeleted: true, counted: true},
	{Group: "resource.k8s.io", Resource: "devicetaintrules"}:           {counted: true, statusAlone: true},
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:             {returnsDeleted: true, statusAlone: true},
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}:     {returnsDeleted: true},
	{Group: "resource.k8s.io", Resource: "resourcepoolstatusrequests"}: {returnsDeleted: true, conditional: true, statusAlone: true},
	{Group: "resource.k8s.io", Resource: "resourceslices"}:             {returnsDeleted: true, counted: true},

	{Group: "storage.k8s.io", Resource: "csidrivers"}:              {returnsDeleted: true, conditional: true},
	{Group: "storage.k8s.io", Resource: "csinodes"}:                {returnsDeleted: true, conditional: true, statusAlone: true},
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}:    {conditional: true},
	{Group: "storage.k8s.io", Resource: "storageclasses"}:          {returnsDeleted: true},
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:       {returnsDeleted: true, conditional: true, statusAlone: true},
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}: {returnsDeleted: true},

	{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}: {conditional: true, statusAlone: true},

	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}:         {conditional: true, counted: true},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}:   {conditional: true, counted: true},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}:     {conditional: true, counted: true},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}:       {conditional: true, counted: true, statusAlone: true},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"}: {conditional: true, counted: true},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}:   {conditional: true, counted: true},
}

func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// nameRule is which names a resource takes.
func nameRule(r *kinds.Resource) validation.ValidateNameFunc {
	if f := strategyOf(r).name; f != nil && r.Custom == nil {
		return f
	}
	return validation.NameIsDNSSubdomain
}

// unconditional says whether an update may leave open from which state it comes.
func unconditional(r *kinds.Resource) bool {
	return !unstructuredKind(r) && !strategyOf(r).conditional
}

// hasStatus says whether the status is written through a subresource alone.
func hasStatus(r *kinds.Resource) bool { return r.Subresources["status"] != nil }

// keepField makes a field of the object what it is in from (nil: empty).
func keepField(obj, from client.Object, name, key string) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, key)
		if from == nil {
			return
		}
		if v, ok := from.(*unstructured.Unstructured).Object[key]; ok {
			u.Object[key] = v
		}
		return
	}
	f := reflect.ValueOf(obj).Elem().FieldByName(name)
	switch {
	case !f.IsValid():
	case from == nil:
		f.SetZero()
	default:
		f.Set(reflect.ValueOf(from).Elem().FieldByName(name))
	}
}

func keepStatus(obj, from client.Object) { keepField(obj, from, "Status", "status") }
func keepSpec(obj, from client.Object)   { keepField(obj, from, "Spec", "spec") }

// prepareCreate makes of what a client sends what a new object begins with.
func (w *write) prepareCreate(obj client.Object) {
	if hasStatus(w.resource) && w.resource.GroupVersionResource.GroupResource() != nodes {
		keepStatus(obj, nil)
	}
	if counted(w.resource) {
		obj.SetGeneration(1)
	}
	begin(obj, w.user)
	w.prepareByRules(obj)
}

// prepareByRules fills in what the server keeps in a CustomResourceDefinition's
// status beside each write.
func (w *write) prepareByRules(obj client.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && w.resource.Rules != nil && w.resource.Rules.Prepare != nil {
		w.resource.Rules.Prepare(u)
	}
}

var nodes = schema.GroupResource{Resource: "nodes"} // kubelets create them with their status

// prepareUpdate keeps of the live object what this write does not change.
func (w *write) prepareUpdate(obj, live client.Object) {
	switch w.subresource {
	case "", "scale":
		if hasStatus(w.resource) {
			keepStatus(obj, live)
		}
		keepParts(obj, live)
		w.raiseGeneration(obj, live)
		w.prepareByRules(obj)
	case "status":
		w.prepareStatus(obj, live)
	case "approval":
		prepareApproval(obj, live)
	case "finalize":
		keepStatus(obj, live)
	case "binding": // what the server does to a pod by itself
		w.raiseGeneration(obj, live)
	case "ephemeralcontainers", "resize":
		preparePodPart(obj, live, w.subresource)
		w.raiseGeneration(obj, live)
	}
}

// prepareStatus keeps all but the status. Of a built-in object the metadata may
// change too.
func (w *write) prepareStatus(obj, live client.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || w.resource.Custom == nil {
		keepSpec(obj, live)
		if strategyOf(w.resource).statusAlone {
			metav1.ResetObjectMetaForStatus(obj, live)
		}
		keepStatusParts(obj, live)
		return
	}
	status, exists := u.Object["status"]
	managed := u.GetManagedFields()
	u.Object = maps.Clone(live.(*unstructured.Unstructured).Object)
	u.Object["metadata"] = maps.Clone(u.Object["metadata"].(map[string]any))
	u.SetManagedFields(managed)
	delete(u.Object, "status")
	if exists {
		u.Object["status"] = status
	}
}
