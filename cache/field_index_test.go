package cache

import (
	"strings"
	"testing"
	"testing/synctest"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

// Case 25e: the same index twice is one; another for the field is an error, and the
// first stays. An index can be taken back, before and after the kind is listed.
func TestIndexTwiceAndNoMore(t *testing.T) {
	closure := func(suffix string) client.IndexerFunc {
		return func(o client.Object) []string { return []string{o.GetName() + suffix} }
	}
	for _, running := range []bool{false, true} {
		for _, scoped := range []map[string]Config{nil, {"ns1": {}, "ns2": {}}} {
			synctest.Test(t, func(t *testing.T) {
				_, c := tenPods(t, &Options{DefaultNamespaces: scoped})
				if running {
					if err := c.List(t.Context(), &corev1.PodList{}); err != nil {
						t.Fatal(err)
					}
				}
				index := func(fn client.IndexerFunc) error { return c.IndexField(t.Context(), &corev1.Pod{}, "f", fn) }
				count := func(value string) (int, error) {
					var list corev1.PodList
					err := c.List(t.Context(), &list, client.MatchingFields{"f": value})
					return len(list.Items), err
				}
				a, b := closure("-a"), closure("-b")
				for range 2 {
					if err := index(a); err != nil {
						t.Fatal(err)
					}
				}
				for name, other := range map[string]client.IndexerFunc{"another closure": b, "another function": byNodeName} {
					if err := index(other); err == nil || !strings.Contains(err.Error(), `"f"`) || !strings.Contains(err.Error(), "RemoveIndex") {
						t.Errorf("%s: %v", name, err)
					}
				}
				if err := c.IndexField(t.Context(), unstructuredOf(podGVK), "f", a); err == nil {
					t.Error("the same function for another form")
				}
				if n, err := count("p0-a"); n != 1 || err != nil {
					t.Errorf("the first index: %d, %v", n, err)
				}
				for range 2 {
					if err := c.RemoveIndex(t.Context(), &corev1.Pod{}, "f"); err != nil {
						t.Fatal(err)
					}
				}
				if n, err := count("p0-a"); err == nil {
					t.Errorf("by an index that was removed: %d", n)
				}
				if err := index(b); err != nil {
					t.Fatal(err)
				}
				if n, err := count("p0-b"); n != 1 || err != nil {
					t.Errorf("the new index: %d, %v", n, err)
				}
				for _, s := range c.kinds[podGVK].scopes() {
					if err := s.indexer.valid(); err != nil {
						t.Error(err)
					}
				}
				if err := c.RemoveIndex(t.Context(), &corev1.Secret{}, "f"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
