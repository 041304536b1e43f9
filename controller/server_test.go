package controller_test

import (
	"context"
	"testing"
	"time"

	"governor/cache"
	"governor/client"
	"governor/envtest"
	"governor/manager"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// server is an API server in memory with a namespace "ns".
type server struct{ *envtest.Server }

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{envtest.NewServer(nil)}
	if err := s.client(t).Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}); err != nil {
		t.Fatal(err)
	}
	s.ResetRequests()
	return s
}

func (s *server) client(t testing.TB) *client.Direct {
	t.Helper()
	c, err := client.New(s.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *server) manager(t testing.TB) *manager.Manager {
	t.Helper()
	m, err := manager.New(s.Config(), &manager.Options{Cache: detecting(t)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// detecting has a cache tell when somebody changes what is its own.
func detecting(t testing.TB) cache.Options {
	if _, measured := t.(*testing.B); measured {
		return cache.Options{}
	}
	return cache.Options{DetectMutations: func(m *cache.Mutation) { t.Error(m) }}
}

// writes returns the requests so far that are no reads: "create /api/v1/…".
func (s *server) writes() (writes []string) {
	for _, r := range s.Requests() {
		if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			writes = append(writes, r.Verb+" "+r.Path)
		}
	}
	return writes
}

// cutWatches breaks each watch of a resource that begins from now on, in the
// middle of its first event after the initial object, of which there must be one.
// What has changed by the time of relist the informers hear of only in the list
// that they have to make then, as the history is forgotten. For use in a bubble.
func (s *server) cutWatches(t testing.TB, resource string) (relist func()) {
	t.Helper()
	lists := func(r envtest.Request) bool { return r.Query.Get("sendInitialEvents") != "" }
	streamed := func() (n int) {
		for _, r := range s.Requests() {
			if r.Resource == resource && lists(r) && r.Code == 200 {
				n++
			}
		}
		return n
	}
	// A streaming list has two frames more: the object, and that it is all.
	removeLists := s.Inject(envtest.Match{Verb: "watch", Resource: resource, Func: lists}, envtest.Fault{Break: envtest.Cut, After: 2})
	removeWatches := s.Inject(envtest.Match{Verb: "watch", Resource: resource}, envtest.Fault{Break: envtest.Cut})
	return func() {
		t.Helper()
		before := streamed()
		if before == 0 {
			t.Error("there was no watch to cut")
		}
		if err := s.CompactTo(""); err != nil {
			t.Fatal(err)
		}
		removeLists()
		removeWatches()
		settle(2 * time.Minute) // the reflector's back-off
		if streamed() == before {
			t.Error("the informers did not list again")
		}
	}
}

// exampleServer returns the address of a server that has one ConfigMap, and a
// context that keeps logs off the screen.
func exampleServer() (*rest.Config, context.Context) {
	ctx, _ := logContext()
	cfg := envtest.NewServer(nil).Config()
	c, err := client.New(cfg, nil)
	if err != nil {
		panic(err)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	if err := c.Create(ctx, settings); err != nil {
		panic(err)
	}
	return cfg, ctx
}
