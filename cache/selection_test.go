package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"governor/client"
	"governor/scheme"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
)

// zoo makes random objects, and selectors that select some of them.
type zoo struct{ *rand.Rand }

func (z zoo) one(of ...string) string { return of[z.IntN(len(of))] }

func (z zoo) meta(i int, namespaced bool) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: fmt.Sprintf("o%d", i), Labels: map[string]string{}}
	if namespaced {
		m.Namespace = z.one("ns1", "ns2", "ns3")
	}
	for _, key := range []string{"app", "tier", "n"} {
		if value := z.one("", "a", "b", "c", "5", "17", "-"); value != "-" {
			m.Labels[key] = value
		}
	}
	return m
}

func (z zoo) pod(i int) client.Object {
	p := &corev1.Pod{ObjectMeta: z.meta(i, true)}
	p.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "i"}},
		NodeName: z.one("", "n1", "n2"), HostNetwork: z.IntN(3) == 0, ServiceAccountName: z.one("", "robot"),
		RestartPolicy: corev1.RestartPolicy(z.one("Always", "Never")), SchedulerName: z.one("", "mine")}
	p.Status = corev1.PodStatus{Phase: corev1.PodPhase(z.one("Pending", "Running", "Failed")), NominatedNodeName: z.one("", "n1")}
	if ip := z.one("", "10.0.0.1", "10.0.0.2"); ip != "" {
		p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}, {IP: "fd00::1"}}
	}
	return p
}

func (z zoo) event(i int) client.Object {
	m := z.meta(i, true)
	e := &corev1.Event{ObjectMeta: m, Reason: z.one("Pulled", "Failed"), Type: z.one("Normal", "Warning"),
		InvolvedObject: corev1.ObjectReference{Kind: z.one("Pod", "Job"), Name: z.one("x", "y"), Namespace: m.Namespace,
			UID: "1", APIVersion: "v1", ResourceVersion: z.one("", "7"), FieldPath: z.one("", "spec")}}
	if z.IntN(2) == 0 {
		e.Source.Component = z.one("", "kubelet")
	}
	e.ReportingController = z.one("", "kubelet", "other")
	return e
}

// others are objects of kinds with fields of their own.
func (z zoo) others(i int) []client.Object {
	service := &corev1.Service{ObjectMeta: z.meta(i, true), Spec: corev1.ServiceSpec{Type: corev1.ServiceType(z.one("", "ClusterIP", "NodePort")),
		ClusterIP: z.one("", "None"), Ports: []corev1.ServicePort{{Port: 80}}}}
	if service.Spec.Type == "NodePort" {
		service.Spec.ClusterIP = ""
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "i"}}}}
	job := &batchv1.Job{ObjectMeta: z.meta(i, true), Spec: batchv1.JobSpec{Template: template}, Status: batchv1.JobStatus{Succeeded: int32(z.IntN(3))}}
	job.Spec.Template.Labels, job.Spec.Template.Spec.RestartPolicy = nil, "Never"
	return []client.Object{
		service, job, z.event(i),
		&corev1.Node{ObjectMeta: z.meta(i, false), Spec: corev1.NodeSpec{Unschedulable: z.IntN(2) == 0}},
		&corev1.Namespace{ObjectMeta: z.meta(i, false), Status: corev1.NamespaceStatus{Phase: "Active"}},
		&corev1.Secret{ObjectMeta: z.meta(i, true), Type: corev1.SecretType(z.one("", "mine"))},
		&corev1.ReplicationController{ObjectMeta: z.meta(i, true), Spec: corev1.ReplicationControllerSpec{Template: &template},
			Status: corev1.ReplicationControllerStatus{Replicas: int32(z.IntN(3))}},
		&certificatesv1.CertificateSigningRequest{ObjectMeta: z.meta(i, false), Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: z.one("example.com/a", "example.com/b"), Usages: []certificatesv1.KeyUsage{"client auth"}, Request: []byte("x")}},
		&corev1.ConfigMap{ObjectMeta: z.meta(i, true)},
	}
}

// put stores an object, with its status.
func (z zoo) put(s *server, obj client.Object) {
	s.t.Helper()
	s.put(obj)
	if _, ok := obj.(*corev1.Pod); !ok && obj.GetObjectKind() == nil {
		return
	}
	stored := obj.DeepCopyObject().(client.Object)
	switch stored.(type) {
	case *corev1.Pod, *batchv1.Job, *corev1.ReplicationController:
		if err := s.admin.Status().Update(s.t.Context(), stored); err != nil {
			s.t.Fatalf("status of a %T: %v", obj, err)
		}
	}
}

// fieldsOf are the fields that the server knows of a kind, and some that it does not.
func (z zoo) fieldsOf(gk schema.GroupKind) []string {
	out := []string{fieldName, fieldNamespace, "spec.nonsense"}
	for field := range knownFields[gk] {
		out = append(out, field)
	}
	slices.Sort(out)
	return out
}

var fieldValues = []string{"", "o1", "o2", "ns1", "ns2", "n1", "n2", "Always", "Never", "Running", "Failed", "Pending", "true", "false", "0", "1", "2",
	"10.0.0.1", "mine", "robot", "default", "default-scheduler", "kubelet", "other", "Pulled", "Warning", "Pod", "x", "7", "spec", "v1", "Opaque",
	"ClusterIP", "NodePort", "None", "example.com/a", "Active"}

// selector is a random one; value picks values of fields.
func (z zoo) selector(all []string) *client.ListOptions {
	o := &client.ListOptions{LabelSelector: labels.Everything()}
	if z.IntN(3) == 0 {
		o.Namespace = z.one("ns1", "ns2", "ns9")
	}
	for range z.IntN(3) {
		op := []selection.Operator{selection.Equals, selection.DoubleEquals, selection.NotEquals, selection.In, selection.NotIn,
			selection.Exists, selection.DoesNotExist, selection.GreaterThan, selection.LessThan}[z.IntN(9)]
		var values []string
		switch op {
		case selection.Exists, selection.DoesNotExist:
		case selection.In, selection.NotIn:
			values = []string{z.one("a", "5", ""), z.one("a", "b", "z")}
		case selection.GreaterThan, selection.LessThan:
			values = []string{z.one("5", "10")}
		default:
			values = []string{z.one("", "a", "b", "5", "z")}
		}
		r, err := labels.NewRequirement(z.one("app", "tier", "n", "none"), op, values)
		if err != nil {
			panic(err)
		}
		o.LabelSelector = o.LabelSelector.Add(*r)
	}
	var terms []string
	for range z.IntN(3) {
		terms = append(terms, z.one(all...)+z.one("=", "==", "!=")+z.one(fieldValues...))
	}
	o.FieldSelector = fields.ParseSelectorOrDie(strings.Join(terms, ","))
	return o
}

// naive is what a selector selects of Pods, said in the plainest way.
func naive(pods []corev1.Pod, o *client.ListOptions) []string {
	out := []string{}
	for _, p := range pods {
		ip := ""
		if len(p.Status.PodIPs) > 0 {
			ip = p.Status.PodIPs[0].IP
		}
		set := fields.Set{fieldName: p.Name, fieldNamespace: p.Namespace, "spec.nodeName": p.Spec.NodeName, "spec.host": p.Spec.NodeName,
			"spec.restartPolicy": string(p.Spec.RestartPolicy), "spec.schedulerName": p.Spec.SchedulerName,
			"spec.serviceAccountName": p.Spec.ServiceAccountName, "spec.hostNetwork": strconv.FormatBool(p.Spec.HostNetwork),
			"status.phase": string(p.Status.Phase), "status.podIP": ip, "status.podIPs": "", "status.nominatedNodeName": p.Status.NominatedNodeName}
		if (o.Namespace == "" || o.Namespace == p.Namespace) && o.LabelSelector.Matches(labels.Set(p.Labels)) && o.FieldSelector.Matches(set) {
			out = append(out, p.Namespace+"/"+p.Name)
		}
	}
	return out
}

// Contract 5: for every selector the cache, in whatever form it stores the kind, and
// with whatever indexes on demand it has made, gives the server's answer, which is
// that of a naive scan.
func TestSameAnswerAsTheServer(t *testing.T) {
	for _, form := range []client.Form{client.Typed, client.Unstructured} {
		synctest.Test(t, func(t *testing.T) { sameAnswer(t, zoo{rand.New(rand.NewPCG(1, uint64(len(form.String()))))}, form) })
	}
}

func sameAnswer(t *testing.T, z zoo, form client.Form) {
	s := newServer(t)
	kinds := map[schema.GroupVersionKind]bool{{Group: "events.k8s.io", Version: "v1", Kind: "Event"}: true}
	for i := range 40 {
		for _, obj := range append(z.others(i), z.pod(i)) {
			z.put(s, obj)
			gvk, err := s.admin.GroupVersionKindFor(obj)
			if err != nil {
				t.Fatal(err)
			}
			kinds[gvk] = true
		}
	}
	o := &client.Options{}
	if form == client.Unstructured {
		o.Scheme = scheme.New()
	}
	direct, err := client.New(s.config, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(direct, nil)
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	var pods corev1.PodList
	if err := s.admin.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}
	for gvk := range kinds {
		all := z.fieldsOf(gvk.GroupKind())
		matched := 0
		for i := range 300 {
			o := z.selector(all)
			live, cached := listOf(gvk, true), listOf(gvk, true)
			liveErr := s.admin.List(t.Context(), live, o)
			cachedErr := c.List(t.Context(), cached, o)
			if want, got := names(t, live), names(t, cached); (liveErr == nil) != (cachedErr == nil) || !slices.Equal(got, want) {
				t.Errorf("%s stored %s: %q %q in %q:\n got %v, %v\nwant %v, %v", kindText(gvk), form, o.LabelSelector, o.FieldSelector, o.Namespace, got, cachedErr, want, liveErr)
			} else if matched += len(got); gvk == podGVK && liveErr == nil && !slices.Equal(naive(pods.Items, o), got) {
				t.Errorf("%q %q in %q: the server says %v, a naive scan %v", o.LabelSelector, o.FieldSelector, o.Namespace, want, naive(pods.Items, o))
			}
			if i%20 == 19 { // whatever was wanted last is made
				x := c.kinds[gvk].scopes()[0].indexer
				if q, err := newQuery(gvk, o); err == nil {
					if p, err := q.plan(x.state.Load()); err == nil && len(p.missing) > 0 {
						x.demand.due.Store(&p.missing[0])
						x.build()
					}
				}
				if err := x.valid(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if matched < 100 {
			t.Errorf("%s: only %d objects were selected at all", kindText(gvk), matched)
		}
	}
}

// What an owner owns, with several owners, and without a declaration.
func TestOwnedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		own := func(name string, uids ...string) {
			p := pod("ns1", name, "x", "n1")
			for _, uid := range uids {
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c" + uid, UID: types.UID(uid)})
			}
			s.put(p)
		}
		own("a", "1")
		own("b", "1", "2")
		own("c")
		c := newCache(t, s, nil)
		start(t, c)
		for _, tt := range []struct {
			opts client.ListOption
			want []string
		}{
			{client.OwnedBy("1"), []string{"ns1/a", "ns1/b"}},
			{client.OwnedBy("2"), []string{"ns1/b"}},
			{client.OwnedBy("3"), []string{}},
			{client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector(client.FieldOwnerUID, "2")}, []string{"ns1/a", "ns1/c"}},
		} {
			for _, list := range []client.ObjectList{&corev1.PodList{}, &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "PodList"}}} {
				if err := c.List(t.Context(), list, tt.opts); err != nil || !slices.Equal(names(t, list), tt.want) {
					t.Errorf("%v: %v, %v, want %v", tt.opts, names(t, list), err, tt.want)
				}
			}
		}
		if err := s.admin.List(t.Context(), &corev1.PodList{}, client.OwnedBy("1")); err == nil || !strings.Contains(err.Error(), client.FieldOwnerUID) {
			t.Errorf("the server selects by owner: %v", err)
		}
	})
}
