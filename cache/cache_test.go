package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Contract 2, Case 28.
func TestReadBeforeStartIsAnErrorOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, nil)
		err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{})
		if !errors.Is(err, ErrCacheNotStarted) || apierrors.IsNotFound(err) {
			t.Errorf("Get: %v", err)
		}
		if err := c.List(t.Context(), &corev1.PodList{}); !errors.Is(err, ErrCacheNotStarted) {
			t.Errorf("List: %v", err)
		}
		begin := time.Now()
		if err := c.WaitForCacheSync(within(t, time.Second)); !errors.Is(err, ErrCacheNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitForCacheSync: %v", err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("WaitForCacheSync took %v", d)
		}
		if got := s.seen(); len(got) > 0 {
			t.Errorf("requests before Start: %v", got)
		}
	})
}

// Case 28: after a true wait a read never says that the cache has not started.
func TestReadAfterWaitForCacheSync(t *testing.T) {
	s := newServer(t)
	s.put(pod("ns1", "a", "x", "n1"))
	for range 500 {
		c := newCache(t, s, nil)
		if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); c.Start(ctx) }()
		if err := c.WaitForCacheSync(within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(ctx, key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
	}
}

// Case 28: after the stop reads give the last state, or an error, and do not hang.
func TestReadAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, nil)
		stop := start(t, c)
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		stop()
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Errorf("Get of what was cached: %v", err)
		}
		begin := time.Now()
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Secret{}); !errors.Is(err, ErrStopped) || apierrors.IsNotFound(err) {
			t.Errorf("Get of what was not: %v", err)
		}
		if time.Since(begin) > 0 {
			t.Errorf("that took %v", time.Since(begin))
		}
		if err := c.Start(t.Context()); err == nil {
			t.Error("a second Start is no error")
		}
	})
}

// Contract 3, Case 23a.
func TestReadOfAKindThatCannotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		s.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "s"}})
		permit := s.forbid(envtest.Match{Resource: "secrets"})
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)

		begin := time.Now()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "before"}}
		err := c.Get(within(t, 2*time.Second), key("ns1", "s"), secret)
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("Get took %v, want 2 s", d)
		}
		e, ok := errors.AsType[*NotSyncedError](err)
		if !ok || e.Kind != secretGVK || !apierrors.IsForbidden(e.LastError) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get: %v", err)
		}
		for _, part := range []string{"v1/Secret", "timed out", "no permission"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not have %q: %v", part, err)
			}
		}
		if apierrors.IsNotFound(err) || secret.Name != "before" {
			t.Errorf("NotFound or a changed object: %v, %v", err, secret)
		}
		begin = time.Now()
		if err := c.Get(t.Context(), key("ns1", "s"), secret); err == nil || !strings.Contains(err.Error(), "SyncTimeout") {
			t.Errorf("Get without a deadline: %v", err)
		}
		if d := time.Since(begin); d != 30*time.Second {
			t.Errorf("Get without a deadline took %v, want 30 s", d)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Errorf("another kind: %v", err)
		}

		permit()
		time.Sleep(time.Minute)
		if err := c.Get(within(t, time.Second), key("ns1", "s"), secret); err != nil || secret.Name != "s" {
			t.Errorf("after the permission was granted: %v", err)
		}
	})
}

// Contract 3: a 404 for the list is no "object not found".
func TestListAnsweredWith404IsNotNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, newServer(t), &Options{SyncTimeout: time.Second, DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		// A kind that the RESTMapper knows, and the server does not serve.
		err := c.Get(t.Context(), key("ns1", "w"), unstructuredOf(widgetGVK))
		if _, ok := errors.AsType[*NotSyncedError](err); !ok || apierrors.IsNotFound(err) {
			t.Errorf("Get: %v", err)
		}
		// A kind that nobody knows.
		err = c.Get(t.Context(), key("ns1", "w"), unstructuredOf(widgetGVK.GroupVersion().WithKind("Other")))
		if _, ok := errors.AsType[*NotSyncedError](err); !ok || !strings.Contains(err.Error(), "no matches for kind") {
			t.Errorf("Get of an unknown kind: %v", err)
		}
	})
}

// Contract 1, Case 29: one list and one watch, in one stream, for all forms of a
// kind, however many ask at once.
func TestOneStoreForAllForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, nil)
		start(t, c)
		if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for range 2 {
					var obj client.Object = &corev1.Pod{}
					switch i % 3 {
					case 1:
						obj = unstructuredOf(podGVK)
					case 2:
						obj = metadataFor(podGVK)
					}
					if err := c.Get(t.Context(), key("ns1", "a"), obj); err != nil {
						t.Errorf("Get %T: %v", obj, err)
					}
					if gvk := obj.GetObjectKind().GroupVersionKind(); gvk != podGVK || obj.GetLabels()["app"] != "x" {
						t.Errorf("%T is %v with labels %v", obj, gvk, obj.GetLabels())
					}
					if u, ok := obj.(*unstructured.Unstructured); ok {
						if node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName"); node != "n1" {
							t.Errorf("unstructured without its node: %v", u)
						}
					}
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if got, want := s.seen(), []string{"STREAM /api/v1/pods"}; !slices.Equal(got, want) {
			t.Errorf("requests: %v, want %v", got, want)
		}
	})
}

// Case 29: a form that the stored one cannot give is an error that says what to do.
func TestMetadataOnlyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))

		c := newCache(t, s, nil)
		start(t, c)
		m := metadataFor(podGVK)
		if err := c.Get(t.Context(), key("ns1", "a"), m); err != nil || m.Name != "a" || m.Kind != "Pod" {
			t.Fatalf("metadata: %v, %v", m, err)
		}
		for _, obj := range []client.Object{&corev1.Pod{}, unstructuredOf(podGVK)} { // it is listed anew
			if err := c.Get(t.Context(), key("ns1", "a"), obj); err != nil {
				t.Errorf("%T of a kind that was stored metadata-only: %v", obj, err)
			}
		}
		if got, want := s.seen(), []string{"STREAM /api/v1/pods", "STREAM /api/v1/pods"}; !slices.Equal(got, want) {
			t.Errorf("requests: %v, want %v", got, want)
		}

		// Listed whole: the first read may be of the metadata all the same.
		c = newCache(t, s, &Options{ByObject: map[client.Object]ByObject{&corev1.Pod{}: {}}})
		start(t, c)
		if err := c.Get(t.Context(), key("ns1", "a"), metadataFor(podGVK)); err != nil {
			t.Error(err)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}

		// Before the informer starts, the widest form that is asked for counts.
		c = newCache(t, s, nil)
		for _, obj := range []client.Object{metadataFor(podGVK), &corev1.Pod{}} {
			if _, err := c.GetInformer(t.Context(), obj); err != nil {
				t.Error(err)
			}
		}
		start(t, c)
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}

		// Listed metadata-only, it stays so.
		c = newCache(t, s, &Options{ByObject: map[client.Object]ByObject{metadataFor(podGVK): {}}})
		if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err == nil {
			t.Error("a typed informer of a kind that is to be stored metadata-only")
		}
		start(t, c)
		for _, obj := range []client.Object{&corev1.Pod{}, unstructuredOf(podGVK)} {
			if err := c.Get(t.Context(), key("ns1", "a"), obj); err == nil || !strings.Contains(err.Error(), "Options.ByObject") || obj.GetName() != "" {
				t.Errorf("%T from a metadata-only store: %v", obj, err)
			}
		}
	})
}

// Case 29: removal closes the watch, and ends those who wait, with an error.
func TestRemoveInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the watch
		if err := c.RemoveInformer(t.Context(), metadataFor(podGVK)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.endedWatches(); n != 1 {
			t.Errorf("%d watches have ended, want 1", n)
		}
		// The next read starts a new one, which has the index still.
		s.put(pod("ns1", "b", "x", "n2"))
		var list corev1.PodList
		if err := c.List(t.Context(), &list, client.MatchingFields{"spec.nodeName": "n2"}); err != nil || len(list.Items) != 1 {
			t.Errorf("after removal: %v, %v", names(t, &list), err)
		}

		s.forbid(envtest.Match{Resource: "secrets"})
		read := make(chan error)
		go func() { read <- c.Get(t.Context(), key("ns1", "s"), &corev1.Secret{}) }()
		synctest.Wait()
		if err := c.RemoveInformer(t.Context(), &corev1.Secret{}); err != nil {
			t.Fatal(err)
		}
		if err := <-read; !errors.Is(err, ErrStopped) {
			t.Errorf("a reader that waited got %v", err)
		}
		if err := c.RemoveInformer(t.Context(), &corev1.Secret{}); err != nil {
			t.Errorf("removing what is not there: %v", err)
		}
	})
}

func TestReaderFailOnMissingInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, &Options{ReaderFailOnMissingInformer: true})
		start(t, c)
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); !errors.Is(err, ErrResourceNotCached) || !strings.Contains(err.Error(), "v1/Pod") {
			t.Errorf("Get: %v", err)
		}
		if err := c.List(t.Context(), &corev1.PodList{}); !errors.Is(err, ErrResourceNotCached) {
			t.Errorf("List: %v", err)
		}
		if got := s.seen(); len(got) > 0 {
			t.Errorf("requests: %v", got)
		}
		if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Errorf("Get with an informer: %v", err)
		}
	})
}

// Contract 7, Case 30.
func TestSelectorsAndNamespacesReachTheServer(t *testing.T) {
	parse := func(s string) labels.Selector {
		sel, err := labels.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return sel
	}
	o := &Options{
		DefaultNamespaces:    map[string]Config{"ns1": {}},
		DefaultLabelSelector: parse("a=1"),
		ByObject:             map[client.Object]ByObject{&corev1.Secret{}: {Label: parse("b=2")}},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "s", Labels: map[string]string{"b": "2"}}}
		s.put(secret)
		var wg sync.WaitGroup
		caches := make([]*Cache, 2)
		for i := range caches {
			wg.Go(func() { caches[i] = newCache(t, s, o) })
		}
		wg.Wait()
		for _, c := range caches {
			start(t, c)
			for _, obj := range []client.Object{&corev1.Secret{}, &corev1.Pod{}, &corev1.Node{}} {
				if _, err := c.GetInformer(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.WaitForCacheSync(within(t, time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		want := map[string]int{}
		want["STREAM /api/v1/namespaces/ns1/secrets labelSelector=b=2"] = 2
		want["STREAM /api/v1/namespaces/ns1/pods labelSelector=a=1"] = 2
		want["STREAM /api/v1/nodes labelSelector=a=1"] = 2
		got := map[string]int{}
		for _, r := range s.seen() {
			got[r]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("requests:\n%v\nwant\n%v", got, want)
		}
		if len(o.DefaultNamespaces) != 1 || len(o.ByObject) != 1 || o.DefaultTransform != nil {
			t.Errorf("the options were changed: %+v", o)
		}

		// An object that stops matching is gone, and its handler hears a delete.
		c := caches[0]
		k, err := c.GetInformer(t.Context(), &corev1.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		var deleted []string
		r, err := k.AddHandler(informer.HandlerFuncs{DeleteFunc: func(o client.Object, _ bool) { deleted = append(deleted, o.GetName()) }}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WaitForSync(within(t, time.Second)); err != nil {
			t.Fatal(err)
		}
		secret.Labels = nil
		s.put(secret)
		synctest.Wait()
		if err := c.Get(t.Context(), key("ns1", "s"), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("Get: %v", err)
		}
		if !slices.Equal(deleted, []string{"s"}) {
			t.Errorf("deletes: %v", deleted)
		}
	})
}
