package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// writer is a Delegating client of a cache whose watches can be stalled. All of it
// is for a bubble.
type writer struct {
	*client.Delegating
	t     *testing.T
	ctx   context.Context
	s     *server
	cache *Cache
	late  *lateWatch
}

func newWriter(t *testing.T, o *Options, d *client.DelegatingOptions) *writer {
	t.Helper()
	return newWriterVia(t, o, d, nil)
}

// newWriterVia is newWriter with a transport around that of the writes; nil: none.
func newWriterVia(t *testing.T, o *Options, d *client.DelegatingOptions, wrap func(http.RoundTripper) http.RoundTripper) *writer {
	t.Helper()
	w := &writer{t: t, ctx: t.Context(), s: newServer(t), late: &lateWatch{}}
	w.s.put(configMap("a", "there"))
	w.s.put(configMap("b", "there"))
	w.s.config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		w.late.base = base
		return w.late
	})
	w.cache = newCacheWith(t, w.s, nil, o)
	stop := start(t, w.cache)
	t.Cleanup(func() { w.late.stalled.Store(false); stop() }) // before that of start
	us := w.s.AddUser("us")
	if wrap != nil {
		us.Wrap(wrap)
	}
	direct, err := client.New(us, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.Delegating, err = client.NewDelegating(direct, w.cache, d); err != nil {
		t.Fatal(err)
	}
	return w
}

// stall reads the kinds once, and lets no watch bring anything from then on.
func (w *writer) stall(lists ...client.ObjectList) {
	w.t.Helper()
	for _, list := range lists {
		if err := w.List(w.ctx, list); err != nil {
			w.t.Fatal(err)
		}
	}
	synctest.Wait()
	w.late.stalled.Store(true)
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// catchUp lets the watch bring everything, and checks that nothing is left of the overlay.
func (w *writer) catchUp(obj client.Object) {
	w.t.Helper()
	w.late.stalled.Store(false)
	time.Sleep(time.Second)
	if n, floor := w.overlaid(obj); n > 0 || floor != "" {
		w.t.Errorf("the overlay keeps %d entries and the floor %q", n, floor)
	}
}

// overlaid counts the entries of obj's kind.
func (w *writer) overlaid(obj client.Object) (n int, floor string) {
	w.t.Helper()
	k, err := w.cache.GetInformer(w.ctx, obj)
	w.must(err)
	for _, s := range k.scopes() {
		if over := s.overlay.current.Load(); over != nil {
			n, floor = n+len(over.entries), over.floor
		}
	}
	return n, floor
}

// requests of the user since the last ResetRequests.
func (w *writer) requests(user string) (lines []string) {
	for _, r := range w.s.Requests() {
		if r.User.Name == user {
			lines = append(lines, r.Verb+" "+r.Path)
		}
	}
	return lines
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
}

var configMapGVK = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func mergePatch(text string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(text))
}

// inBubble runs each case of a table in a bubble of its own.
func inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Contract 12, FEATURES 1.2 gap (b): each verb in each form is seen in each form, and
// asks nothing of the server, while the watch brings nothing.
func TestOwnWritesAreReadAtOnce(t *testing.T) {
	u := func(labels map[string]string) *unstructured.Unstructured {
		u := unstructuredOf(configMapGVK)
		u.SetNamespace("a")
		u.SetName("there")
		u.SetLabels(labels)
		return u
	}
	for _, tt := range []struct {
		name  string
		write func(w *writer) error
		want  string
	}{
		{"update", func(w *writer) error {
			obj := configMap("a", "there")
			obj.Labels["app"] = "updated"
			return w.Update(w.ctx, obj)
		}, "updated"},
		{"update unstructured", func(w *writer) error { return w.Update(w.ctx, u(map[string]string{"app": "u"})) }, "u"},
		{"patch", func(w *writer) error {
			return w.Patch(w.ctx, configMap("a", "there"), mergePatch(`{"metadata":{"labels":{"app":"patched"}}}`))
		}, "patched"},
		{"patch unstructured", func(w *writer) error {
			return w.Patch(w.ctx, u(nil), mergePatch(`{"metadata":{"labels":{"app":"patched"}}}`))
		}, "patched"},
		{"apply", func(w *writer) error {
			return w.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(u(map[string]string{"app": "applied"})), client.FieldOwner("test"), client.ForceOwnership)
		}, "applied"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := newWriter(t, nil, nil)
			w.stall(&corev1.ConfigMapList{})
			w.s.ResetRequests()
			w.must(tt.write(w))
			typed, loose, metadata := &corev1.ConfigMap{}, unstructuredOf(configMapGVK), metadataFor(configMapGVK)
			for _, obj := range []client.Object{typed, loose, metadata} {
				w.must(w.Get(w.ctx, key("a", "there"), obj))
				if got := obj.GetLabels()["app"]; got != tt.want {
					t.Errorf("%T has %q", obj, got)
				}
				if obj.GetManagedFields() != nil {
					t.Errorf("%T has managedFields, stored ones have not", obj)
				}
			}
			list := &corev1.ConfigMapList{}
			w.must(w.List(w.ctx, list, client.MatchingLabels{"app": tt.want}))
			if got := names(t, list); !slices.Equal(got, []string{"a/there"}) {
				t.Errorf("list: %v", got)
			}
			w.must(w.Get(w.ctx, key("a", "there"), typed, client.DisableReadYourWritesConsistency))
			w.must(w.List(w.ctx, list, client.MatchingLabels{"app": tt.want}, client.DisableReadYourWritesConsistency))
			if typed.Labels["app"] != "there" || len(list.Items) != 0 {
				t.Errorf("switched off, a read shows %v and %d", typed.Labels, len(list.Items))
			}
			if got := w.requests("cache"); len(got) > 0 {
				t.Errorf("the cache asked %v", got)
			}
			w.catchUp(typed)
		})
	}
}

// What is created comes in order and in its page, what is deleted is gone; and what is
// created anew under the name of what was deleted is there.
func TestOwnCreatesAndDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.must(w.cache.IndexField(w.ctx, &corev1.ConfigMap{}, "size", func(o client.Object) []string {
			return []string{fmt.Sprint(len(o.(*corev1.ConfigMap).Data))}
		}))
		w.stall(&corev1.ConfigMapList{})
		for _, name := range []string{"aa", "zz", "mm"} {
			w.must(w.Create(w.ctx, configMap("a", name)))
		}
		generated := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", GenerateName: "g-"}, Data: map[string]string{"k": "v"}}
		w.must(w.Create(w.ctx, generated))
		w.must(w.Delete(w.ctx, configMap("b", "there")))
		var all []string
		list := &corev1.ConfigMapList{}
		for next := ""; ; next = list.Continue {
			w.must(w.List(w.ctx, list, client.Limit(2), client.Continue(next)))
			all = append(all, names(t, list)...)
			if list.Continue == "" {
				break
			}
		}
		if want := []string{"a/aa", "a/mm", "a/there", "a/zz", "b/" + generated.Name}; !slices.Equal(all, want) {
			t.Errorf("pages of %v, want %v", all, want)
		}
		for want, selection := range map[string]client.ListOption{
			"b/" + generated.Name: client.MatchingFields{"size": "1"},
			"a/mm":                client.MatchingFields{"metadata.name": "mm"},
			"a/zz":                client.MatchingLabels{"app": "zz"},
		} {
			w.must(w.List(w.ctx, list, selection))
			if got := names(t, list); !slices.Equal(got, []string{want}) {
				t.Errorf("%v: %v, want %s", selection, got, want)
			}
		}
		if err := w.Get(w.ctx, key("b", "there"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("deleted: %v", err)
		}
		again := configMap("b", "there")
		w.must(w.Create(w.ctx, again))
		got := &corev1.ConfigMap{}
		w.must(w.Get(w.ctx, key("b", "there"), got))
		if got.UID != again.UID {
			t.Error("not the new object")
		}
		w.catchUp(got)
	})
}

// A delete that has to wait shows the object with its deletionTimestamp; when what held
// it lets go, it is gone, though the answer to that is an object.
func TestOwnDeleteOfWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		obj := configMap("a", "held")
		obj.Finalizers = []string{"example.com/held"}
		w.s.put(obj)
		w.s.put(pod("a", "p", "", "node"))
		w.stall(&corev1.ConfigMapList{}, &corev1.PodList{})
		w.must(w.Delete(w.ctx, obj))
		w.must(w.Get(w.ctx, key("a", "held"), obj))
		if obj.DeletionTimestamp == nil {
			t.Error("it does not look deleted")
		}
		obj.Finalizers = nil
		w.must(w.Update(w.ctx, obj))
		if err := w.Get(w.ctx, key("a", "held"), obj); !apierrors.IsNotFound(err) {
			t.Errorf("after the finalizer: %v", err)
		}
		p := pod("a", "p", "", "node")
		w.must(w.Delete(w.ctx, p))
		w.must(w.Get(w.ctx, key("a", "p"), p))
		if p.DeletionTimestamp == nil {
			t.Error("the pod does not end")
		}
		w.must(w.Delete(w.ctx, p, client.GracePeriodSeconds(0)))
		if err := w.Get(w.ctx, key("a", "p"), p); !apierrors.IsNotFound(err) {
			t.Errorf("the pod that was killed: %v", err)
		}
		w.catchUp(obj)
		w.catchUp(p)
	})
}

// What the answer does not tell is asked of the server, once: the next read of the key, or
// of a list that may have it, asks for the one object.
func TestOwnWritesWithAnotherAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(w *writer) error
		saw   func(p *corev1.Pod) bool
		asks  int
	}{
		{"metadata-only patch", func(w *writer) error {
			m := metadataFor(podGVK)
			m.Namespace, m.Name = "a", "p"
			return w.Patch(w.ctx, m, mergePatch(`{"metadata":{"labels":{"app":"new"}}}`))
		}, func(p *corev1.Pod) bool { return p.Labels["app"] == "new" }, 1},
		{"eviction", func(w *writer) error {
			return w.SubResource("eviction").Create(w.ctx, pod("a", "p", "", ""), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
		}, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }, 1},
		{"binding", func(w *writer) error {
			return w.SubResource("binding").Create(w.ctx, pod("a", "p", "", ""), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "bound"}})
		}, func(p *corev1.Pod) bool { return p.Spec.NodeName == "bound" }, 1},
		{"status", func(w *writer) error {
			return w.Status().Patch(w.ctx, pod("a", "p", "", ""), mergePatch(`{"status":{"message":"hello"}}`))
		}, func(p *corev1.Pod) bool { return p.Status.Message == "hello" }, 0},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := newWriter(t, nil, nil)
			node := "node" // a pod that is bound and evicted has a while to end
			if tt.name == "binding" {
				node = ""
			}
			w.s.put(pod("a", "p", "", node))
			w.s.put(pod("a", "q", "", "node"))
			w.stall(&corev1.PodList{})
			w.s.ResetRequests()
			w.must(tt.write(w))
			list := &corev1.PodList{}
			w.must(w.List(w.ctx, list, client.MatchingFields{"metadata.name": "q"}))
			if got := w.requests("cache"); len(got) > 0 {
				t.Errorf("a list without the pod asked %v", got)
			}
			w.must(w.List(w.ctx, list))
			got := &corev1.Pod{}
			w.must(w.Get(w.ctx, key("a", "p"), got))
			if !tt.saw(got) || !tt.saw(&list.Items[0]) {
				t.Errorf("Get shows %v, List %v", got, list.Items[0])
			}
			if got := w.requests("cache"); len(got) != tt.asks {
				t.Errorf("the cache asked %v, want %d", got, tt.asks)
			}
			w.late.stalled.Store(false)
			time.Sleep(time.Second)
		})
	}
}

// A scale's answer has the version of what is scaled; a token changes nothing.
func TestOwnWritesOfSubresources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "rc"}, Spec: corev1.ReplicationControllerSpec{
			Replicas: new(int32(1)), Selector: map[string]string{"a": "b"}, Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "sa"}}
		w.s.put(rc)
		w.s.put(account)
		w.stall(&corev1.ReplicationControllerList{}, &corev1.ServiceAccountList{})
		scale := &autoscalingv1.Scale{}
		w.must(w.SubResource("scale").Get(w.ctx, rc, scale))
		scale.Spec.Replicas = 3
		w.must(w.SubResource("scale").Update(w.ctx, rc, client.WithSubResourceBody(scale)))
		w.must(w.SubResource("token").Create(w.ctx, account, &authenticationv1.TokenRequest{}))
		w.must(w.Get(w.ctx, key("a", "rc"), rc))
		if *rc.Spec.Replicas != 3 {
			t.Errorf("%d replicas", *rc.Spec.Replicas)
		}
		if n, _ := w.overlaid(account); n != 0 {
			t.Error("the account is overlaid")
		}
		w.catchUp(rc)
	})
}

// DeleteAllOf, which upstream refuses: all that it has deleted is gone, or going.
func TestOwnDeleteAllOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		held := configMap("a", "held")
		held.Finalizers = []string{"example.com/held"}
		for _, obj := range []*corev1.ConfigMap{held, configMap("a", "x"), configMap("a", "y")} {
			w.s.put(obj)
		}
		w.stall(&corev1.ConfigMapList{})
		w.must(w.Create(w.ctx, configMap("a", "z")))
		w.s.ResetRequests()
		w.must(w.DeleteAllOf(w.ctx, &corev1.ConfigMap{}, client.InNamespace("a"), client.MatchingLabelsSelector{Selector: not(t, "app", "y")}))
		list := &corev1.ConfigMapList{}
		for range 2 {
			w.must(w.List(w.ctx, list))
			if got := names(t, list); !slices.Equal(got, []string{"a/held", "a/y", "b/there"}) || list.Items[0].DeletionTimestamp == nil {
				t.Errorf("there are %v, the first %v", got, list.Items[0].DeletionTimestamp)
			}
		}
		if got := w.requests("cache"); len(got) != 1 {
			t.Errorf("the cache asked %v, want one list", got)
		}
		w.late.stalled.Store(false)
		time.Sleep(time.Second)
	})
}

// silent is a transport to a server that says of a deletecollection only that it is done.
type silent struct{ http.RoundTripper }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/configmaps") {
		resp.Body.Close()
		resp.Header.Set("Content-Type", "application/json")
		resp.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}
	return resp, err
}

// An answer that lists nothing: whatever is known of the namespace is asked for.
func TestOwnDeleteAllOfUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriterVia(t, nil, nil, func(base http.RoundTripper) http.RoundTripper { return silent{base} })
		w.stall(&corev1.ConfigMapList{})
		w.must(w.Create(w.ctx, configMap("a", "x")))
		w.must(w.DeleteAllOf(w.ctx, &corev1.ConfigMap{}, client.InNamespace("a")))
		list := &corev1.ConfigMapList{}
		w.must(w.List(w.ctx, list))
		if got := names(t, list); !slices.Equal(got, []string{"b/there"}) {
			t.Errorf("there are %v", got)
		}
		w.late.stalled.Store(false)
		time.Sleep(time.Second)
	})
}

func not(t *testing.T, key, value string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(key + "!=" + value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FEATURES 1.2 gap (a), trap 7: for what is not read from the cache no informer is
// opened, and nothing is recorded; nor for what did not happen.
func TestOwnWritesOpenNoInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, &Options{ReaderFailOnMissingInformer: true}, &client.DelegatingOptions{DisableFor: []client.Object{&corev1.Secret{}}})
		if _, err := w.cache.GetInformer(w.ctx, &corev1.Secret{}); err != nil {
			t.Fatal(err)
		}
		k, err := w.cache.GetInformer(w.ctx, &corev1.Pod{})
		w.must(err)
		w.must(k.WaitForSync(w.ctx))
		w.stall()
		w.must(w.Create(w.ctx, configMap("a", "x")))
		w.must(w.Delete(w.ctx, configMap("a", "x")))
		w.must(w.Create(w.ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}}))
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}}
		w.must(w.Create(w.ctx, secret))
		w.must(w.Get(w.ctx, key("a", "s"), secret))
		w.must(w.Create(w.ctx, pod("a", "p", "", ""), client.DryRunAll))
		if err := w.Update(w.ctx, pod("a", "p", "", "")); err == nil {
			t.Error("no error for an update of what is not there")
		}
		for _, obj := range []client.Object{&corev1.Secret{}, &corev1.Pod{}} {
			if n, _ := w.overlaid(obj); n != 0 {
				t.Errorf("%T is overlaid", obj)
			}
		}
		if err := w.Get(w.ctx, key("a", "x"), &corev1.ConfigMap{}); !errors.Is(err, ErrResourceNotCached) {
			t.Errorf("a kind without an informer: %v", err)
		}
		for _, line := range w.requests("cache") {
			if !strings.Contains(line, "/pods") && !strings.Contains(line, "/secrets") && !strings.Contains(line, "nonresource") && strings.HasPrefix(line, "watch") {
				t.Errorf("the cache asked %s", line)
			}
		}
	})
}

// FEATURES 1.2 gap (c), trap 6: after RemoveInformer nothing waits for what
// will not come, and nothing of what was known stays.
func TestOwnWritesAfterRemoveInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		w.must(w.Create(w.ctx, configMap("a", "x")))
		w.must(w.cache.RemoveInformer(w.ctx, &corev1.ConfigMap{}))
		w.must(w.Create(w.ctx, configMap("a", "y")))
		w.late.stalled.Store(false)
		for _, name := range []string{"x", "y"} {
			w.must(w.Get(w.ctx, key("a", name), &corev1.ConfigMap{}))
		}
		w.must(w.Delete(w.ctx, configMap("a", "x")))
		if err := w.Get(w.ctx, key("a", "x"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// FEATURES 1.2, documented limits and gap (d): with several namespaces each has its own
// version; what the selectors leave out blocks no read, and a bookmark drops it.
func TestOwnWritesOutsideTheSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, &Options{
			DefaultNamespaces:    map[string]Config{"a": {}, "b": {}},
			DefaultLabelSelector: labels.SelectorFromSet(labels.Set{"app": "there"}),
		}, nil)
		w.stall(&corev1.ConfigMapList{})
		w.must(w.s.admin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c"}}))
		w.must(w.Create(w.ctx, configMap("c", "there"))) // not cached there
		began := time.Now()
		w.must(w.Create(w.ctx, configMap("a", "other")))
		w.must(w.Patch(w.ctx, configMap("b", "there"), mergePatch(`{"metadata":{"labels":{"app":"left"}}}`)))
		for _, k := range []client.ObjectKey{key("a", "other"), key("b", "there")} {
			if err := w.Get(w.ctx, k, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s: %v", k, err)
			}
		}
		list := &corev1.ConfigMapList{}
		w.must(w.List(w.ctx, list))
		if got := names(t, list); !slices.Equal(got, []string{"a/there"}) {
			t.Errorf("list: %v", got)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the reads took %v", took)
		}
		w.late.stalled.Store(false)
		time.Sleep(3 * time.Minute)
		if n, _ := w.overlaid(&corev1.ConfigMap{}); n != 0 {
			t.Errorf("%d entries after bookmarks", n)
		}
	})
}

// The Transform is applied to what is shown; one that fails is no answer, and no panic.
func TestOwnWritesAreTransformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, &Options{DefaultTransform: func(obj client.Object) (client.Object, error) {
			if obj.GetName() == "bad" {
				panic("bad")
			}
			obj.SetAnnotations(map[string]string{"fields": fmt.Sprint(len(obj.GetManagedFields()))})
			return obj, nil
		}}, nil)
		w.stall(&corev1.ConfigMapList{})
		w.must(w.Create(w.ctx, configMap("a", "x")))
		got := &corev1.ConfigMap{}
		w.must(w.Get(w.ctx, key("a", "x"), got))
		if got.Annotations["fields"] != "1" {
			t.Errorf("annotations %v: the function did not see the managedFields", got.Annotations)
		}
		w.must(w.Create(w.ctx, configMap("a", "bad")))
		if err := w.Get(w.ctx, key("a", "bad"), got); err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("error %v", err)
		}
	})
}

// heard is a handler that counts.
type heard struct{ n atomic.Int64 }

func (h *heard) OnAdd(client.Object, bool)             { h.n.Add(1) }
func (h *heard) OnUpdate(client.Object, client.Object) { h.n.Add(1) }
func (h *heard) OnDelete(client.Object, bool)          { h.n.Add(1) }

var _ informer.Handler = &heard{}

// Handlers hear each event as the watch brings it, whatever is shown meanwhile; and
// the client can be told to leave all this.
func TestOwnWritesAreNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		k, err := w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
		w.must(err)
		h := &heard{}
		_, err = k.AddHandler(h, nil)
		w.must(err)
		w.stall(&corev1.ConfigMapList{})
		before := h.n.Load()
		obj := configMap("a", "x")
		w.must(w.Create(w.ctx, obj))
		obj.Labels["app"] = "y"
		w.must(w.Update(w.ctx, obj))
		w.must(w.Delete(w.ctx, obj))
		time.Sleep(time.Second)
		if h.n.Load() != before {
			t.Errorf("%d events before the watch brought any", h.n.Load()-before)
		}
		w.catchUp(obj)
		if h.n.Load() != before+3 {
			t.Errorf("%d events, want 3", h.n.Load()-before)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, &client.DelegatingOptions{DisableReadYourWritesConsistency: true})
		w.stall(&corev1.ConfigMapList{})
		w.must(w.Create(w.ctx, configMap("a", "x")))
		if err := w.Get(w.ctx, key("a", "x"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("switched off for the client: %v", err)
		}
		w.must(w.Get(w.ctx, key("a", "x"), &corev1.ConfigMap{}, client.Live))
		list := &corev1.ConfigMapList{}
		w.must(w.List(w.ctx, list, client.Live, client.InNamespace("a")))
		if len(list.Items) != 2 {
			t.Errorf("a live list has %d", len(list.Items))
		}
		for _, err := range []error{
			w.cache.Get(w.ctx, key("a", "x"), &corev1.ConfigMap{}, client.Live),
			w.cache.List(w.ctx, list, client.Live),
		} {
			if !errors.Is(err, errLive) {
				t.Errorf("the cache itself, live: %v", err)
			}
		}
	})
}

// Somebody else's write that is newer than ours wins, and ours that is newer wins over
// what the watch brings late.
func TestOwnWritesAndOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		patch := func(c client.Client, value string) {
			t.Helper()
			w.must(c.Patch(w.ctx, configMap("a", "there"), mergePatch(`{"metadata":{"labels":{"app":"`+value+`"}}}`)))
		}
		app := func() string {
			t.Helper()
			obj := &corev1.ConfigMap{}
			w.must(w.Get(w.ctx, key("a", "there"), obj))
			return obj.Labels["app"]
		}
		patch(w.s.admin, "theirs")
		patch(w, "ours")
		if got := app(); got != "ours" {
			t.Errorf("shows %q", got)
		}
		patch(w.s.admin, "theirs-again")
		w.catchUp(&corev1.ConfigMap{})
		if got := app(); got != "theirs-again" {
			t.Errorf("shows %q", got)
		}
		// The answer is told late: the store is past it.
		patch(w, "past")
		synctest.Wait()
		w.must(w.s.admin.Delete(w.ctx, configMap("a", "there")))
		synctest.Wait()
		if n, _ := w.overlaid(&corev1.ConfigMap{}); n != 0 {
			t.Errorf("%d entries that the store has passed", n)
		}
	})
}

// Contract 3: a read with MinResourceVersion waits for the watch, within a bound, and
// says so. Our own write is there at once.
func TestMinResourceVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		ours, theirs := configMap("a", "ours"), configMap("a", "theirs")
		w.must(w.Create(w.ctx, ours))
		w.must(w.s.admin.Create(w.ctx, theirs))
		began := time.Now()
		w.must(w.Get(w.ctx, key("a", "ours"), &corev1.ConfigMap{}, client.MinResourceVersion(ours.ResourceVersion)))
		if took := time.Since(began); took > 0 {
			t.Errorf("our own write took %v", took)
		}
		for _, read := range []func(...client.MinResourceVersion) error{
			func(m ...client.MinResourceVersion) error {
				return w.Get(w.ctx, key("a", "theirs"), &corev1.ConfigMap{}, m[0])
			},
			func(m ...client.MinResourceVersion) error { return w.List(w.ctx, &corev1.ConfigMapList{}, m[0]) },
		} {
			began := time.Now()
			err := read(client.MinResourceVersion(theirs.ResourceVersion))
			behind, ok := errors.AsType[*BehindError](err)
			if !ok || behind.ResourceVersion != theirs.ResourceVersion || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "v1/ConfigMap") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(began); took != freshTimeout {
				t.Errorf("it took %v", took)
			}
			if err := read("nonsense"); err == nil {
				t.Error("no error for nonsense")
			}
		}
		time.AfterFunc(time.Second, func() { w.late.stalled.Store(false) })
		w.must(w.Get(w.ctx, key("a", "theirs"), &corev1.ConfigMap{}, client.MinResourceVersion(theirs.ResourceVersion)))
	})
}

// Memory is bounded: past so many own writes that the watch has not brought, reads wait
// for it.
func TestOwnWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		last := ""
		for n := range maxOverlaid + 10 {
			obj := configMap("a", fmt.Sprintf("n-%04d", n))
			w.must(w.Create(w.ctx, obj))
			last = obj.ResourceVersion
			time.Sleep(time.Microsecond)
		}
		if n, floor := w.overlaid(&corev1.ConfigMap{}); n != maxOverlaid || floor == "" {
			t.Errorf("%d entries, floor %q", n, floor)
		}
		if err := w.Get(w.ctx, key("a", "n-0000"), &corev1.ConfigMap{}); !isBehind(err) {
			t.Errorf("the first: %v", err)
		}
		if err := w.List(w.ctx, &corev1.ConfigMapList{}); !isBehind(err) {
			t.Errorf("a list: %v", err)
		}
		w.must(w.Get(w.ctx, key("a", fmt.Sprintf("n-%04d", maxOverlaid+9)), &corev1.ConfigMap{})) // is known
		w.late.stalled.Store(false)
		list := &corev1.ConfigMapList{}
		w.must(w.List(w.ctx, list, client.MinResourceVersion(last)))
		if len(list.Items) != maxOverlaid+12 {
			t.Errorf("%d items", len(list.Items))
		}
		w.catchUp(&corev1.ConfigMap{})
	})
}

func isBehind(err error) bool {
	_, is := errors.AsType[*BehindError](err)
	return is
}

// A server that was restored from a backup: what it has lost is not shown for ever.
func TestOwnWritesThatTheServerHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		obj := configMap("a", "x")
		w.must(w.Create(w.ctx, obj))
		w.must(w.s.admin.Delete(w.ctx, configMap("a", "x"))) // so that it is not there, and we do not know
		w.must(w.Get(w.ctx, key("a", "x"), obj))
		time.Sleep(trust)
		w.s.ResetRequests()
		for range 2 {
			if err := w.Get(w.ctx, key("a", "x"), obj); !apierrors.IsNotFound(err) {
				t.Errorf("after %v: %v", trust, err)
			}
		}
		if got := w.requests("cache"); len(got) != 1 {
			t.Errorf("asked %v, want once", got)
		}
		// A list of the newest state, older than what was seen: nothing is believed.
		k, err := w.cache.GetInformer(w.ctx, obj)
		w.must(err)
		s := k.scopes()[0]
		if s.overlay.current.Load() == nil {
			t.Fatal("nothing is overlaid")
		}
		w.must((&overlaidStore{s.indexer, s.overlay}).Replace(nil, "1"))
		if s.overlay.current.Load() != nil {
			t.Error("something is overlaid still")
		}
	})
}

// While the server does not answer, what is not known is an error within a bound, and never
// a NotFound, not even when the server knows the kind no more.
func TestOwnWritesThatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, nil, nil)
		w.stall(&corev1.ConfigMapList{})
		m := metadataFor(configMapGVK)
		m.Namespace, m.Name = "a", "there"
		w.must(w.Patch(w.ctx, m, mergePatch(`{"metadata":{"labels":{"app":"new"}}}`)))
		remove := w.s.Inject(envtest.Match{User: "cache", Verb: "list"}, envtest.Fault{Err: apierrors.NewNotFound(corev1.Resource("configmaps"), "")})
		if err := w.Get(w.ctx, key("a", "there"), &corev1.ConfigMap{}); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("error %v", err)
		}
		remove()
		remove = w.s.Inject(envtest.Match{User: "cache", Verb: "list"}, envtest.Fault{Delay: time.Hour})
		began := time.Now()
		if err := w.List(w.ctx, &corev1.ConfigMapList{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != freshTimeout {
			t.Errorf("it took %v", took)
		}
		remove()
		w.must(w.Get(w.ctx, key("a", "there"), &corev1.ConfigMap{}))
	})
}
