package cache

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What of CASES.md, section D, is not in cache_test.go or in package controller.

// delegating is the client of a manager.
func delegating(t *testing.T, c *Cache) *client.Delegating {
	t.Helper()
	d, err := client.NewDelegating(c.client, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Case 23a: a read that fails leaves nothing behind, and others are not slower.
func TestCase23FailedReadsLeaveNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		permit := s.forbid(envtest.Match{Resource: "secrets"})
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		read := func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			for _, obj := range []client.Object{&corev1.Secret{}, unstructuredOf(secretGVK), metadataFor(secretGVK)} {
				if err := c.Get(ctx, key("ns1", "s"), obj); err == nil || apierrors.IsNotFound(err) || obj.GetName() != "" {
					t.Errorf("Get %T: %v", obj, err)
				}
			}
			if err := c.List(ctx, &corev1.SecretList{}); err == nil {
				t.Error("List: no error")
			}
			if err := c.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
				t.Errorf("another kind: %v", err)
			}
		}
		read()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 50 {
			read()
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+2 { // a request more or less
			t.Errorf("%d goroutines, %d before", after, before)
		}
		s.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "s"}})
		permit()
		time.Sleep(time.Minute)
		if err := c.Get(t.Context(), key("ns1", "s"), &corev1.Secret{}); err != nil {
			t.Errorf("after the permission was granted: %v", err)
		}
	})
}

// Case 28: the client of a manager says the same as its cache; who does not read
// from that can read at any time.
func TestCase28TheClientBeforeAndAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(pod("ns1", "a", "x", "n1"))
		c := newCache(t, s, nil)
		cached, direct := delegating(t, c), c.client
		uncached := func(when string) {
			t.Helper()
			for name, r := range map[string]client.Reader{"direct": direct, "live": cached} {
				opts := []client.GetOption{}
				if name == "live" {
					opts = append(opts, client.Live)
				}
				if err := r.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}, opts...); err != nil {
					t.Errorf("%s, %s: %v", name, when, err)
				}
			}
		}
		uncached("before Start")
		if err := cached.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); !errors.Is(err, ErrCacheNotStarted) || apierrors.IsNotFound(err) {
			t.Errorf("before Start: %v", err)
		}
		stop := start(t, c)
		if err := cached.Get(t.Context(), key("ns1", "a"), &corev1.Pod{}); err != nil {
			t.Errorf("after Start: %v", err)
		}
		uncached("while it runs")
		stop()
		uncached("after the end")
		for _, obj := range []client.Object{&corev1.Pod{}, unstructuredOf(podGVK), metadataFor(podGVK)} {
			if err := cached.Get(t.Context(), key("ns1", "a"), obj); err != nil || obj.GetName() != "a" {
				t.Errorf("%T after the end: %v", obj, err)
			}
		}
		if err := cached.List(t.Context(), &corev1.ConfigMapList{}); !errors.Is(err, ErrStopped) {
			t.Errorf("a new kind after the end: %v", err)
		}
	})
}

// Case 29: three forms, each twice, from 20 goroutines, through the client, in any order: one store.
// Removal ends who waits, and the next read of any form starts one.
func TestCase29ThroughTheClient(t *testing.T) {
	for first, form := range []func() client.Object{
		func() client.Object { return &corev1.Pod{} },
		func() client.Object { return unstructuredOf(podGVK) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			watches := s.followWatches()
			s.put(pod("ns1", "a", "x", "n1"))
			c := newCache(t, s, nil)
			start(t, c)
			d := delegating(t, c)
			forms := []func() client.Object{form, func() client.Object { return metadataFor(podGVK) },
				func() client.Object { return unstructuredOf(podGVK) }, func() client.Object { return &corev1.Pod{} }}
			read := func() {
				var wg sync.WaitGroup
				for i := range 20 {
					wg.Go(func() {
						for range 2 {
							obj := forms[i%len(forms)]()
							if err := d.Get(t.Context(), key("ns1", "a"), obj); err != nil || obj.GetLabels()["app"] != "x" {
								t.Errorf("%d: Get %T: %v", first, obj, err)
							}
						}
					})
				}
				wg.Wait()
			}
			if err := d.Get(t.Context(), key("ns1", "a"), forms[0]()); err != nil {
				t.Fatal(err)
			}
			read()
			if got, n := s.seen(), watches.count(); !slices.Equal(got, []string{"STREAM /api/v1/pods"}) || n != 1 {
				t.Errorf("requests: %v, %d watches", got, n)
			}
			if err := c.RemoveInformer(t.Context(), metadataFor(podGVK)); err != nil {
				t.Fatal(err)
			}
			if n := watches.count(); n != 0 {
				t.Errorf("%d watches after removal", n)
			}
			read()
			if n := watches.count(); n != 1 {
				t.Errorf("%d watches after the next read", n)
			}
		})
	}
}
