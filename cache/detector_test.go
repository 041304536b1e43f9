package cache

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reports are the mutations that were detected.
type reports struct {
	mu   sync.Mutex
	list []*Mutation
}

func (r *reports) add(m *Mutation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, m)
}

// detected runs do with a cache that detects mutations, stops the cache, and returns
// what it has detected.
func detected(t *testing.T, do func(t *testing.T, s *server, c *Cache)) (list []*Mutation) {
	synctest.Test(t, func(t *testing.T) {
		var r reports
		s := newServer(t)
		p := pod("ns1", "p", "x", "n1")
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1000m")}
		s.put(p)
		s.put(pod("ns1", "other", "z", "n1"))
		s.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "s"}, Data: map[string][]byte{"password": []byte("hunter2")}})
		c := newCache(t, s, &Options{DetectMutations: r.add})
		stop := start(t, c)
		do(t, s, c)
		stop()
		list = r.list
	})
	return list
}

// checkMutation wants one mutation, with these words in what it says.
func checkMutation(t *testing.T, list []*Mutation, parts ...string) {
	t.Helper()
	if len(list) != 1 {
		t.Errorf("detected %v, want one", list)
		return
	}
	for _, part := range append(parts, "v1/", "ns1/", "resourceVersion", "in common") {
		if !strings.Contains(list[0].Error(), part) {
			t.Errorf("does not have %q: %v", part, list[0])
		}
	}
}

// Contract 8: who changes what is the cache's own is found out, with the field and
// the caller.
func TestMutationsAreDetected(t *testing.T) {
	t.Run("by a handler", func(t *testing.T) {
		checkMutation(t, detected(t, func(t *testing.T, _ *server, c *Cache) {
			k, err := c.GetInformer(t.Context(), &corev1.Pod{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := k.AddHandler(informer.HandlerFuncs{AddFunc: func(o client.Object, _ bool) {
				if o.GetName() == "p" {
					o.GetLabels()["app"] = "spoilt"
				}
			}}, &informer.HandlerOptions{Name: "culprit"})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}), "Pod ns1/p ", `ObjectMeta.Labels["app"]`, "handler culprit")
	})
	t.Run("by a reader without copies", func(t *testing.T) {
		list := detected(t, func(t *testing.T, _ *server, c *Cache) {
			var p corev1.Pod
			if err := c.Get(t.Context(), key("ns1", "p"), &p, client.UnsafeDisableDeepCopy); err != nil {
				t.Fatal(err)
			}
			p.Name = "mine" // a field of the caller's own struct
			*p.Spec.TerminationGracePeriodSeconds = 1
			if err := c.Get(t.Context(), key("ns1", "p"), &p); err != nil { // copies, and notices
				t.Fatal(err)
			}
		})
		checkMutation(t, list, "Pod ns1/p ", "Spec.TerminationGracePeriodSeconds", "read by ", "TestMutationsAreDetected", "detector_test.go:")
	})
	t.Run("in a loop, noticed at the end", func(t *testing.T) {
		checkMutation(t, detected(t, func(t *testing.T, _ *server, c *Cache) {
			for s, err := range Each(t.Context(), c, &corev1.Secret{}) {
				if err != nil {
					t.Fatal(err)
				}
				s.Data["password"][0] = 'H'
			}
		}), "Secret ns1/s ", `Data["password"]`)
	})
	t.Run("in JSON", func(t *testing.T) {
		checkMutation(t, detected(t, func(t *testing.T, s *server, c *Cache) {
			if err := envtest.InstallCRDs(t.Context(), s.admin, widgetCRD()); err != nil {
				t.Fatal(err)
			}
			w := unstructuredOf(widgetGVK)
			w.SetNamespace("ns1")
			w.SetName("w")
			w.SetLabels(map[string]string{"colour": "red"})
			s.put(w)
			var got unstructured.Unstructured
			got.SetGroupVersionKind(widgetGVK)
			if err := c.Get(t.Context(), key("ns1", "w"), &got, client.UnsafeDisableDeepCopy); err != nil {
				t.Fatal(err)
			}
			got.Object["metadata"].(map[string]any)["labels"].(map[string]any)["colour"] = "blue"
		}), "Widget ns1/w ", `["metadata"]["labels"]["colour"]`)
	})
}

// A part that two objects have in common is changed in both, and both are reported.
func TestMutationsOfCommonParts(t *testing.T) {
	list := detected(t, func(t *testing.T, s *server, c *Cache) {
		s.put(pod("ns1", "twin", "z", "n2"))
		for p, err := range Each(t.Context(), c, &corev1.Pod{}, client.MatchingLabels{"app": "z"}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Name == "twin" {
				p.Labels["app"] = "spoilt"
			}
		}
	})
	if len(list) != 2 {
		t.Errorf("detected %v, want two", list)
	}
}

// A secret's content is never in what is said.
func TestMutationsTellNoSecrets(t *testing.T) {
	list := detected(t, func(t *testing.T, _ *server, c *Cache) {
		var s corev1.Secret
		if err := c.Get(t.Context(), key("ns1", "s"), &s, client.UnsafeDisableDeepCopy); err != nil {
			t.Fatal(err)
		}
		s.Data["password"] = []byte("secret")
	})
	checkMutation(t, list, `Data["password"]`)
	if text := list[0].Error(); strings.Contains(text, "hunter") || strings.Contains(text, "secret\"") {
		t.Error(text)
	}
}

// Who only reads is not accused, though a Quantity remembers its text; nor is who
// changes a copy, or the object's next state.
func TestReadersAreNotAccused(t *testing.T) {
	if list := detected(t, func(t *testing.T, s *server, c *Cache) {
		for p, err := range Each(t.Context(), c, &corev1.Pod{}) {
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Spec.Containers[0].Resources.Requests.Cpu().String()
			p.DeepCopy().Labels["app"] = "mine"
		}
		var own corev1.Pod
		if err := c.Get(t.Context(), key("ns1", "p"), &own); err != nil {
			t.Fatal(err)
		}
		own.Labels["app"] = "mine"
		own.Labels["app"], own.ResourceVersion = "y", ""
		s.put(&own)
		synctest.Wait()
		if err := c.Get(t.Context(), key("ns1", "p"), &own, client.UnsafeDisableDeepCopy); err != nil || own.Labels["app"] != "y" {
			t.Fatal(own.Labels, err)
		}
	}); len(list) > 0 {
		t.Errorf("accused: %v", list)
	}
}
