package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// heard returns what a story has to tell, sorted, and empties it.
func (s *story) heard() string {
	time.Sleep(time.Second)
	synctest.Wait()
	lines := slices.Sorted(slices.Values(s.lines))
	s.lines = nil
	return strings.Join(lines, ", ")
}

// follow adds a story to a kind, and waits for what it is told first.
func follow(t *testing.T, c *Cache, obj client.Object) *story {
	t.Helper()
	k, err := c.GetInformer(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	st := &story{t: t}
	r, err := k.AddHandler(st, nil)
	st.registration = r
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WaitForSync(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	return st
}

func set(namespaces ...string) map[string]Config {
	m := map[string]Config{}
	for _, ns := range namespaces {
		m[ns] = Config{}
	}
	return m
}

// fourPods are one in each of ns0 to ns3, p0 to p3.
func fourPods(t *testing.T) *server {
	s := newServer(t)
	for i := range 4 {
		s.put(pod(fmt.Sprintf("ns%d", i), fmt.Sprintf("p%d", i), "x", fmt.Sprintf("n%d", i)))
	}
	return s
}

// Contract 10: namespaces come and go; handlers hear of it, reads know it at once,
// and indexes are kept.
func TestSetNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		c := newCache(t, s, &Options{DefaultNamespaces: set("ns0", "ns1"), ByObject: map[client.Object]ByObject{&corev1.Secret{}: {Namespaces: set("ns3")}}})
		start(t, c)
		st := follow(t, c, &corev1.Pod{})
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "node", byNodeName); err != nil {
			t.Fatal(err)
		}
		if got := st.heard(); got != "add p0 true, add p1 true" {
			t.Errorf("at first: %s", got)
		}
		if err := c.Get(t.Context(), key("ns2", "p2"), &corev1.Pod{}); !errors.Is(err, ErrNamespaceNotCached) || apierrors.IsNotFound(err) {
			t.Errorf("a namespace that is not cached: %v", err)
		}
		before := len(s.seen())
		namespaces := set("ns1", "ns2")
		if err := c.SetNamespaces(namespaces); err != nil {
			t.Fatal(err)
		}
		delete(namespaces, "ns1") // it is the caller's
		// Reads know it at once, before anything has been listed.
		if err := c.Get(t.Context(), key("ns2", "p2"), &corev1.Pod{}); err != nil {
			t.Errorf("a namespace that was added: %v", err)
		}
		if err := c.Get(t.Context(), key("ns0", "p0"), &corev1.Pod{}); !errors.Is(err, ErrNamespaceNotCached) {
			t.Errorf("a namespace that was removed: %v", err)
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list, client.MatchingFields{"node": "n2"}); err != nil || len(list.Items) != 1 {
			t.Errorf("by index: %v, %v", names(t, &list), err)
		}
		if err := c.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("ns1")); err != nil {
			t.Errorf("another kind, asked for later: %v", err)
		}
		if got := st.heard(); got != "add p2 true, delete p0" {
			t.Errorf("after the change: %s", got)
		}
		// ns1 was not listed again, and ns0 is not watched any more.
		if got := s.seen()[before:]; fmt.Sprint(slices.Sorted(slices.Values(got))) != "[STREAM /api/v1/namespaces/ns1/configmaps STREAM /api/v1/namespaces/ns2/configmaps STREAM /api/v1/namespaces/ns2/pods]" {
			t.Errorf("requests: %v", got)
		}
		s.put(pod("ns0", "new", "x", "n"))
		s.put(pod("ns2", "new", "x", "n"))
		if got := st.heard(); got != "add new false" {
			t.Errorf("later changes: %s", got)
		}
		// All of them, and back.
		if err := c.SetNamespaces(nil); err != nil {
			t.Fatal(err)
		}
		if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 6 {
			t.Errorf("all namespaces: %v, %v", names(t, &list), err)
		}
		if got := st.heard(); got != "add new true, add new true, add p0 true, add p1 true, add p2 true, add p3 true, delete new, delete p1, delete p2" {
			t.Errorf("all namespaces: %s", got)
		}
		// A kind that is asked for later has them, too; one with its own keeps them.
		if err := c.SetNamespaces(set("ns1")); err != nil {
			t.Fatal(err)
		}
		for _, obj := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Node{}} {
			follow(t, c, obj)
		}
		got := s.seen()
		for _, want := range []string{"STREAM /api/v1/namespaces/ns1/configmaps", "STREAM /api/v1/namespaces/ns3/secrets", "STREAM /api/v1/nodes"} {
			if !slices.Contains(got, want) {
				t.Errorf("requests %v, want %s", got, want)
			}
		}
	})
}

// A namespace that gets a request of its own, or another one, is not told twice at
// once: each handler hears the end of the one informer before the start of the
// other. Handlers do not wait for each other.
func TestNamespacesThatMoveBetweenInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		c := newCache(t, s, &Options{DefaultNamespaces: set("", "ns1")})
		start(t, c)
		st := follow(t, c, &corev1.Pod{})
		st.heard()
		k, _ := c.GetInformer(t.Context(), &corev1.Pod{})
		release := make(chan struct{})
		blocked, err := k.AddHandler(informer.HandlerFuncs{DeleteFunc: func(client.Object, bool) { <-release }}, nil)
		if err != nil {
			t.Fatal(err)
		}
		unselected := map[string]Config{metav1.NamespaceAll: {}, "ns1": {}, "ns2": {LabelSelector: labels.SelectorFromSet(labels.Set{"app": "y"})}}
		if err := c.SetNamespacesOf(&corev1.Pod{}, unselected); err != nil {
			t.Fatal(err)
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil || strings.Join(names(t, &list), " ") != "ns0/p0 ns1/p1 ns3/p3" {
			t.Errorf("%v, %v", names(t, &list), err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		last := map[string]string{}
		for _, line := range st.lines {
			f := strings.Fields(line)
			if f[0] == last[f[1]] {
				t.Errorf("twice in a row: %s", line)
			}
			last[f[1]] = f[0]
		}
		if fmt.Sprint(last) != "map[p0:add p2:delete p3:add]" {
			t.Errorf("heard %v", st.lines)
		}
		if got := s.seen(); !slices.Contains(got, "STREAM /api/v1/pods fieldSelector=metadata.namespace!=ns1,metadata.namespace!=ns2") ||
			!slices.Contains(got, "STREAM /api/v1/namespaces/ns2/pods labelSelector=app=y") {
			t.Errorf("requests: %v", got)
		}
		if err := blocked.WaitForSync(within(t, time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a handler that has not come to the new informers: %v", err)
		}
		close(release)
		if err := blocked.WaitForSync(within(t, time.Second)); err != nil {
			t.Error(err)
		}
	})
}

// Settings other than selectors count, too.
func TestNamespacesWithOtherSettings(t *testing.T) {
	keep := func(o client.Object) (client.Object, error) { return o, nil }
	for name, tt := range map[string]struct {
		to     Config
		listed bool
	}{
		"the same":         {Config{SyncPeriod: new(time.Hour), UnsafeDisableDeepCopy: new(false)}, false},
		"a Transform":      {Config{SyncPeriod: new(time.Hour), Transform: keep}, true},
		"no deep copy":     {Config{SyncPeriod: new(time.Hour), UnsafeDisableDeepCopy: new(true)}, true},
		"another resync":   {Config{SyncPeriod: new(time.Minute)}, true},
		"other labels":     {Config{SyncPeriod: new(time.Hour), LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"})}, true},
		"everything again": {Config{SyncPeriod: new(time.Hour), LabelSelector: labels.Everything()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fourPods(t)
				c := newCache(t, s, &Options{DefaultNamespaces: map[string]Config{"ns1": {SyncPeriod: new(time.Hour)}}})
				start(t, c)
				st := follow(t, c, &corev1.Pod{})
				st.heard()
				if err := c.SetNamespaces(map[string]Config{"ns1": tt.to}); err != nil {
					t.Fatal(err)
				}
				if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
					t.Error(err)
				}
				want := ""
				if tt.listed {
					want = "add p1 true, delete p1"
				}
				if got := st.heard(); got != want {
					t.Errorf("heard %q, want %q", got, want)
				}
			})
		})
	}
}

func TestSetNamespacesThatMakeNoSense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		c := newCache(t, s, nil)
		nothing := map[string]Config{"ns1": {LabelSelector: labels.Nothing()}}
		if c.SetNamespaces(nothing) == nil || c.SetNamespacesOf(&corev1.Pod{}, nothing) == nil {
			t.Error("a selector of nothing is no error")
		}
		if err := c.SetNamespacesOf(&corev1.Pod{}, set("ns2")); err != nil { // before anything
			t.Error(err)
		}
		start(t, c)
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
			t.Errorf("%v, %v", names(t, &list), err)
		}
		follow(t, c, &corev1.Node{})
		if err := c.SetNamespacesOf(&corev1.Node{}, set("ns1")); err == nil || !strings.Contains(err.Error(), "v1/Node") {
			t.Errorf("namespaces of a kind that lives in none: %v", err)
		}
		if err := c.List(t.Context(), &corev1.NodeList{}); err != nil {
			t.Errorf("after that: %v", err)
		}
	})
}

// Contract 3: a read that waits for a namespace that is removed, or for one that is
// forbidden, ends; the others are read all the while.
func TestForbiddenNamespaceThatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		s.forbid(envtest.Match{Namespace: "ns2"})
		c := newCache(t, s, &Options{DefaultNamespaces: set("ns1", "ns2"), DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		var list corev1.PodList
		err := c.List(within(t, time.Second), &list)
		if e, ok := errors.AsType[*NotSyncedError](err); !ok || !slices.Equal(e.Namespaces, []string{"ns2"}) || !apierrors.IsForbidden(e.LastError) {
			t.Errorf("a list over all: %v", err)
		}
		one, all := make(chan error, 1), make(chan error, 1)
		go func() { one <- c.Get(t.Context(), key("ns2", "p2"), &corev1.Pod{}) }()
		go func() { all <- c.List(t.Context(), &list) }()
		synctest.Wait()
		if err := c.SetNamespaces(set("ns1")); err != nil {
			t.Fatal(err)
		}
		if err := <-one; !errors.Is(err, ErrNamespaceNotCached) {
			t.Errorf("a read of the namespace that is removed: %v", err)
		}
		if err := <-all; err != nil || len(list.Items) != 1 {
			t.Errorf("a list of all others: %v, %v", names(t, &list), err)
		}
	})
}
