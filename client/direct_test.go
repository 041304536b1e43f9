package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"
)

// Contract 11: the configuration stays as it was.
func TestNewDoesNotChangeTheConfiguration(t *testing.T) {
	cfg := &rest.Config{Host: "http://server", Timeout: time.Minute, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, Transport: envtest.Transport(http.NotFoundHandler())}
	before := rest.CopyConfig(cfg)
	if _, err := client.New(cfg, &client.Options{Mapper: testMapper()}); err != nil {
		t.Fatal(err)
	}
	before.Transport, cfg.Transport = nil, nil
	if !reflect.DeepEqual(before, cfg) {
		t.Errorf("before %+v, after %+v", before, cfg)
	}
	if _, err := client.New(nil, nil); err == nil || !strings.Contains(err.Error(), "GetConfig") {
		t.Errorf("error %v for nil", err)
	}
}

// A configuration that says JSON gets JSON.
func TestJSONOnlyConfiguration(t *testing.T) {
	s := newServerWith(t, &rest.Config{ContentConfig: rest.ContentConfig{ContentType: jsonType}}, answer(t, jsonType, served("a", "1")))
	if err := s.Update(t.Context(), pod("a")); err != nil {
		t.Fatal(err)
	}
	if c := s.only(t); c.Header.Get("Accept") != jsonType || c.Header.Get("Content-Type") != jsonType {
		t.Errorf("sent %v", c.Header)
	}
	s = newServerWith(t, &rest.Config{ContentConfig: rest.ContentConfig{ContentType: jsonType}}, answer(t, jsonType, served("a", "1")))
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(pod("a")), metadataOf(pod("a"), podKind)); err != nil {
		t.Fatal(err)
	}
	if a := s.only(t).Header.Get("Accept"); a != "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json" {
		t.Errorf("Accept %q", a)
	}
}

// cfg.Timeout bounds calls and lists, and no watch.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerWith(t, &rest.Config{Timeout: time.Minute}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(pod("a")), pod("a")); err == nil || time.Since(start) != time.Minute {
			t.Errorf("get: error %v after %v", err, time.Since(start))
		}
		start = time.Now()
		lw := podsOf(t, s, client.Typed)
		if _, err := lw.List(t.Context(), metav1.ListOptions{}, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("list: error %v after %v", err, time.Since(start))
		}
		start = time.Now()
		if _, err := seen(timeout(t, time.Hour), lw); err != nil || time.Since(start) != time.Hour {
			t.Errorf("watch: error %v after %v", err, time.Since(start))
		}
		calls := s.all()
		if q := calls[len(calls)-1].Query; q.Has("timeout") {
			t.Errorf("the watch was sent with %v", q)
		}
	})
}

func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Contract 10: a call is repeated after what the server asks for, and the wait
// ends with the context.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		ok := answer(t, protobufType, served("a", "2"))
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n <= 2 {
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			ok(w, r)
		})
		start := time.Now()
		if err := s.Update(t.Context(), pod("a")); err != nil || time.Since(start) != 6*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		n = -1000
		start = time.Now()
		if err := s.Update(timeout(t, 4*time.Second), pod("a")); err == nil || time.Since(start) != 4*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// Contract 11: no limit by default; one limit for all kinds if one is set.
func TestRequestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := func(s *server) time.Duration {
			start := time.Now()
			for range 50 {
				_ = s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Pod{})
				_ = s.Get(t.Context(), client.ObjectKey{Name: "a"}, &rbacv1.ClusterRole{})
			}
			return time.Since(start)
		}
		if took := calls(newServer(t, http.NotFound)); took != 0 {
			t.Errorf("100 calls without a limit took %v", took)
		}
		// 10 at once, then 10 a second: 100 calls take 9 seconds.
		if took := calls(newServerWith(t, &rest.Config{QPS: 10, Burst: 10}, http.NotFound)); took < 8*time.Second || took > 10*time.Second {
			t.Errorf("100 calls with a limit took %v", took)
		}
	})
}

// What the server warns of is in the log of the call, once.
func TestWarnings(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx := contextWithLogger(t, logger)
	ok := answer(t, protobufType, served("a", "2"))
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "this version is old"`)
		w.Header().Add("Warning", `199 - "no API server says this"`)
		ok(w, r)
	})
	for range 3 {
		if err := s.Update(ctx, pod("a")); err != nil {
			t.Fatal(err)
		}
	}
	text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(text, "this version is old") != 1 || strings.Contains(text, "no API server") {
		t.Errorf("log:\n%s", text)
	}
}

func TestKindsAndScopes(t *testing.T) {
	s := newServer(t, http.NotFound)
	p := pod("a")
	p.Kind = "Nonsense"
	if gvk, err := s.GroupVersionKindFor(p); err != nil || gvk != podKind {
		t.Errorf("%v, %v", gvk, err)
	}
	for obj, want := range map[client.Object]bool{&corev1.Pod{}: true, &rbacv1.ClusterRole{}: false} {
		if got, err := s.IsObjectNamespaced(obj); err != nil || got != want {
			t.Errorf("%T: %v, %v", obj, got, err)
		}
	}
	if _, err := s.Resource(t.Context(), schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Y"}, client.Typed); err == nil {
		t.Error("no error for an unknown kind")
	}
	r, err := s.Resource(t.Context(), podKind, client.MetadataOnly)
	if err != nil || !r.Namespaced() || r.GroupVersionKind() != podKind || r.Form() != client.MetadataOnly {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestIgnore(t *testing.T) {
	gr := schema.GroupResource{Resource: "pods"}
	missing := fmt.Errorf("wrapped: %w", apierrors.NewNotFound(gr, "a"))
	exists := fmt.Errorf("wrapped: %w", apierrors.NewAlreadyExists(gr, "a"))
	if client.IgnoreNotFound(missing) != nil || client.IgnoreNotFound(exists) != exists || client.IgnoreNotFound(nil) != nil {
		t.Error("IgnoreNotFound")
	}
	if client.IgnoreAlreadyExists(exists) != nil || client.IgnoreAlreadyExists(missing) != missing {
		t.Error("IgnoreAlreadyExists")
	}
}

// Any number of goroutines may use one client.
func TestConcurrentUse(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "clusterroles") {
			answerJSON(200, `{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"a"}}`)(w, r)
			return
		}
		answerJSON(200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default"}}`)(w, r)
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Pod{}); err != nil {
					t.Error(err)
				}
				if err := s.Get(t.Context(), client.ObjectKey{Name: "a"}, &rbacv1.ClusterRole{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
