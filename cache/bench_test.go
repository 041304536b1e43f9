package cache

import (
	"fmt"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

const benchObjects = 20_000

// pods returns objects in 100 namespaces and on 500 nodes.
func pods(n int) []client.Object {
	out := make([]client.Object, n)
	for i := range out {
		out[i] = object(fmt.Sprintf("namespace-%02d", i%100), fmt.Sprintf("deployment-%d-%05d", i%37, i), "1", fmt.Sprintf("node-%03d", i%500), "")
	}
	return out
}

func filled(b *testing.B) (*Indexer, []client.Object) {
	x, objects := NewIndexer(), pods(benchObjects)
	if err := x.AddIndex("node", byNode); err != nil {
		b.Fatal(err)
	}
	if err := x.Replace(objects, "1"); err != nil {
		b.Fatal(err)
	}
	return x, objects
}

func BenchmarkIndexerGet(b *testing.B) {
	x, objects := filled(b)
	keys := make([]client.ObjectKey, len(objects))
	for i, o := range objects {
		keys[i] = client.ObjectKeyFromObject(o)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if x.Get(keys[i*7919%len(keys)]) == nil {
			b.Fatal("missing")
		}
	}
}

func BenchmarkIndexerList(b *testing.B) {
	x, _ := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if len(x.List()) != benchObjects {
			b.Fatal("wrong")
		}
	}
}

func BenchmarkIndexerByIndex(b *testing.B) {
	x, _ := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if o, err := x.ByIndex("node", "node-123", ""); err != nil || len(o) != benchObjects/500 {
			b.Fatal(len(o), err)
		}
	}
}

func BenchmarkIndexerUpdate(b *testing.B) {
	for _, size := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			x, objects := filled(b)
			batch := make([]client.Object, size)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				for j := range batch {
					batch[j] = objects[i*7919%len(objects)]
					i++
				}
				if err := x.Update(batch, nil, "2"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/object")
		})
	}
}

func BenchmarkIndexerReplace(b *testing.B) {
	x, objects := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := x.Replace(objects, "2"); err != nil {
			b.Fatal(err)
		}
	}
}

// filledCache is a started cache of real Pods: 100 namespaces of 20.
func filledCache(b *testing.B) *Cache {
	s := newServer(b)
	for i := range 2_000 {
		s.put(pod(fmt.Sprintf("ns%02d", i%100), fmt.Sprintf("pod-%d", i), fmt.Sprintf("app%d", i%50), fmt.Sprintf("n%d", i%50)))
	}
	c := newCache(b, s, nil)
	if err := c.IndexField(b.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
		b.Fatal(err)
	}
	start(b, c)
	if err := c.WaitForCacheSync(b.Context()); err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkCacheGet(b *testing.B) {
	c := filledCache(b)
	for name, opts := range map[string][]client.GetOption{"copy": nil, "shared": {client.UnsafeDisableDeepCopy}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var p corev1.Pod
			for b.Loop() {
				if err := c.Get(b.Context(), key("ns42", "pod-42"), &p, opts...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCacheList(b *testing.B) {
	c := filledCache(b)
	for name, opts := range map[string][]client.ListOption{
		"namespace": {client.InNamespace("ns42")},
		"index":     {client.MatchingFields{"spec.nodeName": "n42"}},
		"labels":    {client.MatchingLabels{"app": "app42"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var list corev1.PodList
				if err := c.List(b.Context(), &list, opts...); err != nil || len(list.Items) == 0 {
					b.Fatal(len(list.Items), err)
				}
			}
		})
	}
}
