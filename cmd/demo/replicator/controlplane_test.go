package replicator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/cache"
	"governor/client"
	"governor/cmd/demo/replicator"
	"governor/cmd/demo/v1alpha1"
	"governor/envtest"
	"governor/manager"
	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// eventually bounds each wait: the machine may be loaded.
const eventually = 60 * time.Second

// theatre is a control plane with a running replicator.
type theatre struct {
	*testing.T
	plane  *envtest.ControlPlane
	client *client.Direct
	stop   func() error

	mu   sync.Mutex
	told map[string]int // +checklocks:mu; how often each line was told
}

func openTheatre(t *testing.T, o *envtest.ControlPlaneOptions) *theatre {
	plane, c, s := buildTheatre(t, o)
	th := &theatre{T: t, plane: plane, client: c, told: map[string]int{}}
	th.stop = th.run(plane.Config(), s)
	return th
}

// buildTheatre starts a control plane that serves Replicas.
func buildTheatre(t *testing.T, o *envtest.ControlPlaneOptions) (*envtest.ControlPlane, *client.Direct, *scheme.Scheme) {
	plane := envtest.RequireControlPlane(t, o)
	s := scheme.Builtin()
	if err := s.Install(v1alpha1.AddToScheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config(), &client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	crds, err := envtest.ReadCRDs("../config/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
		t.Fatal(err)
	}
	return plane, c, s
}

// run starts a manager with the replicator, and returns what stops it: that
// fails when Start takes more than 5 s to return.
func (th *theatre) run(cfg *rest.Config, s *scheme.Scheme) (stop func() error) {
	detect := cache.Options{DetectMutations: func(m *cache.Mutation) { th.Error(m) }}
	mgr, err := manager.New(cfg, &manager.Options{Scheme: s, Cache: detect})
	if err != nil {
		th.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tell := func(station, text string) {
		th.mu.Lock()
		defer th.mu.Unlock()
		th.told[station+" "+text]++
	}
	if err := replicator.Setup(ctx, mgr, &replicator.Options{Tell: tell}); err != nil {
		th.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(5 * time.Second):
			return errors.New("Start did not return within 5 s of the end of its context")
		}
	})
	th.Cleanup(func() { _ = stop() })
	return stop
}

func (th *theatre) count(line string) int {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.told[line]
}

func (th *theatre) create(objs ...client.Object) {
	th.Helper()
	for _, obj := range objs {
		if err := th.client.Create(th.Context(), obj); err != nil {
			th.Fatal(err)
		}
	}
}

func (th *theatre) patch(obj client.Object, merge string) {
	th.Helper()
	if err := th.client.Patch(th.Context(), obj, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		th.Fatal(err)
	}
}

// await waits until an object is as a condition wants it.
func await[T client.Object](th *theatre, obj T, what string, satisfied func(T) bool) T {
	th.Helper()
	ctx, cancel := context.WithTimeout(th.Context(), eventually)
	defer cancel()
	last, err := envtest.WaitFor(ctx, th.client, obj, satisfied)
	if err != nil {
		th.Fatalf("%s: %v; last %+v", what, err, last)
	}
	return last
}

func (th *theatre) awaitData(namespace string, want map[string]string) {
	th.Helper()
	await(th, settings(namespace, nil), fmt.Sprintf("copy in %s = %v", namespace, want), func(m *corev1.ConfigMap) bool {
		if m == nil || want == nil {
			return m == nil && want == nil
		}
		return fmt.Sprint(m.Data) == fmt.Sprint(want)
	})
}

func (th *theatre) awaitReason(replica *v1alpha1.Replica, reason string) *v1alpha1.Replica {
	th.Helper()
	return await(th, replica, "reason "+reason, func(r *v1alpha1.Replica) bool {
		ready := readyOf(r)
		return ready.Reason == reason && r.Status.ObservedGeneration == r.Generation
	})
}

// awaitEvent waits for an event with a reason about a Replica.
func (th *theatre) awaitEvent(replica *v1alpha1.Replica, reason string) {
	th.Helper()
	ctx, cancel := context.WithTimeout(th.Context(), eventually)
	defer cancel()
	for ctx.Err() == nil { // a watch begins with what is there
		for change, err := range th.client.Watch(ctx, &eventsv1.EventList{}, client.InNamespace(replica.Namespace)) {
			if err != nil {
				th.Fatalf("event %s about Replica %s: %v", reason, replica.Name, err)
			}
			e, ok := change.Object.(*eventsv1.Event)
			if ok && e.Reason == reason && e.Regarding.Name == replica.Name && e.Regarding.Kind == "Replica" {
				return
			}
		}
	}
	th.Fatalf("no event %s about Replica %s", reason, replica.Name)
}

func readyOf(r *v1alpha1.Replica) metav1.Condition {
	if r == nil {
		return metav1.Condition{}
	}
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func namespace(name string, labels ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		ns.Labels[l] = "wanted"
	}
	return ns
}

func settings(namespace string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: data}
}

func replica(namespace, name, kind, source, label string) *v1alpha1.Replica {
	return &v1alpha1.Replica{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ReplicaSpec{
			Source:            v1alpha1.Source{Kind: kind, Name: source},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "wanted"}},
		},
	}
}

// The replicator's whole story with 50 namespaces, with the API server killed
// and started again in the middle.
func TestE2EReplicatorStory(t *testing.T) {
	th := openTheatre(t, nil)
	const n = 50
	name := func(i int) string { return fmt.Sprintf("team-%02d", i) }
	data := func(greeting string) map[string]string {
		return map[string]string{"greeting": greeting, "twice": greeting}
	}
	awaitAll := func(want map[string]string) {
		t.Helper()
		for i := range n {
			th.awaitData(name(i), want)
		}
	}

	th.create(namespace("source"), settings("source", data("hello")))
	for i := range n {
		th.create(namespace(name(i), "copies"))
	}
	story := replica("source", "story", v1alpha1.KindConfigMap, "settings", "copies")
	th.create(story)

	t.Log("create: every chosen namespace gets a copy")
	awaitAll(data("hello"))
	await(th, story, "all copied", func(r *v1alpha1.Replica) bool { return r.Status.Copied == n && r.Status.Wanted == n })
	th.awaitReason(story, v1alpha1.ReasonCopied)
	th.awaitEvent(story, v1alpha1.ReasonCopied)

	t.Log("the source changes, and loses a key")
	th.patch(settings("source", nil), `{"data":{"greeting":"good day","twice":null}}`)
	awaitAll(map[string]string{"greeting": "good day"})
	th.patch(settings("source", nil), `{"data":{"twice":"good day"}}`)
	awaitAll(data("good day"))

	t.Log("namespaces change their labels")
	th.patch(namespace(name(0)), `{"metadata":{"labels":{"copies":null}}}`)
	th.awaitData(name(0), nil)
	th.patch(namespace(name(0)), `{"metadata":{"labels":{"copies":"wanted"}}}`)
	th.awaitData(name(0), data("good day"))

	t.Log("a copy is edited by hand, and one is deleted")
	th.patch(settings(name(1), nil), `{"data":{"greeting":"mine","more":"too"}}`)
	th.awaitData(name(1), data("good day"))
	if err := th.client.Delete(t.Context(), settings(name(2), nil)); err != nil {
		t.Fatal(err)
	}
	th.awaitData(name(2), data("good day"))

	t.Log("a foreign object stands in the way")
	th.create(namespace("foreign"), settings("foreign", map[string]string{"theirs": "yes"}))
	th.patch(namespace("foreign"), `{"metadata":{"labels":{"copies":"wanted"}}}`)
	r := th.awaitReason(story, v1alpha1.ReasonForeignObject)
	if r.Status.Copied != n || r.Status.Namespaces[0].Namespace != "foreign" {
		t.Errorf("status %+v, want %d copied and foreign first", r.Status, n)
	}
	th.awaitEvent(story, v1alpha1.ReasonForeignObject)
	th.awaitData("foreign", map[string]string{"theirs": "yes"})
	if err := th.client.Delete(t.Context(), settings("foreign", nil)); err != nil {
		t.Fatal(err)
	}
	th.awaitData("foreign", data("good day"))
	th.awaitReason(story, v1alpha1.ReasonCopied)

	t.Log("the API server is killed, and started again; changes come before the watches are back")
	if err := th.plane.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := th.plane.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	th.patch(settings("source", nil), `{"data":{"greeting":"back","twice":"back"}}`)
	if err := th.client.Delete(t.Context(), settings(name(3), nil)); err != nil {
		t.Fatal(err)
	}
	th.patch(namespace(name(4)), `{"metadata":{"labels":{"copies":null}}}`)
	th.create(namespace("late", "copies"))
	th.awaitData(name(4), nil)
	th.awaitData("late", data("back"))
	th.patch(namespace(name(4)), `{"metadata":{"labels":{"copies":"wanted"}}}`)
	awaitAll(data("back"))
	th.awaitReason(story, v1alpha1.ReasonCopied)

	t.Log("the Replica is deleted: its copies go, and what is not its own stays")
	th.create(namespace("bystander"), settings("bystander", map[string]string{"theirs": "yes"}))
	if err := th.client.Delete(t.Context(), story); err != nil {
		t.Fatal(err)
	}
	await(th, story, "the Replica goes", func(r *v1alpha1.Replica) bool { return r == nil })
	for i := range n {
		th.awaitData(name(i), nil)
	}
	th.awaitData("source", data("back"))
	th.awaitData("bystander", map[string]string{"theirs": "yes"})

	t.Log("stop: within 5 s, and nothing is left running")
	if err := th.stop(); err != nil {
		t.Errorf("Start: %v", err)
	}
	checkNothingRuns(t)
}

// checkNothingRuns fails when a goroutine of ours is left.
func checkNothingRuns(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		buf := make([]byte, 4<<20)
		buf = buf[:runtime.Stack(buf, true)]
		var left []string
		for i, stack := range strings.Split(string(buf), "\n\n") {
			// The first is this one; the control plane's own watch over its
			// processes goes with the plane.
			ours := strings.Contains(stack, "governor/") || strings.Contains(stack, "client-go")
			if i > 0 && ours && !strings.Contains(stack, "governor/envtest.") && !strings.Contains(stack, "testing.tRunner") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
		time.Sleep(10 * time.Millisecond) // a goroutine that has returned may still be in the dump
	}
}

// Contracts 2 and 3: a wish that makes no sense is a condition with a reason
// and an event, copies stay as they are, and nothing loops.
func TestE2EReplicatorBadInput(t *testing.T) {
	th := openTheatre(t, nil)
	good := map[string]string{"greeting": "hello"}
	th.create(namespace("source"), namespace("target", "copies"), settings("source", good))
	wish := replica("source", "wish", v1alpha1.KindConfigMap, "settings", "copies")
	th.create(wish)
	th.awaitReason(wish, v1alpha1.ReasonCopied)

	tests := []struct{ name, merge, undo, reason string }{
		{"invalid selector", `{"spec":{"namespaceSelector":{"matchExpressions":[{"key":"copies","operator":"Sometimes"}]}}}`,
			`{"spec":{"namespaceSelector":{"matchExpressions":null}}}`, v1alpha1.ReasonInvalidSelector},
		{"invalid label in the selector", `{"spec":{"namespaceSelector":{"matchLabels":{"copies":"not a label!"}}}}`,
			`{"spec":{"namespaceSelector":{"matchLabels":{"copies":"wanted"}}}}`, v1alpha1.ReasonInvalidSelector},
		{"name that cannot be a namespace", `{"spec":{"namespaces":["target","No_Namespace"]}}`,
			`{"spec":{"namespaces":null}}`, v1alpha1.ReasonInvalidNamespace},
		{"namespace that does not exist", `{"spec":{"namespaces":["nowhere"]}}`,
			`{"spec":{"namespaces":null}}`, v1alpha1.ReasonWaiting},
		{"missing source", `{"spec":{"source":{"name":"nothing"}}}`,
			`{"spec":{"source":{"name":"settings"}}}`, v1alpha1.ReasonSourceMissing},
	}
	for _, tt := range tests {
		th.patch(wish, tt.merge)
		th.awaitReason(wish, tt.reason)
		th.awaitEvent(wish, tt.reason)
		th.awaitData("target", good)
		th.expectQuiet("reconcile Replica source/wish")
		th.patch(wish, tt.undo)
		th.awaitReason(wish, v1alpha1.ReasonCopied)
	}

	t.Log("a source too large to copy")
	th.patch(settings("source", nil), fmt.Sprintf(`{"data":{"large":%q}}`, strings.Repeat("x", 1040000)))
	th.awaitReason(wish, v1alpha1.ReasonSourceTooLarge)
	th.awaitEvent(wish, v1alpha1.ReasonSourceTooLarge)
	th.awaitData("target", good)
	th.expectQuiet("reconcile Replica source/wish")
	largest := strings.Repeat("x", replicator.MaxSourceBytes-3*len("large")-3*len("greeting")-len("hello"))
	th.patch(settings("source", nil), fmt.Sprintf(`{"data":{"large":%q}}`, largest))
	th.awaitData("target", map[string]string{"greeting": "hello", "large": largest})
	th.awaitReason(wish, v1alpha1.ReasonCopied)
}

// expectQuiet fails when a line is told more than a few times in two seconds.
func (th *theatre) expectQuiet(line string) {
	th.Helper()
	before := th.count(line)
	time.Sleep(2 * time.Second) // quiet can only be seen by waiting
	if more := th.count(line) - before; more > 5 {
		th.Errorf("%q was told %d times in 2 s: a hot loop", line, more)
	}
}

// Secrets are copied with their type, which no update can change.
func TestE2EReplicatorSecret(t *testing.T) {
	th := openTheatre(t, &envtest.ControlPlaneOptions{ControllerManager: true})
	secret := func(namespace string, secretType corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"}, Type: secretType,
			Data: map[string][]byte{"username": []byte("u"), "password": []byte("hunter2")},
		}
	}
	th.create(namespace("source"), namespace("target", "copies"), namespace("passing", "copies"), secret("source", corev1.SecretTypeBasicAuth))
	wish := replica("source", "wish", v1alpha1.KindSecret, "login", "copies")
	th.create(wish)
	copied := func(want corev1.SecretType) func(*corev1.Secret) bool {
		return func(s *corev1.Secret) bool {
			return s != nil && s.Type == want && string(s.Data["password"]) == "hunter2"
		}
	}
	await(th, secret("target", ""), "copy", copied(corev1.SecretTypeBasicAuth))
	await(th, secret("passing", ""), "copy", copied(corev1.SecretTypeBasicAuth))

	t.Log("the source is made again with another type")
	if err := th.client.Delete(t.Context(), secret("source", "")); err != nil {
		t.Fatal(err)
	}
	th.awaitReason(wish, v1alpha1.ReasonSourceMissing)
	th.create(secret("source", corev1.SecretTypeOpaque))
	await(th, secret("target", ""), "copy of the new type", copied(corev1.SecretTypeOpaque))
	th.awaitReason(wish, v1alpha1.ReasonCopied)

	t.Log("a chosen namespace is deleted")
	if err := th.client.Delete(t.Context(), namespace("passing")); err != nil {
		t.Fatal(err)
	}
	await(th, namespace("passing"), "the namespace goes", func(ns *corev1.Namespace) bool { return ns == nil })
	await(th, wish, "one is left", func(r *v1alpha1.Replica) bool { return r.Status.Wanted == 1 && r.Status.Copied == 1 })

	t.Log("the kind changes: the copy of the old kind goes")
	th.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "source", Name: "login"}, Data: map[string]string{"a": "b"}})
	th.patch(wish, `{"spec":{"source":{"kind":"ConfigMap"}}}`)
	await(th, secret("target", ""), "the Secret goes", func(s *corev1.Secret) bool { return s == nil })
	th.mu.Lock()
	defer th.mu.Unlock()
	for line := range th.told {
		if strings.Contains(line, "hunter2") {
			t.Errorf("a Secret's content was told: %s", line)
		}
	}
}

// The RBAC manifest gives the replicator all that it needs, and no more than it says.
func TestE2EReplicatorRBAC(t *testing.T) {
	plane, c, s := buildTheatre(t, nil)
	manifest, err := os.Open("../config/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer manifest.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(manifest, 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	account, err := plane.AddUser("system:serviceaccount:replicator-system:replicator")
	if err != nil {
		t.Fatal(err)
	}
	th := &theatre{T: t, plane: plane, client: c, told: map[string]int{}}
	th.run(account, s)
	th.create(namespace("source"), namespace("target", "copies"), settings("source", map[string]string{"greeting": "hello"}))
	wish := replica("source", "wish", v1alpha1.KindConfigMap, "settings", "copies")
	th.create(wish)
	th.awaitReason(wish, v1alpha1.ReasonCopied)
	th.awaitEvent(wish, v1alpha1.ReasonCopied)
	th.patch(settings("target", nil), `{"data":{"more":"too"}}`)
	th.awaitData("target", map[string]string{"greeting": "hello"})
	if err := c.Delete(t.Context(), wish); err != nil {
		t.Fatal(err)
	}
	await(th, wish, "the Replica goes", func(r *v1alpha1.Replica) bool { return r == nil })
	th.awaitData("target", nil)
}
