package informer_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"
	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

var (
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	cronTabKind   = schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
)

// cronTab is a Go type that cannot hold all that its kind's schema allows.
type cronTab struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

func (c *cronTab) DeepCopyObject() runtime.Object {
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

type cronTabList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []cronTab `json:"items"`
}

func (l *cronTabList) DeepCopyObject() runtime.Object { out := *l; return &out }

func cronTabs(t testing.TB) *scheme.Scheme {
	s := scheme.Builtin()
	err := s.Install(func(s *runtime.Scheme) error {
		s.AddKnownTypeWithName(cronTabKind, &cronTab{})
		s.AddKnownTypeWithName(cronTabKind.GroupVersion().WithKind("CronTabList"), &cronTabList{})
		metav1.AddToGroupVersion(s, cronTabKind.GroupVersion())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// installCronTabs installs the kind, whose spec may be anything.
func installCronTabs(t testing.TB, c client.Client) {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "crontabs.stable.example.com"},
		"spec": map[string]any{
			"group": cronTabKind.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}
	if err := envtest.InstallCRDs(t.Context(), c, crd); err != nil {
		t.Fatal(err)
	}
}

// newCronTab makes one whose replicas may be no number.
func newCronTab(name string, replicas any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
	u.SetGroupVersionKind(cronTabKind)
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// older compares two versions.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// world is a server in memory, who changes it, and who watches it: users of
// their own, so that the requests of the one are not those of the other.
type world struct {
	*envtest.Server
	t       testing.TB
	admin   *client.Direct
	watcher *client.Direct
	refused func() bool // says that there is nobody to connect to
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Server: envtest.NewServer(nil), t: t, refused: func() bool { return false }}
	s := cronTabs(t)
	var err error
	if w.admin, err = client.New(w.Config(), &client.Options{Scheme: s}); err != nil {
		t.Fatal(err)
	}
	cfg := w.AddUser("watcher")
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if w.refused() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return rt.RoundTrip(r)
		})
	})
	cfg.QPS = -1
	if w.watcher, err = client.New(cfg, &client.Options{Scheme: s}); err != nil {
		t.Fatal(err)
	}
	return w
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// put creates or updates an object, and returns its resourceVersion.
func (w *world) put(obj client.Object) string {
	w.t.Helper()
	err := w.admin.Create(w.t.Context(), obj)
	if apierrors.IsAlreadyExists(err) {
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
		if err = w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(obj), now); err == nil {
			obj.SetResourceVersion(now.ResourceVersion)
			err = w.admin.Update(w.t.Context(), obj)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return obj.GetResourceVersion()
}

// remove deletes an object.
func (w *world) remove(obj client.Object) {
	w.t.Helper()
	if err := w.admin.Delete(w.t.Context(), obj); err != nil {
		w.t.Fatal(err)
	}
}

// compact forgets what has happened so far.
func (w *world) compact() {
	w.t.Helper()
	if err := w.CompactTo(""); err != nil {
		w.t.Fatal(err)
	}
}

// What a request is of the three that an Informer makes.
func streams(r envtest.Request) bool { return r.Query.Get("sendInitialEvents") != "" }
func watches(r envtest.Request) bool { return r.Verb == "watch" && !streams(r) }
func lists(r envtest.Request) bool   { return r.Verb == "list" }

// fault makes the watcher's requests of one sort fail, so many times.
func (w *world) fault(which func(envtest.Request) bool, f envtest.Fault) (remove func()) {
	return w.Inject(envtest.Match{User: "watcher", Func: which}, f)
}

// noStreaming makes the server one that does not have streaming lists.
func (w *world) noStreaming() {
	w.fault(streams, envtest.Fault{Err: &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`,
		Details: &metav1.StatusDetails{Group: "meta.k8s.io", Kind: "ListOptions"},
	}}})
}

// asked are the watcher's requests for a kind of objects so far.
func (w *world) asked(resource string) (asked []envtest.Request) {
	for _, r := range w.Requests() {
		if r.User.Name == "watcher" && r.Resource == resource {
			asked = append(asked, r)
		}
	}
	return asked
}

// wantAsked compares them: `stream "7" 200`.
func (w *world) wantAsked(resource string, want ...string) []envtest.Request {
	w.t.Helper()
	asked := w.asked(resource)
	var got []string
	for _, r := range asked {
		verb := r.Verb
		if streams(r) {
			verb = "stream"
		}
		got = append(got, fmt.Sprintf("%s %q %d", verb, r.Query.Get("resourceVersion"), r.Code))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("the server got %q, want %q", got, want)
	}
	return asked
}

// informer returns one of a kind in a form, that has a store and one handler.
func (w *world) informer(gvk schema.GroupVersionKind, form client.Form) *watching {
	w.t.Helper()
	r, err := w.watcher.Resource(w.t.Context(), gvk, form)
	if err != nil {
		w.t.Fatal(err)
	}
	x := &watching{t: w.t, store: newStore(), heard: newHeard()}
	x.Informer = informer.New(&client.ListWatch{Resource: r, Decoder: r.NewDecoder(nil)}, x.store, &informer.Options{
		Name: gvk.Kind,
		WatchErrorHandler: func(_ context.Context, err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.errors = append(x.errors, err)
		},
	})
	if _, err := x.AddHandler(x.heard, nil); err != nil {
		w.t.Fatal(err)
	}
	return x
}

// watching is an Informer, and all that it says.
type watching struct {
	*informer.Informer
	t     testing.TB
	store *store
	heard *heard

	mu     sync.Mutex
	errors []error
}

// run runs it in the background until stop, or the end of the test.
func (x *watching) run() (stop func()) {
	ctx, cancel := context.WithCancel(x.t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	return sync.OnceFunc(func() {
		began := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(began) > time.Second {
			x.t.Errorf("Run returned %v after %v (contract 10)", err, time.Since(began))
		}
	})
}

// names are those of the stored objects.
func (x *watching) names() string {
	var names []string
	for _, o := range x.store.List() {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// reported are the errors so far.
func (x *watching) reported() []error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.errors)
}

// settle lets time pass, in a bubble.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// heard collects what a handler hears.
type heard struct {
	informer.HandlerFuncs
	mu  sync.Mutex
	all []string
}

func newHeard() *heard {
	h := &heard{}
	note := func(format string, args ...any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, fmt.Sprintf(format, args...))
	}
	h.AddFunc = func(o client.Object, _ bool) { note("add %s", o.GetName()) }
	h.UpdateFunc = func(_, o client.Object) { note("update %s", o.GetName()) }
	h.DeleteFunc = func(o client.Object, unknown bool) {
		what := "delete"
		if unknown {
			what = "missed delete"
		}
		note("%s %s", what, o.GetName())
	}
	return h
}

// want compares what was heard since the last call.
func (h *heard) want(t testing.TB, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.all, want) {
		t.Errorf("the handler heard %q, want %q", h.all, want)
	}
	h.all = nil
}
