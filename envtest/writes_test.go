package envtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// What clients see of writes is in conformance, as the real server answers it. Here is
// what that cannot show: plans, order, races.

const inDefault = "/api/v1/namespaces/default/"

// send makes a request with a JSON body as the administrator.
func send(t testing.TB, s *Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://in.memory"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.Config().BearerToken)
	resp, err := Transport(s).RoundTrip(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

// mustSend makes a request that succeeds, and returns the object that it answers with.
func mustSend(t testing.TB, s *Server, method, path, body string) *metav1.PartialObjectMetadata {
	t.Helper()
	code, answer := send(t, s, method, path, body)
	if code > 299 {
		t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestPlanDeletion(t *testing.T) {
	s := newQuiet(t)
	w := &write{resource: s.resourceFor(pods)}
	ago := metav1.NewTime(time.Now().Add(-time.Hour))
	soon := metav1.NewTime(time.Now().Add(time.Minute))
	pod := func(edit func(p *corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = "n", ptr(30)
		edit(p)
		return p
	}
	deleting := func(at metav1.Time, grace int64) func(p *corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace }
	}
	tests := []struct {
		name  string
		pod   *corev1.Pod
		asked *int64
		step  step
		grace int64 // -1: the object is not written
	}{
		{"on a node", pod(func(*corev1.Pod) {}), nil, wait, 30},
		{"on a node, asked for less", pod(func(*corev1.Pod) {}), ptr(5), wait, 5},
		{"on a node, at once", pod(func(*corev1.Pod) {}), ptr(0), remove, 0},
		{"on a node, negative", pod(func(*corev1.Pod) {}), ptr(-7), wait, 1},
		{"on no node", pod(func(p *corev1.Pod) { p.Spec.NodeName = "" }), ptr(5), remove, 0},
		{"ended", pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, remove, 0},
		{"on no node, held", pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Finalizers = "", []string{"x/y"} }), nil, wait, 0},
		{"again", pod(deleting(soon, 60)), nil, wait, -1},
		{"again, longer", pod(deleting(soon, 60)), ptr(90), wait, -1},
		{"again, shorter", pod(deleting(soon, 60)), ptr(10), wait, 10},
		{"again, at once", pod(deleting(soon, 60)), ptr(0), remove, 0},
		{"again, shorter, but over", pod(deleting(ago, 60)), ptr(10), wait, 1},
		{"over", pod(deleting(ago, 0)), nil, remove, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.pod.DeepCopy()
			next, step := w.planDeletion(tt.pod, &metav1.DeleteOptions{GracePeriodSeconds: tt.asked})
			if step != tt.step || (next == nil) != (tt.grace < 0) {
				t.Fatalf("step %v, next %v", step, next)
			}
			if next != nil && *next.GetDeletionGracePeriodSeconds() != tt.grace {
				t.Errorf("grace %d, want %d", *next.GetDeletionGracePeriodSeconds(), tt.grace)
			}
			if next != nil && next.GetDeletionTimestamp().Before(&metav1.Time{Time: now().Add(-2 * time.Second)}) {
				t.Errorf("deleted in the past: %v", next.GetDeletionTimestamp())
			}
			if next != nil && before.DeletionTimestamp == nil && next.GetGeneration() != 2 {
				t.Errorf("generation %d", next.GetGeneration())
			}
			if !sameObject(tt.pod, before) {
				t.Error("the current state has been written to")
			}
		})
	}
}

func TestCollectorFinalizers(t *testing.T) {
	s := newQuiet(t)
	policy := func(p metav1.DeletionPropagation) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{PropagationPolicy: &p}
	}
	orphan := func(b bool) *metav1.DeleteOptions {
		//lint:ignore SA1019 clients still may send it
		return &metav1.DeleteOptions{OrphanDependents: &b}
	}
	none := &metav1.DeleteOptions{}
	tests := []struct {
		name, resource string
		has            string
		options        *metav1.DeleteOptions
		want           string
	}{
		{"nothing said", "configmaps", "a/b", none, "a/b"},
		{"nothing said, one is there", "configmaps", "orphan a/b", none, "orphan a/b"},
		{"nothing said, of one that orphans", "replicationcontrollers", "a/b", none, "a/b orphan"},
		{"nothing said, foreground is there", "replicationcontrollers", "foregroundDeletion", none, "foregroundDeletion"},
		{"background", "configmaps", "orphan a/b", policy(metav1.DeletePropagationBackground), "a/b"},
		{"background, of one that orphans", "replicationcontrollers", "", policy(metav1.DeletePropagationBackground), ""},
		{"foreground", "configmaps", "orphan a/b", policy(metav1.DeletePropagationForeground), "a/b foregroundDeletion"},
		{"orphan", "configmaps", "foregroundDeletion", policy(metav1.DeletePropagationOrphan), "orphan"},
		{"orphan, the old way", "configmaps", "", orphan(true), "orphan"},
		{"not orphan, the old way", "replicationcontrollers", "orphan", orphan(false), ""},
		{"events own nothing", "events", "a/b", policy(metav1.DeletePropagationForeground), "a/b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: strings.Fields(tt.has)}}
			got := collectorFinalizers(s.resourceFor(schema.GroupResource{Resource: tt.resource}), obj, tt.options)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestGenerateName(t *testing.T) {
	for _, prefix := range []string{"a", "web-", strings.Repeat("x", 200)} {
		name := generateName(prefix)
		if len(validation.IsDNS1123Label(name)) > 0 || len(name) > 63 || !strings.HasPrefix(name, prefix[:min(len(prefix), 58)]) || len(name) < 6 {
			t.Errorf("%q from %q", name, prefix)
		}
	}
}

func TestGenerationCountsWhatIsWanted(t *testing.T) {
	s := newQuiet(t)
	deployment := func(edit func(d *appsv1.Deployment)) client.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
		edit(d)
		return d
	}
	slice := func(edit func(d *discoveryv1.EndpointSlice)) client.Object {
		d := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
		edit(d)
		return d
	}
	same := deployment(func(*appsv1.Deployment) {})
	tests := []struct {
		name      string
		obj, live client.Object
		want      int64
	}{
		{"spec", deployment(func(d *appsv1.Deployment) { d.Spec.Paused = true }), same, 4},
		{"status", deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), same, 3},
		{"labels", deployment(func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }), same, 3},
		{"annotations of a deployment", deployment(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }), same, 4},
		{"an empty list for none", deployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes = []corev1.Volume{} }), same, 3},
		{"labels of an endpoint slice", slice(func(d *discoveryv1.EndpointSlice) { d.Labels = map[string]string{"a": "b"} }), slice(func(*discoveryv1.EndpointSlice) {}), 4},
		{"ports of an endpoint slice", slice(func(d *discoveryv1.EndpointSlice) { d.Ports = make([]discoveryv1.EndpointPort, 1) }), slice(func(*discoveryv1.EndpointSlice) {}), 4},
		{"one that does not count", &corev1.ConfigMap{Data: map[string]string{"a": "b"}}, &corev1.ConfigMap{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gvk, err := s.scheme.GVKForObject(tt.obj)
			if err != nil {
				t.Fatal(err)
			}
			(&write{resource: s.kinds.ForKind(gvk)}).raiseGeneration(tt.obj, tt.live)
			if got := tt.obj.GetGeneration(); got != tt.want {
				t.Errorf("generation %d, want %d", got, tt.want)
			}
		})
	}
}

func TestStrategiesAreOfResources(t *testing.T) {
	s := newQuiet(t)
	known := map[schema.GroupResource]bool{{Group: "apiregistration.k8s.io", Resource: "apiservices"}: true} // needs a scheme that knows it
	for _, r := range s.kinds.All() {
		known[r.GroupVersionResource.GroupResource()] = true
	}
	for resource := range strategies {
		switch resource.Resource { // served only if somebody asks for them
		case "leasecandidates", "storageversions", "resourcepoolstatusrequests", "storageversionmigrations":
			continue
		}
		if !known[resource] {
			t.Errorf("%v is no resource", resource)
		}
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	s := newQuiet(t)
	mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"a"}}`)
	mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"held","finalizers":["x/y"]}}`)
	mustSend(t, s, "POST", inDefault+"pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	before := s.store.ResourceVersion()
	for _, r := range []struct{ method, path, body string }{
		{"POST", "configmaps", `{"metadata":{"name":"b"}}`},
		{"PUT", "configmaps/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`},
		{"PUT", "configmaps/held", `{"metadata":{"name":"held"}}`},
		{"DELETE", "configmaps/a", ""},
		{"DELETE", "configmaps/held", ""},
		{"DELETE", "pods/p", ""},
		{"DELETE", "configmaps", ""},
		{"POST", "pods/p/eviction", `{"metadata":{"name":"p"}}`},
		{"DELETE", "../kube-node-lease", ""},
	} {
		path := inDefault + r.path
		if strings.HasPrefix(r.path, "../") {
			path = "/api/v1/namespaces/kube-node-lease"
		}
		mustSend(t, s, r.method, path+"?dryRun=All", r.body)
		if after := s.store.ResourceVersion(); after != before {
			t.Fatalf("%s %s wrote", r.method, r.path)
		}
	}
}

// Contract: who says from which state it comes wins once; who does not say, always.
func TestUpdatesRace(t *testing.T) {
	s := newQuiet(t)
	const n = 20
	o := mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"a"}}`)
	codes := make(chan int, 2*n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			code, _ := send(t, s, "PUT", inDefault+"configmaps/a",
				fmt.Sprintf(`{"metadata":{"name":"a","resourceVersion":%q},"data":{"who":"%d"}}`, o.ResourceVersion, i))
			codes <- code
		})
	}
	wg.Wait()
	if won := tally(codes, 200); won != 1 {
		t.Errorf("%d updates of one state", won)
	}
	for i := range n {
		wg.Go(func() {
			code, _ := send(t, s, "PUT", inDefault+"configmaps/a", fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"who":"%d"}}`, n+i))
			codes <- code
		})
	}
	wg.Wait()
	if won := tally(codes, 200); won != n {
		t.Errorf("%d of %d updates of any state", won, n)
	}
}

// tally empties a channel, and says how many were of a kind.
func tally(codes chan int, want int) (n int) {
	for len(codes) > 0 {
		if <-codes == want {
			n++
		}
	}
	return n
}

func TestBodyIsLimited(t *testing.T) {
	s := newQuiet(t)
	body := fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"k":%q}}`, strings.Repeat("x", maxBody))
	for method, path := range map[string]string{"POST": "configmaps", "PUT": "configmaps/a", "DELETE": "configmaps/a"} {
		if code, answer := send(t, s, method, inDefault+path, body); code != 413 || !strings.Contains(answer, "Request entity too large: limit is 3145728") {
			t.Errorf("%s: %d %.200s", method, code, answer)
		}
	}
}

func TestTokenWorksUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(&Options{RBAC: true})
		mustSend(t, s, "POST", inDefault+"serviceaccounts", `{"metadata":{"name":"robot"}}`)
		code, answer := send(t, s, "POST", inDefault+"serviceaccounts/robot/token", `{"spec":{"expirationSeconds":600}}`)
		var request struct{ Status struct{ Token string } }
		if err := json.Unmarshal([]byte(answer), &request); err != nil || code != 201 {
			t.Fatal(code, answer, err)
		}
		ask := func() int {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://in.memory"+inDefault+"pods", nil)
			req.Header.Set("Authorization", "Bearer "+request.Status.Token)
			resp, err := Transport(s).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode == 403 && !strings.Contains(string(text), "system:serviceaccount:default:robot") {
				t.Errorf("%s", text)
			}
			return resp.StatusCode
		}
		time.Sleep(599 * time.Second)
		if code := ask(); code != 403 {
			t.Errorf("before: %d", code)
		}
		time.Sleep(2 * time.Second)
		if code := ask(); code != 401 {
			t.Errorf("after: %d", code)
		}
	})
}

// Bad bodies are refused, whatever they are: nothing panics, nothing is a 500.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"a"}}`, `{"metadata":null}`, `null`, `[]`, `"x"`, `{"kind":1}`, `{"apiVersion":"v1","kind":"Status"}`,
		`{"metadata":{"name":"a","ownerReferences":[{"uid":"a"},{"uid":"a"}],"finalizers":["orphan","foregroundDeletion"]}}`,
		`{"metadata":{"name":"a","managedFields":[{"manager":"x","fieldsType":"y"}],"resourceVersion":"9"}}`,
		`{"spec":{"replicas":-1}}`, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"replicas":3}}`,
		"k8s\x00\x0a\x0b\x0a\x02v1\x12\x05", `{"target":{"name":"n"},"metadata":{"name":"a"}}`,
	} {
		for target := range fuzzTargets {
			f.Add(target, seed)
		}
	}
	s := newQuiet(f)
	mustSend(f, s, "POST", inDefault+"pods", `{"metadata":{"name":"a"}}`)
	mustSend(f, s, "POST", "/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"a"}}`)
	mustSend(f, s, "POST", inDefault+"serviceaccounts", `{"metadata":{"name":"a"}}`)
	f.Fuzz(func(t *testing.T, target int, body string) {
		r := fuzzTargets[((target%len(fuzzTargets))+len(fuzzTargets))%len(fuzzTargets)]
		code, answer := send(t, s, r.method, r.path+"?dryRun=All", body)
		known := []string{"resourceVersion should not be set", "ParseUint", "target."} // the real server's own 500s
		if code >= 500 && !slices.ContainsFunc(known, func(k string) bool { return strings.Contains(answer, k) }) {
			t.Errorf("%s %s %q: %d %s", r.method, r.path, body, code, answer)
		}
	})
}

var fuzzTargets = []struct{ method, path string }{
	{"POST", inDefault + "configmaps"},
	{"PUT", inDefault + "configmaps/a"},
	{"PUT", inDefault + "pods/a/status"},
	{"POST", inDefault + "pods/a/binding"},
	{"POST", inDefault + "pods/a/eviction"},
	{"POST", inDefault + "serviceaccounts/a/token"},
	{"PUT", "/apis/apps/v1/namespaces/default/deployments/a/scale"},
	{"POST", "/apis/apps/v1/namespaces/default/deployments"},
	{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
	{"PUT", "/api/v1/namespaces/default/finalize"},
	{"DELETE", inDefault + "pods/a"},
}

// An update that another one overtakes starts again from what that has left; a create that is overtaken finds the name taken.
func TestOvertakenWritesLookAgain(t *testing.T) {
	s := newQuiet(t)
	mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"a"}}`)
	w := &write{resource: s.resourceFor(configMaps), namespace: "default", name: "a", manager: "test", warn: func(string) {}}
	calls := 0
	o, _, err := s.updateObject(t.Context(), w, change{next: func(live client.Object) (client.Object, error) {
		if calls++; calls == 1 {
			mustSend(t, s, "PUT", inDefault+"configmaps/a", `{"metadata":{"name":"a"},"data":{"other":"x"}}`)
		}
		next := live.(*corev1.ConfigMap).DeepCopy()
		metav1.SetMetaDataLabel(&next.ObjectMeta, "mine", "y")
		return next, nil
	}})
	if err != nil || calls != 2 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	if m := o.Value.(*corev1.ConfigMap); m.Data["other"] != "x" || m.Labels["mine"] != "y" {
		t.Errorf("a change was lost: %v", m)
	}

	w.name = "b"
	_, _, err = s.updateObject(t.Context(), w, change{create: true, next: func(live client.Object) (client.Object, error) {
		if live == nil {
			mustSend(t, s, "POST", inDefault+"configmaps", `{"metadata":{"name":"b"},"data":{"other":"x"}}`)
			return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metaNamed("default", "b")}, nil
		}
		return live.(*corev1.ConfigMap).DeepCopy(), nil
	}})
	if m := s.store.Get(configMaps, "default", "b").Value.(*corev1.ConfigMap); m.Data["other"] != "x" {
		t.Errorf("%v: what was created first was overwritten: %v", err, m)
	}
}
