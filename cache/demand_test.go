package cache

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	"k8s.io/apimachinery/pkg/labels"
)

// selectBy runs the query of a label selector, and says by what it was answered.
func selectBy(t *testing.T, x *Indexer, selector string) (index string, results int) {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	q, err := newQuery(podGVK, &client.ListOptions{LabelSelector: parsed})
	if err != nil {
		t.Fatal(err)
	}
	e, err := q.explain(x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.runOn(x, func(client.Object) bool { results++; return true }); err != nil {
		t.Fatal(err)
	}
	if results != e.Results || e.Candidates < results || e.Objects != x.Len() {
		t.Errorf("%q has %d results, explained as %+v", selector, results, e)
	}
	return e.Index, results
}

// until has the selector run until it is answered otherwise; it returns how often it ran.
func until(t *testing.T, x *Indexer, selector, index string) (times int) {
	t.Helper()
	for times = 0; times < 100; times++ {
		if by, _ := selectBy(t, x, selector); by == index {
			return times
		}
	}
	t.Fatalf("%q is not answered by the %s after %d times", selector, index, times)
	return times
}

// A selector that repeats gets an index, which is right after each write, and goes
// when nobody uses it.
func TestIndexesOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndexer()
		if err := x.Replace(pods(2000, 0), "1"); err != nil {
			t.Fatal(err)
		}
		const byNode = "index on demand of label node"
		if n := until(t, x, "node=node-007", byNode); n != paysAfter+1 {
			t.Errorf("built after %d selections, want %d", n, paysAfter+1)
		}
		for selector, want := range map[string]int{"node=node-007": 4, "node in (node-007,node-008)": 8, "node=none": 0, "node": 2000, "!node": 0, "node!=node-007": 1996} {
			if by, n := selectBy(t, x, selector); n != want || by != byNode && want < 1000 && selector != "!node" {
				t.Errorf("%s: %d by the %s", selector, n, by)
			}
		}
		// A write moves objects, another adds some without the label, and removes others.
		_ = x.Update(pods(2000, 1)[:1000], nil, "2")
		_ = x.Update([]client.Object{labelled("a", "n1", nil)}, []client.ObjectKey{client.ObjectKeyFromObject(pods(2000, 0)[7])}, "3")
		if err := x.valid(); err != nil {
			t.Fatal(err)
		}
		if by, n := selectBy(t, x, "node=node-007"); by != byNode || n != 4 {
			t.Errorf("%d by the %s", n, by)
		}
		time.Sleep(idleAfter - time.Second)
		selectBy(t, x, "node=node-007")
		time.Sleep(idleAfter - time.Second)
		_ = x.Update(nil, nil, "4")
		if len(x.state.Load().demanded) != 1 {
			t.Error("an index that is in use is gone")
		}
		time.Sleep(time.Second)
		_ = x.Update(nil, nil, "5")
		if by, n := selectBy(t, x, "node=node-007"); by != "all objects" || n != 4 {
			t.Errorf("after a long time: %d by the %s", n, by)
		}
	})
}

// labelled is an object with these labels.
func labelled(namespace, name string, set map[string]string) client.Object {
	o := object(namespace, name, "1", "", "")
	o.Labels = set
	return o
}

// Few objects are scanned as fast as they are found.
func TestFewObjectsAreScanned(t *testing.T) {
	x := NewIndexer()
	_ = x.Replace(pods(minVain, 0), "1")
	for range 100 {
		if by, _ := selectBy(t, x, "node=node-007"); by != "all objects" {
			t.Fatal(by)
		}
	}
}

// Indexes on demand are bounded, in number and in memory, however many labels there
// are, and whatever values they have.
func TestIndexesOnDemandAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, objects := NewIndexer(), make([]client.Object, 2000)
		for i := range objects {
			set := map[string]string{}
			for l := range 2 * maxDemanded {
				set[fmt.Sprintf("few%d", l)] = fmt.Sprint(i % 10)
				set[fmt.Sprintf("own%d", l)] = fmt.Sprint(i)
			}
			objects[i] = labelled("ns", fmt.Sprint(i), set)
		}
		for _, kind := range []string{"own", "few"} { // too large, and too many
			x = NewIndexer()
			_ = x.Replace(objects, "1")
			for l := range 2 * maxDemanded {
				for range 3 * paysAfter {
					selectBy(t, x, fmt.Sprintf("%s%d=5", kind, l))
				}
				if st := x.state.Load(); len(st.demanded) > maxDemanded || st.overDemanded() {
					t.Fatalf("%d indexes on demand: too many, or too large", len(st.demanded))
				}
			}
		}
		if n := len(x.state.Load().demanded); n < 2 {
			t.Errorf("only %d indexes on demand", n)
		}
		if n := len(x.demand.wishes); n > maxWishes {
			t.Errorf("%d wishes", n)
		}
		// One that nobody has used for a while makes room.
		time.Sleep(yieldsAfter)
		until(t, x, "few15=3", "index on demand of label few15")
		// With the objects go the indexes: what they may take is by the object.
		_ = x.Replace(objects[:10], "2")
		if st := x.state.Load(); st.overDemanded() {
			t.Error("the indexes on demand are too large for few objects")
		}
	})
}

// A read that would build an index does not wait for a writer, and other reads do
// not wait for it.
func TestNoReadWaitsForAnIndex(t *testing.T) {
	x := NewIndexer()
	_ = x.Replace(pods(2000, 0), "1")
	x.mu.Lock() // a write, at work
	for range 3 * paysAfter {
		if by, n := selectBy(t, x, "node=node-007"); by != "all objects" || n != 4 {
			t.Errorf("%d by the %s", n, by)
		}
	}
	x.mu.Unlock()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50 {
				if _, n := selectBy(t, x, "node=node-007"); n != 4 {
					t.Error(n)
				}
			}
		})
	}
	readers.Wait()
	if by, _ := selectBy(t, x, "node=node-007"); !strings.HasPrefix(by, "index on demand") {
		t.Errorf("answered by the %s", by)
	}
}
