package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// settledFixture is a cache in a bubble, and what it says of itself.
type settledFixture struct {
	*testing.T
	*server
	cache *Cache
}

func (f *settledFixture) check(when, unsettled, behind string) {
	f.Helper()
	synctest.Wait()
	got := f.cache.Unsettled()
	if (got == "") != (unsettled == "") || !strings.Contains(got, unsettled) || f.cache.Settled() != (got == "") {
		f.Errorf("%s: settled %v, unsettled %q, want %q", when, f.cache.Settled(), got, unsettled)
	}
	switch err := f.cache.CaughtUp(f.Context()); {
	case err == nil && behind != "", err != nil && (behind == "" || !strings.Contains(err.Error(), behind)):
		f.Errorf("%s: caught up: %v, want %q", when, err, behind)
	}
}

func (f *settledFixture) informer(obj client.Object) *KindInformer {
	f.Helper()
	k, err := f.cache.GetInformer(f.Context(), obj)
	if err != nil {
		f.Fatal(err)
	}
	return k
}

func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		f := &settledFixture{t, s, newCache(t, s, nil)}
		pods := f.informer(&corev1.Pod{})
		f.check("before Start", "has not started", "knows the kind by now")
		permit := s.forbid(envtest.Match{Resource: "pods", Func: func(r envtest.Request) bool { // not what CaughtUp asks
			return r.Query.Get("limit") != "" || r.Query.Get("sendInitialEvents") != ""
		}})
		start(t, f.cache)
		f.check("lists are refused", "no permission", "it has not synced")
		permit()
		time.Sleep(time.Minute)
		f.check("synced", "", "")

		release := make(chan struct{})
		_, err := pods.AddHandler(informer.HandlerFuncs{AddFunc: func(client.Object, bool) { <-release }}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.check("a handler that takes its time", "events for", "")
		close(release)
		f.check("which has heard all", "", "")

		// The server says nothing of what happens.
		thaw := s.Inject(envtest.Match{Verb: "watch", Resource: "pods"}, envtest.Fault{Break: envtest.Stall})
		s.put(pod("ns1", "b", "x", "n1"))
		f.check("a watch as it should be", "", "")
		s.DropWatches(envtest.Match{Resource: "pods"})
		time.Sleep(time.Minute)
		s.put(pod("ns1", "b", "y", "n1"))
		f.check("a stale object", "", "has been written")
		thaw()
		s.DropWatches(envtest.Match{Resource: "pods"})
		time.Sleep(time.Minute)
		f.check("which has come", "", "")

		thaw = s.Inject(envtest.Match{Verb: "watch", Resource: "pods"}, envtest.Fault{Break: envtest.Stall})
		s.DropWatches(envtest.Match{Resource: "pods"})
		time.Sleep(time.Minute)
		s.removePod("ns1", "a")
		f.check("an object too many", "", "it has 2 objects at")
		thaw()
	})
}

// What is of another scope, or not selected, is not missed.
func TestCaughtUpInScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		selected := Config{LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"})}
		f := &settledFixture{t, s, newCache(t, s, &Options{DefaultNamespaces: map[string]Config{"ns1": selected, "": {}}})}
		f.informer(&corev1.Pod{})
		unknown := &unstructured.Unstructured{}
		unknown.SetAPIVersion("example.com/v1")
		unknown.SetKind("Unknown")
		f.informer(unknown)
		start(t, f.cache)
		s.put(pod("ns1", "a", "x", "n1"))
		s.put(pod("ns1", "b", "y", "n1"))
		s.put(pod("ns2", "c", "y", "n1"))
		time.Sleep(time.Second)
		f.check("all is there", "", "")
		s.put(pod("ns1", "b", "z", "n1")) // which nobody wants
		f.check("something else", "", "")
	})
}
