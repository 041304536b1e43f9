package envtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"governor/client"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// builtinCells are the cells of kinds whose columns are in columns.json, by where they are
// stored. Upstream: Kubernetes' pkg/printers/internalversion/printers.go.
var builtinCells = map[schema.GroupResource]func(client.Object) []any{
	{Resource: "configmaps"}:             cells(configMapCells),
	{Resource: "events"}:                 cells(eventCells),
	{Resource: "namespaces"}:             cells(namespaceCells),
	{Resource: "nodes"}:                  cells(nodeCells),
	{Resource: "persistentvolumeclaims"}: cells(claimCells),
	{Resource: "persistentvolumes"}:      cells(volumeCells),
	{Resource: "pods"}:                   cells(podCells),
	{Resource: "replicationcontrollers"}: cells(replicationControllerCells),
	{Resource: "secrets"}:                cells(secretCells),
	{Resource: "serviceaccounts"}:        cells(serviceAccountCells),
	{Resource: "services"}:               cells(serviceCells),

	{Group: "apps", Resource: "controllerrevisions"}: cells(revisionCells),
	{Group: "apps", Resource: "daemonsets"}:          cells(daemonSetCells),
	{Group: "apps", Resource: "deployments"}:         cells(deploymentCells),
	{Group: "apps", Resource: "replicasets"}:         cells(replicaSetCells),
	{Group: "apps", Resource: "statefulsets"}:        cells(statefulSetCells),
	{Group: "batch", Resource: "cronjobs"}:           cells(cronJobCells),
	{Group: "batch", Resource: "jobs"}:               cells(jobCells),

	{Group: "networking.k8s.io", Resource: "ingresses"}:                    cells(ingressCells),
	{Group: "networking.k8s.io", Resource: "networkpolicies"}:              cells(networkPolicyCells),
	{Group: "policy", Resource: "poddisruptionbudgets"}:                    cells(disruptionBudgetCells),
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:         cells(roleBindingCells),
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:  cells(clusterRoleBindingCells),
	{Group: "coordination.k8s.io", Resource: "leases"}:                     cells(leaseCells),
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:              cells(priorityClassCells),
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: cells(definitionCells),

	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}: cells(func(w *admissionv1.MutatingWebhookConfiguration) []any {
		return []any{w.Name, len(w.Webhooks), age(w)}
	}),
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: cells(func(w *admissionv1.ValidatingWebhookConfiguration) []any {
		return []any{w.Name, len(w.Webhooks), age(w)}
	}),
}

// cells makes a function for objects of one type one for all objects; others have just their name.
func cells[T client.Object](of func(T) []any) func(client.Object) []any {
	return func(o client.Object) []any {
		if object, ok := o.(T); ok {
			return of(object)
		}
		return []any{o.GetName()}
	}
}

// age is how long an object has been there, in the words that people read.
func age(o metav1.Object) string { return since(o.GetCreationTimestamp().Time) }

func since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t))
}

// orNone is a text, or what stands for none.
func orNone(text string) string { return cmp.Or(text, "<none>") }

// orUnset is what p points to, or what stands for nothing.
func orUnset[T any](p *T) string {
	if p == nil {
		return "<unset>"
	}
	return fmt.Sprint(*p)
}

func configMapCells(m *corev1.ConfigMap) []any {
	return []any{m.Name, len(m.Data) + len(m.BinaryData), age(m)}
}

func secretCells(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), len(s.Data), age(s)}
}

func serviceAccountCells(a *corev1.ServiceAccount) []any { return []any{a.Name, age(a)} }

func namespaceCells(n *corev1.Namespace) []any {
	return []any{n.Name, string(n.Status.Phase), age(n)}
}

func leaseCells(l *coordinationv1.Lease) []any {
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return []any{l.Name, holder, age(l)}
}

func eventCells(e *corev1.Event) []any {
	first := since(e.FirstTimestamp.Time)
	if e.FirstTimestamp.IsZero() {
		first = since(e.EventTime.Time)
	}
	last := first
	if !e.LastTimestamp.IsZero() {
		last = since(e.LastTimestamp.Time)
	}
	count := cmp.Or(e.Count, 1)
	if e.Series != nil {
		count, last = e.Series.Count, since(e.Series.LastObservedTime.Time)
	}
	about := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		about += "/" + e.InvolvedObject.Name
	}
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{last, e.Type, e.Reason, about, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message), first, count, e.Name}
}

func nodeCells(n *corev1.Node) []any {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			status = "NotReady"
			if condition.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	roles := map[string]bool{}
	for label, value := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles[role] = true
		} else if label == "kubernetes.io/role" && value != "" {
			roles[value] = true
		}
	}
	info := n.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, "<unknown>")
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		n.Name, status, orNone(strings.Join(slices.Sorted(maps.Keys(roles)), ",")), age(n), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		cmp.Or(info.OSImage, "<unknown>"), kernel, cmp.Or(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, address := range n.Status.Addresses {
		if address.Type == kind {
			return address.Address
		}
	}
	return "<none>"
}

func serviceCells(s *corev1.Service) []any {
	ip := "<none>"
	if len(s.Spec.ClusterIPs) > 0 {
		ip = s.Spec.ClusterIPs[0]
	}
	var ports []string
	for _, port := range s.Spec.Ports {
		text := fmt.Sprintf("%d/%s", port.Port, port.Protocol)
		if port.NodePort > 0 {
			text = fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol)
		}
		ports = append(ports, text)
	}
	return []any{
		s.Name, string(s.Spec.Type), ip, externalIP(s), orNone(strings.Join(ports, ",")), age(s),
		labels.FormatLabels(s.Spec.Selector),
	}
}

// externalIP is where a service is reached from outside.
func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orNone(strings.Join(s.Spec.ExternalIPs, ","))
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		addresses := map[string]bool{}
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			addresses[cmp.Or(ingress.IP, ingress.Hostname)] = true
		}
		delete(addresses, "")
		all := append(slices.Sorted(maps.Keys(addresses)), s.Spec.ExternalIPs...)
		return cmp.Or(strings.Join(all, ","), "<pending>")
	}
	return "<unknown>"
}

func ingressCells(i *networkingv1.Ingress) []any {
	const most = 3
	class := "<none>"
	if i.Spec.IngressClassName != nil {
		class = *i.Spec.IngressClassName
	}
	var hosts []string
	more := ""
	for _, rule := range i.Spec.Rules {
		if len(hosts) == most {
			more = fmt.Sprintf(" + %d more...", len(i.Spec.Rules)-most)
			break
		}
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	addresses := map[string]bool{}
	for _, ingress := range i.Status.LoadBalancer.Ingress {
		addresses[cmp.Or(ingress.IP, ingress.Hostname)] = true
	}
	delete(addresses, "")
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		i.Name, class, cmp.Or(strings.Join(hosts, ","), "*") + more,
		strings.Join(slices.Sorted(maps.Keys(addresses)), ","), ports, age(i),
	}
}

func networkPolicyCells(p *networkingv1.NetworkPolicy) []any {
	return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(p)}
}

func disruptionBudgetCells(b *policyv1.PodDisruptionBudget) []any {
	least, most := "N/A", "N/A"
	if b.Spec.MinAvailable != nil {
		least = b.Spec.MinAvailable.String()
	}
	if b.Spec.MaxUnavailable != nil {
		most = b.Spec.MaxUnavailable.String()
	}
	return []any{b.Name, least, most, b.Status.DisruptionsAllowed, age(b)}
}

func roleBindingCells(b *rbacv1.RoleBinding) []any {
	return bindingCells(b, b.RoleRef, b.Subjects)
}

func clusterRoleBindingCells(b *rbacv1.ClusterRoleBinding) []any {
	return bindingCells(b, b.RoleRef, b.Subjects)
}

func bindingCells(o metav1.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, subject := range subjects {
		switch subject.Kind {
		case rbacv1.UserKind:
			users = append(users, subject.Name)
		case rbacv1.GroupKind:
			groups = append(groups, subject.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, subject.Namespace+"/"+subject.Name)
		}
	}
	return []any{
		o.GetName(), role.Kind + "/" + role.Name, age(o),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

func priorityClassCells(c *schedulingv1.PriorityClass) []any {
	policy := ""
	if c.PreemptionPolicy != nil {
		policy = string(*c.PreemptionPolicy)
	}
	return []any{c.Name, c.Value, c.GlobalDefault, age(c), policy}
}

// scaleKind is the kind of every scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleLayout shows a Scale.
var scaleLayout = layout{
	columns: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
		{Name: "Desired", Type: "integer", Description: autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Available", Type: "integer", Description: autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]},
		described(metav1.TableColumnDefinition{Name: "Age", Type: "string"}),
	},
	cells: cells(func(s *autoscalingv1.Scale) []any {
		return []any{s.Name, s.Spec.Replicas, s.Status.Replicas, age(s)}
	}),
}

// definitionCells shows a CustomResourceDefinition.
func definitionCells(u *unstructured.Unstructured) []any {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(u.Object, fields...)
		return s
	}
	var versions []string
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	for _, version := range list {
		v, _ := version.(map[string]any)
		if name, ok := v["name"].(string); ok && v["served"] == true {
			if v["storage"] == true {
				name += "(storage)"
			}
			versions = append(versions, name)
		}
	}
	slices.Sort(versions)
	short, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "names", "shortNames")
	established := false
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Established" {
			established = c["status"] == "True"
		}
	}
	return []any{
		u.GetName(), text("spec", "scope"), strings.Join(versions, ","),
		u.GetCreationTimestamp().UTC().Format(time.RFC3339),
		text("spec", "group"), text("spec", "names", "kind"), strings.Join(short, ","), established,
	}
}
