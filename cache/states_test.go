package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"governor/client"

	"k8s.io/apimachinery/pkg/labels"
)

// history has all states that a writer has published, by resourceVersion, and
// the one that it is about to publish.
type history struct {
	mu     sync.RWMutex
	states []map[client.ObjectKey]client.Object // +checklocks:mu
}

func (h *history) append(state map[client.ObjectKey]client.Object) (resourceVersion string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, maps.Clone(state))
	return fmt.Sprint(len(h.states) - 1)
}

func (h *history) at(resourceVersion string) model {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.states[atoi(resourceVersion)]
}

// Contract 4: whatever is written meanwhile, a List is all of the state whose
// resourceVersion it has, and a Get is of a state that was published during it;
// neither ever goes back.
func TestReadsAreOfOneState(t *testing.T) {
	x, h := NewIndexer(), &history{}
	if err := x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	if err := x.Replace(nil, h.append(nil)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for n := range 3 {
		r := &reader{t: t, x: x, h: h, random: rand.New(rand.NewPCG(3, uint64(n)))}
		readers.Go(func() {
			for r.ok() {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	write(t, x, h)
	close(done)
	readers.Wait()
	if err := x.valid(); err != nil {
		t.Error(err)
	}
	if len(x.links) > 0 || len(x.past) > 0 {
		t.Errorf("%d links and %d states are left though nobody reads", len(x.links), len(x.past))
	}
}

const pairs = 80

// write moves pairs of objects, in two namespaces, always both of them at once.
func write(t *testing.T, x *Indexer, h *history) {
	random, state := rand.New(rand.NewPCG(1, 2)), map[client.ObjectKey]client.Object{}
	for v := range 800 {
		size := []int{1, 1, 1, 20}[random.IntN(4)]
		var put []client.Object
		var remove []client.ObjectKey
		for range size {
			name, node := fmt.Sprint(random.IntN(pairs)), fmt.Sprint(random.IntN(5))
			gone := random.IntN(3) == 0
			for _, ns := range []string{"left", "right"} {
				if gone {
					remove = append(remove, key(ns, name))
					delete(state, key(ns, name))
					continue
				}
				if old := state[key(ns, name)]; old != nil && v%2 == 0 {
					node = old.GetLabels()["node"]
				}
				o := object(ns, name, fmt.Sprint(v), node, "")
				put = append(put, o)
				state[key(ns, name)] = o
			}
		}
		// What is in both is put.
		for _, o := range put {
			state[client.ObjectKeyFromObject(o)] = o
		}
		var err error
		switch random.IntN(40) {
		case 0:
			objects := slices.Collect(maps.Values(state))
			err = x.Replace(objects, h.append(state))
		case 1:
			if err := x.AddIndex("tag", byTag); err != nil {
				t.Fatal(err)
			}
			x.removeIndex("tag")
			fallthrough
		default:
			err = x.Update(put, remove, h.append(state))
		}
		if err != nil {
			t.Fatal(err)
		}
		if v%100 == 0 {
			if err := x.valid(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type reader struct {
	t      *testing.T
	x      *Indexer
	h      *history
	random *rand.Rand
	last   int
}

// ok reads once, and says whether that was right.
func (r *reader) ok() bool {
	node := fmt.Sprint(r.random.IntN(5))
	q := &query{labels: labels.Everything(), namespace: []string{"", "left", "right"}[r.random.IntN(3)]}
	if r.random.IntN(2) == 0 {
		q.terms = []term{{field: "node", value: node}}
	}
	var got []client.Object
	version, err := q.runOn(r.x, func(o client.Object) bool {
		got = append(got, o)
		return true
	})
	want := r.h.at(version).list(func(o client.Object) bool {
		return (q.namespace == "" || o.GetNamespace() == q.namespace) && (len(q.terms) == 0 || o.GetLabels()["node"] == node)
	})
	if err != nil || !slices.Equal(got, want) {
		r.t.Errorf("%q %v at %s: %v\n%v, want\n%v", q.namespace, q.terms, version, err, got, want)
		return false
	}
	k := key([]string{"left", "right"}[r.random.IntN(2)], fmt.Sprint(r.random.IntN(pairs)))
	object, first := r.x.Get(k), atoi(version)
	now := atoi(r.x.ResourceVersion())
	matches := false
	for v := first; v <= now; v++ {
		matches = matches || r.h.at(fmt.Sprint(v))[k] == object
	}
	if !matches {
		r.t.Errorf("Get(%v) is of none of the states %d to %d: %v", k, first, now, object)
	}
	forward := first >= r.last
	if !forward {
		r.t.Errorf("state %d after %d", first, r.last)
	}
	r.last = now
	return matches && forward
}

// A write that is not published is not seen, by Get either, and what it
// replaces is.
func TestGetSeesPublishedVersions(t *testing.T) {
	x := NewIndexer()
	old, now, added := object("ns", "a", "1", "", ""), object("ns", "a", "2", "", ""), object("ns", "b", "2", "", "")
	gone := object("ns", "c", "1", "", "")
	if err := x.Replace([]client.Object{old, gone}, "1"); err != nil {
		t.Fatal(err)
	}
	get := func(name string) client.Object { return x.Get(key("ns", name)) }

	x.mu.Lock()
	b := x.beginLocked()
	b.prepare([]client.Object{now, added})
	b.put()
	b.remove([]client.ObjectKey{key("ns", "c")})
	b.index()
	if get("a") != client.Object(old) || get("b") != nil || get("c") != client.Object(gone) || len(x.List()) != 2 {
		t.Errorf("before: %v %v %v, list %v", get("a"), get("b"), get("c"), x.List())
	}
	x.publishLocked()
	x.mu.Unlock()
	// A Get that found the new version before, and looks on only now.
	if got := x.published(x.state.Load().get(key("ns", "a")).current.Load(), 1); got != client.Object(now) {
		t.Errorf("published and cut meanwhile: %v", got)
	}
	if get("a") != client.Object(now) || get("b") != client.Object(added) || get("c") != nil || len(x.List()) != 2 {
		t.Errorf("after: %v %v %v, list %v", get("a"), get("b"), get("c"), x.List())
	}
}

// A reader finds in an index what its state had, though the value went, came
// back, and went again since.
func TestBucketsStayForReaders(t *testing.T) {
	x := NewIndexer()
	if err := x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	move := func(version, node string) {
		t.Helper()
		if err := x.Update([]client.Object{object("ns", "a", version, node, "")}, nil, version); err != nil {
			t.Fatal(err)
		}
		if err := x.valid(); err != nil {
			t.Fatal(err)
		}
	}
	move("1", "a")
	var held []*state
	for v, node := range []string{"b", "a", "b", "a", "c", "a"} {
		held = append(held, x.acquire())
		move(fmt.Sprint(v+2), node)
		if v == 2 { // the oldest two are let go of: only now what they saw may go
			x.release(held[0])
			x.release(held[1])
		}
	}
	for v, node := range []string{"a", "b", "a", "b", "a", "c"} {
		if v < 2 {
			continue
		}
		q := &query{labels: labels.Everything(), terms: []term{{field: "node", value: node}}}
		n := 0
		if err := q.run(held[v], func(o client.Object) bool { n++; return o.GetResourceVersion() == fmt.Sprint(v+1) }); err != nil || n != 1 {
			t.Errorf("state %d has %d objects on node %s: %v", v, n, node, err)
		}
		x.release(held[v])
	}
	move("9", "z")
	if buckets := x.state.Load().indexes[0].values.live; buckets != 1 || len(x.emptied) > 0 {
		t.Errorf("%d buckets are left, %d to go", buckets, len(x.emptied))
	}
}

// What the figures in docs/design/indexer.md rest on.
func TestAllocations(t *testing.T) {
	x, objects := NewIndexer(), pods(2000, 0)
	if err := x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	if err := x.Replace(objects, "1"); err != nil {
		t.Fatal(err)
	}
	k := client.ObjectKeyFromObject(objects[42])
	if n := testing.AllocsPerRun(100, func() { x.Get(k) }); n > 0 {
		t.Errorf("Get: %v allocations", n)
	}
	// The version, the state, and what the index function returns.
	if n := testing.AllocsPerRun(100, func() { _ = x.Update(objects[42:43], nil, "2") }); n > 3 {
		t.Errorf("Update: %v allocations", n)
	}
}
