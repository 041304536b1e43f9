package cache

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each has what List has, in the same order, and shares it with the cache.
func TestEach(t *testing.T) {
	for _, scoped := range []map[string]Config{nil, {"ns1": {}, "ns2": {}}} {
		synctest.Test(t, func(t *testing.T) {
			s, c := tenPods(t, &Options{DefaultNamespaces: scoped})
			for _, opts := range [][]client.ListOption{nil, {client.InNamespace("ns2")}, {client.MatchingLabels{"app": "x"}}, {client.Limit(3)}} {
				var list corev1.PodList
				if err := c.List(t.Context(), &list, opts...); err != nil {
					t.Fatal(err)
				}
				var typed, loose, meta []string
				for p, err := range Each(t.Context(), c, &corev1.Pod{}, opts...) {
					if err != nil {
						t.Fatal(err)
					}
					typed = append(typed, client.ObjectKeyFromObject(p).String())
					if len(typed) == 1 {
						s.put(pod("ns1", "late", "x", "n0")) // not in the state that was chosen
						synctest.Wait()
					}
				}
				s.removePod("ns1", "late")
				synctest.Wait()
				for u, err := range Each(t.Context(), c, unstructuredOf(podGVK), opts...) {
					if err != nil || u.GetKind() != "Pod" {
						t.Fatal(u, err)
					}
					loose = append(loose, u.GetNamespace()+"/"+u.GetName())
				}
				for m, err := range Each(t.Context(), c, metadataFor(podGVK), opts...) {
					if err != nil || m.Kind != "Pod" {
						t.Fatal(m, err)
					}
					meta = append(meta, m.Namespace+"/"+m.Name)
				}
				if want := names(t, &list); !slices.Equal(typed, want) || !slices.Equal(loose, want) || !slices.Equal(meta, want) {
					t.Errorf("%v: typed %v, unstructured %v, metadata %v, want %v", opts, typed, loose, meta, want)
				}
			}
			var first, again *corev1.Pod
			for p := range Each(t.Context(), c, &corev1.Pod{}) {
				first = p
				break
			}
			for p := range Each(t.Context(), c, &corev1.Pod{}) {
				again = p
				break
			}
			if first == nil || first != again {
				t.Error("Each copies")
			}
		})
	}
}

// An error is yielded once, with nothing.
func TestEachFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := newCache(t, s, nil)
		n := 0
		for p, err := range Each(t.Context(), c, &corev1.Pod{}) {
			if n++; p != nil || err == nil {
				t.Errorf("before Start: %v, %v", p, err)
			}
		}
		start(t, c)
		for p, err := range Each(t.Context(), c, &corev1.Pod{}, client.MatchingFields{"spec.priority": "1"}) {
			if n++; p != nil || err == nil || !strings.Contains(err.Error(), "spec.priority") {
				t.Errorf("%v, %v", p, err)
			}
		}
		for m, err := range Each(t.Context(), c, &metav1.PartialObjectMetadata{}) {
			if n++; m != nil || err == nil {
				t.Errorf("without a kind: %v, %v", m, err)
			}
		}
		if n != 3 {
			t.Errorf("%d errors, want 3", n)
		}
	})
}

// A read without a copy allocates nothing.
func TestSharedGetAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := tenPods(t, nil)
		ctx, p := t.Context(), &corev1.Pod{}
		synctest.Wait()
		c.options.detector = nil // which copies
		get := func() {
			if err := c.Get(ctx, client.ObjectKey{Namespace: "ns1", Name: "p0"}, p, client.UnsafeDisableDeepCopy); err != nil {
				t.Fatal(err)
			}
		}
		get()
		if n := testing.AllocsPerRun(100, get); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
