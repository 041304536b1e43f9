package cache

import (
	"context"
	"fmt"
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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		s.forbid(envtest.Match{Namespace: "ns2"})
		c := newCache(t, s, &Options{
			ByObject: map[client.Object]ByObject{&corev1.Pod{}: {Namespaces: map[string]Config{
				"ns1": {LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"})}, "ns2": {},
			}}},
			DefaultWatchErrorHandler: func(context.Context, error) {},
		})
		if got := c.Status(); len(got.Kinds) != 0 {
			t.Errorf("of nothing: %+v", got)
		}
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
			t.Fatal(err)
		}
		if got := c.Status().Kinds[0].State; got != KindOpening {
			t.Errorf("before Start: %s", got)
		}
		start(t, c)
		if _, err := c.AddHandler(t.Context(), &corev1.Node{}, &story{t: t}, nil); err != nil {
			t.Fatal(err)
		}
		unknown := unstructuredOf(widgetGVK.GroupVersion().WithKind("Other"))
		if _, err := c.GetInformer(t.Context(), unknown); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		st := c.Status()
		var lines []string
		for _, k := range st.Kinds {
			lines = append(lines, fmt.Sprint(k.Kind.Kind, " ", k.State, " ", k.Form, " ", k.Tier, " declared=", k.Declared, " leases=", k.Leases, " ", k.Indexes, " objects=", k.Objects))
		}
		want := []string{
			"Other Opening unstructured Shared declared=true leases=0 [] objects=0",
			"Node Synced typed Shared declared=false leases=1 [] objects=0",
			"Pod Syncing typed Shared declared=true leases=0 [spec.nodeName] objects=1",
		}
		if fmt.Sprint(lines) != fmt.Sprint(want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		if err := st.Kinds[0].LastError; err == nil || !strings.Contains(err.Error(), "no matches") {
			t.Errorf("last error of a kind that nobody knows: %v", err)
		}
		pods := st.Kinds[2].Scopes
		if len(pods) != 2 || pods[0].Namespace != "ns1" || !pods[0].Synced || pods[0].LabelSelector != "app=x" || pods[0].Informer.ResourceVersion == "" ||
			pods[0].Informer.Bytes == 0 || pods[1].Synced || !apierrors.IsForbidden(pods[1].Informer.LastError) {
			t.Errorf("scopes: %+v", pods)
		}
	})
}

// The guess is near what the objects take: a string more is so many bytes more for each.
func TestStatusBytes(t *testing.T) {
	const much = 10_000
	for _, form := range []client.Object{&corev1.ConfigMap{}, unstructuredOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))} {
		for _, tier := range []Tier{Shared, Compact} {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				for i := range 100 {
					data := strings.Repeat(fmt.Sprint(i%10, i), much)[:much/2] // nothing in common
					s.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: fmt.Sprint("c", i)},
						Data: map[string]string{"a": data, "b": data + "x"}})
				}
				c := newCache(t, s, &Options{ByObject: map[client.Object]ByObject{form: {Tier: tier}}})
				start(t, c)
				follow(t, c, form)
				k := c.Status().Kinds[0]
				if tier == Shared && (k.Bytes < 100*much || k.Bytes > 100*much*6/5) || tier == Compact && (k.Bytes <= 0 || k.Bytes > 100*much) || k.Objects != 100 {
					t.Errorf("%T, %s: %d objects, %d bytes", form, tier, k.Objects, k.Bytes)
				}
				// A second look costs nothing, and follows the number of objects.
				if err := s.admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "c0"}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if next := c.Status().Kinds[0]; next.Objects != 99 || next.Bytes != k.Bytes/100*99 {
					t.Errorf("%d objects, %d bytes, want %d", next.Objects, next.Bytes, k.Bytes/100*99)
				}
			})
		}
	}
}

// Status may be asked for while everything changes.
func TestStatusWhileEverythingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		c := newCache(t, s, &Options{IdleTimeout: 3 * time.Second})
		start(t, c)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				for n := range 50 {
					time.Sleep(time.Duration(i+1) * 100 * time.Millisecond)
					switch i {
					case 0:
						c.Status()
						c.WaitForCacheSync(t.Context())
					case 1:
						if err := c.SetNamespaces(set(fmt.Sprint("ns", n%4), "ns0")); err != nil {
							t.Error(err)
						}
					case 2:
						if err := c.Get(t.Context(), key("ns0", "p0"), []client.Object{&corev1.Pod{}, metadataFor(podGVK)}[n%2]); err != nil {
							t.Error(err)
						}
						if n%7 == 0 {
							if err := c.RemoveInformer(t.Context(), &corev1.Pod{}); err != nil {
								t.Error(err)
							}
						}
					}
				}
			})
		}
		wg.Wait()
	})
}

// counted is an informer.Metrics.
type counted struct {
	mu                     sync.Mutex
	lists, objects, failed int
	watches, unread        int
}

func (m *counted) Listed(_ time.Duration, objects int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	m.objects += objects
	if err != nil {
		m.failed++
	}
}

func (m *counted) Watched(time.Duration, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches++
}

func (m *counted) Unread(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unread = n
}

// Contract 7: Metrics, and the hook for errors, hear of each kind in each namespace.
func TestMetricsAndWatchErrorHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		s.forbid(envtest.Match{Namespace: "ns2"})
		all := map[string]*counted{}
		var mu sync.Mutex
		var ofPods, ofAll []string
		to := func(errs *[]string) func(context.Context, error) {
			return func(_ context.Context, err error) {
				mu.Lock()
				defer mu.Unlock()
				*errs = append(*errs, err.Error())
			}
		}
		c := newCache(t, s, &Options{
			DefaultNamespaces: set("ns1", "ns2"),
			DefaultTransform: func(o client.Object) (client.Object, error) {
				if o.GetName() == "p1" {
					return nil, fmt.Errorf("refused")
				}
				return o, nil
			},
			Metrics: func(kind schema.GroupVersionKind, namespace string) informer.Metrics {
				if kind == secretGVK {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				m := &counted{}
				all[kind.Kind+" "+namespace] = m
				return m
			},
			ByObject:                 map[client.Object]ByObject{&corev1.Pod{}: {WatchErrorHandler: to(&ofPods)}},
			DefaultWatchErrorHandler: to(&ofAll),
		})
		stop := start(t, c)
		for _, obj := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
			if _, err := c.GetInformer(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		stop()
		if len(all) != 4 {
			t.Fatalf("asked for %v", all)
		}
		if m := all["Pod ns1"]; m.lists == 0 || m.failed != 0 || m.unread != 1 || m.watches == 0 {
			t.Errorf("of pods in ns1: %+v", m)
		}
		if m := all["Pod ns2"]; m.failed < 3 || m.failed != m.lists {
			t.Errorf("of pods in ns2: %+v", m)
		}
		for text, errs := range map[string][]string{"refused": ofPods, "no permission": ofAll} {
			if !strings.Contains(strings.Join(errs, "\n"), text) {
				t.Errorf("nobody was told of %q: %v", text, errs)
			}
		}
		if strings.Contains(strings.Join(ofAll, "\n"), "pods") {
			t.Errorf("told of pods, too: %v", ofAll)
		}
	})
}
