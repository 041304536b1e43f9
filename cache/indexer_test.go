package cache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"governor/client"
	"governor/informer"
)

var _ informer.Store = &Indexer{}

// Contract 4: a List that began before a write does not see it, and one state
// has all of a batch or nothing of it.
func TestBatchesAreSeenWholeOrNotAtAll(t *testing.T) {
	x := NewIndexer()
	batch := func(version string) []client.Object {
		objects := make([]client.Object, 0, 300)
		for i := range 300 {
			objects = append(objects, object(fmt.Sprint("ns", i%7), fmt.Sprint(i), version, "n", ""))
		}
		return objects
	}
	if err := x.Replace(batch("0"), "0"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				objects := x.List()
				for _, o := range objects {
					if o.GetResourceVersion() != objects[0].GetResourceVersion() {
						t.Errorf("one list has versions %s and %s", o.GetResourceVersion(), objects[0].GetResourceVersion())
						return
					}
				}
				runtime.Gosched()
			}
		})
	}
	for v := 1; v < 60; v++ {
		if err := x.Update(batch(fmt.Sprint(v)), nil, fmt.Sprint(v)); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
}

// Chunks split when they grow and join when they shrink, so that neither many
// adds nor many deletes make reads slow.
func TestChunksKeepTheirSize(t *testing.T) {
	x := NewIndexer()
	if err := x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	const n = 20 * maxChunk
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for _, i := range order {
		if err := x.Update([]client.Object{object("ns", fmt.Sprint(i), "1", "n", "")}, nil, "1"); err != nil {
			t.Fatal(err)
		}
	}
	check := func(objects int) {
		t.Helper()
		st := x.state.Load()
		if err := x.valid(); err != nil {
			t.Fatal(err)
		}
		for name, buckets := range map[string][]*bucket{"namespace": st.spaces, "index": {st.indexes[0].bucket("n")}} {
			chunks := 0
			for _, b := range buckets {
				if b != nil {
					chunks += len(b.at(st.seq))
				}
			}
			if limit := 2 + 2*objects/minChunk; st.count != objects || chunks > limit {
				t.Errorf("%s: %d objects in %d chunks, at most %d wanted", name, st.count, chunks, limit)
			}
		}
	}
	check(n)
	for _, i := range order[:n-10] {
		if err := x.Update(nil, []client.ObjectKey{key("ns", fmt.Sprint(i))}, "2"); err != nil {
			t.Fatal(err)
		}
	}
	check(10)
	for _, i := range order {
		if err := x.Update(nil, []client.ObjectKey{key("ns", fmt.Sprint(i))}, "3"); err != nil {
			t.Fatal(err)
		}
	}
	check(0)
}

// Contract 6, Case 21: the lock is not held after a panic.
func TestPanicInAnIndexFunctionLeavesTheIndexerUsable(t *testing.T) {
	x := NewIndexer()
	if err := x.Replace([]client.Object{object("ns", "bad", "1", "x", ""), object("ns", "good", "1", "a", "")}, "1"); err != nil {
		t.Fatal(err)
	}
	if err := x.AddIndex("node", byNode); err == nil || !strings.Contains(err.Error(), "ns/bad") {
		t.Fatalf("AddIndex: %v", err)
	}
	if _, err := x.ByIndex("node", "a", ""); err == nil {
		t.Error("the index that panicked is there")
	}
	if err := x.Update([]client.Object{object("ns", "bad", "2", "b", "")}, nil, "2"); err != nil {
		t.Fatal(err)
	}
	if err := x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	if err := x.Update([]client.Object{object("ns", "bad", "3", "x", "")}, nil, "3"); err != nil {
		t.Fatal(err)
	}
	if got := x.Get(key("ns", "bad")); got == nil || got.GetResourceVersion() != "3" {
		t.Errorf("the object was not stored: %v", got)
	}
	if _, err := x.ByIndex("node", "a", ""); err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Errorf("ByIndex of an index that lacks an object: %v", err)
	}
	if err := x.AddIndex("node", byTag); err == nil {
		t.Error("a second index of the field")
	}
	if err := x.AddIndex("", byTag); err == nil {
		t.Error("an index without a field")
	}
}

// A bookmark moves the version and nothing else; an empty version moves nothing.
func TestResourceVersion(t *testing.T) {
	x := NewIndexer()
	for _, step := range []struct{ version, want string }{{"", ""}, {"5", "5"}, {"", "5"}, {"9", "9"}} {
		if err := x.Update(nil, nil, step.version); err != nil {
			t.Fatal(err)
		}
		if got := x.ResourceVersion(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.version, got, step.want)
		}
	}
}
