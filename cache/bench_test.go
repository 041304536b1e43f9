package cache

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

// pods returns objects in 100 namespaces and on 500 nodes, moved by so many.
func pods(n, moved int) []client.Object {
	out := make([]client.Object, n)
	for i := range out {
		out[i] = object(fmt.Sprintf("namespace-%02d", i%100), fmt.Sprintf("deployment-%d-%05d", i%37, i), "1",
			fmt.Sprintf("node-%03d", (i+moved)%500), "")
	}
	return out
}

// shop is an Indexer of a size, and what can be done to it.
type shop struct {
	x       *Indexer
	objects []client.Object // as they are
	moved   []client.Object // on other nodes
	keys    []client.ObjectKey
}

// eachSize runs a benchmark on two sizes.
func eachSize(b *testing.B, run func(b *testing.B, s *shop)) {
	for _, n := range []int{20_000, 200_000} {
		s := &shop{x: NewIndexer(), objects: pods(n, 0), moved: pods(n, 1)}
		if err := s.x.AddIndex("node", byNode); err != nil {
			b.Fatal(err)
		}
		if err := s.x.Replace(s.objects, "1"); err != nil {
			b.Fatal(err)
		}
		for _, o := range pods(n, 0) { // strings of their own, as callers have
			s.keys = append(s.keys, client.ObjectKeyFromObject(o))
		}
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			run(b, s)
		})
	}
}

// at spreads i over the objects.
func (s *shop) at(i int) int { return i * 7919 % len(s.objects) }

func BenchmarkIndexerGet(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		for i := 0; b.Loop(); i++ {
			if s.x.Get(s.keys[s.at(i)]) == nil {
				b.Fatal("missing")
			}
		}
	})
}

// 5,000 updates a second arrive meanwhile, ten at a time.
func BenchmarkIndexerGetWhileWriting(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		done := make(chan struct{})
		var writer sync.WaitGroup
		writer.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				for range 10 {
					at := s.at(i)
					_ = s.x.Update(s.moved[at:at+1], nil, "2")
					i++
				}
			}
		})
		took := make([]time.Duration, 0, 1<<20)
		for i := 0; b.Loop(); i++ {
			start := time.Now()
			s.x.Get(s.keys[s.at(i)])
			if len(took) < cap(took) {
				took = append(took, time.Since(start))
			}
		}
		close(done)
		writer.Wait()
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
		b.ReportMetric(float64(took[len(took)*999/1000]), "p99.9-ns")
	})
}

func BenchmarkIndexerList(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		for b.Loop() {
			if len(s.x.List()) != len(s.objects) {
				b.Fatal("wrong")
			}
		}
	})
}

func BenchmarkIndexerByIndex(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		for b.Loop() {
			if o, err := s.x.ByIndex("node", "node-123", ""); err != nil || len(o) != len(s.objects)/500 {
				b.Fatal(len(o), err)
			}
		}
	})
}

func BenchmarkIndexerUpdate(b *testing.B) {
	for _, size := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			eachSize(b, func(b *testing.B, s *shop) { s.update(b, size, s.objects, s.objects) })
		})
	}
}

// Each update moves an object to another node, which the index follows.
func BenchmarkIndexerMove(b *testing.B) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			eachSize(b, func(b *testing.B, s *shop) { s.update(b, size, s.moved, s.objects) })
		})
	}
}

// update puts objects, and when it is through with them the others.
func (s *shop) update(b *testing.B, size int, objects, others []client.Object) {
	batch := make([]client.Object, size)
	i := 0
	for b.Loop() {
		for j := range batch {
			batch[j] = objects[s.at(i)]
			if i++; i%len(objects) == 0 {
				objects, others = others, objects
			}
		}
		if err := s.x.Update(batch, nil, "2"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/object")
}

func BenchmarkIndexerDeleteAndAdd(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		for i := 0; b.Loop(); i++ {
			at := s.at(i)
			_ = s.x.Update(nil, s.keys[at:at+1], "2")
			_ = s.x.Update(s.objects[at:at+1], nil, "2")
		}
	})
}

// A relist: other objects, of which nothing is known to be the same.
func BenchmarkIndexerReplace(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		others := pods(len(s.objects), 0)
		for b.Loop() {
			if err := s.x.Replace(others, "2"); err != nil {
				b.Fatal(err)
			}
			others, s.objects = s.objects, others
		}
	})
}

// The first list of all.
func BenchmarkIndexerFill(b *testing.B) {
	eachSize(b, func(b *testing.B, s *shop) {
		for b.Loop() {
			x := NewIndexer()
			if err := x.AddIndex("node", byNode); err != nil {
				b.Fatal(err)
			}
			if err := x.Replace(s.objects, "1"); err != nil {
				b.Fatal(err)
			}
		}
	})
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
