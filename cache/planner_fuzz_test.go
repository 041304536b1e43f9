package cache

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// planned is a kind of queries, and what it selects, said in the plainest way.
type planned struct {
	labels, fields string
	keep           func(o client.Object) bool
}

// queries are of objects as randomObjects makes them.
var queries = []planned{
	{"", "", func(o client.Object) bool { return true }},
	{"node=a", "", func(o client.Object) bool { return o.GetLabels()["node"] == "a" }},
	{"node in (a,b),tags!=pp", "", func(o client.Object) bool {
		return strings.Contains("ab", o.GetLabels()["node"]) && o.GetLabels()["tags"] != "pp"
	}},
	{"node notin (a,b),!none", "", func(o client.Object) bool { return !strings.Contains("ab", o.GetLabels()["node"]) }},
	{"tags,node=c", "", func(o client.Object) bool { return o.GetLabels()["node"] == "c" }},
	{"none", "", func(o client.Object) bool { return false }},
	{"", "metadata.name=7", func(o client.Object) bool { return o.GetName() == "7" }},
	{"node=d", "metadata.name!=7", func(o client.Object) bool { return o.GetLabels()["node"] == "d" && o.GetName() != "7" }},
	{"", "metadata.namespace=1", func(o client.Object) bool { return o.GetNamespace() == "1" }},
	{"", "metadata.namespace!=1", func(o client.Object) bool { return o.GetNamespace() != "1" }},
	{"", client.FieldOwnerUID + "=a", func(o client.Object) bool { return o.GetLabels()["node"] == "a" }},
	{"", client.FieldOwnerUID + "!=b", func(o client.Object) bool { return o.GetLabels()["node"] != "b" }},
	{"", "tag=p", func(o client.Object) bool { return strings.Contains(o.GetLabels()["tags"], "p") }},
	{"node=a", "tag!=p,tag=s", func(o client.Object) bool {
		return o.GetLabels()["node"] == "a" && strings.Contains(o.GetLabels()["tags"], "s") && !strings.Contains(o.GetLabels()["tags"], "p")
	}},
}

// query is the one of the options, of one page.
func (p planned) query(t *testing.T, namespace, next string, limit int64) *query {
	t.Helper()
	selector, err := labels.Parse(p.labels)
	if err != nil {
		t.Fatal(err)
	}
	q, err := newQuery(widgetGVK, &client.ListOptions{Namespace: namespace, LabelSelector: selector,
		FieldSelector: fields.ParseSelectorOrDie(p.fields), Limit: limit, Continue: next})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// ask runs the query on one state, whose version it returns, and says by what.
func ask(t *testing.T, x *Indexer, q *query) (got []client.Object, version, by string) {
	t.Helper()
	st := x.acquire()
	defer x.release(st)
	p, err := q.plan(st)
	if err == nil {
		p.run(func(o client.Object) bool {
			got = append(got, o)
			return q.limit == 0 || int64(len(got)) < q.limit
		})
		if by = p.source.name; p.candidates < len(got) {
			t.Errorf("%s: %d candidates, but %d are found", by, p.candidates, len(got))
		}
	}
	if err != nil {
		t.Error(err)
	}
	return got, st.resourceVersion, by
}

// FuzzPlanner does what the bytes say to an Indexer and to a model, and asks both
// the same, by whatever indexes there are, while readers ask and have indexes made
// and dropped.
func FuzzPlanner(f *testing.F) {
	f.Add([]byte("\x00\x10\x20\x30\x40\x50\x60\x70"))
	f.Add([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"))
	f.Add(slices.Repeat([]byte{9, 2, 255, 3, 128, 64, 33, 8, 1}, 150))
	f.Fuzz(func(t *testing.T, script []byte) {
		x, m := NewIndexer(), model{}
		if err := x.AddIndex("tag", byTag); err != nil {
			t.Fatal(err)
		}
		next := func() int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b)
		}
		done := make(chan struct{})
		var readers sync.WaitGroup
		for r := range 2 {
			readers.Go(func() { askWhile(t, x, r, done) })
		}
		defer readers.Wait()
		defer close(done)
		for rv := 1; len(script) > 0; rv++ {
			switch op := next() % 8; op {
			case 0:
				objects := owned(randomObjects(next, fmt.Sprint(rv), next()))
				clear(m)
				for _, o := range objects {
					m[client.ObjectKeyFromObject(o)] = o
				}
				_ = x.Replace(objects, fmt.Sprint(rv))
			case 1:
				x.mu.Lock()
				x.beginLocked().next.demanded = nil
				x.publishLocked()
				x.mu.Unlock()
			case 2, 3:
				want(x, queries[next()%len(queries)].query(t, "", "", 0))
			default:
				put, remove := owned(randomObjects(next, fmt.Sprint(rv), op)), []client.ObjectKey{key(fmt.Sprint(next()%3), fmt.Sprint(next()))}
				delete(m, remove[0])
				for _, o := range put {
					m[client.ObjectKeyFromObject(o)] = o
				}
				_ = x.Update(put, remove, fmt.Sprint(rv))
			}
			if err := x.valid(); err != nil {
				t.Fatalf("after step %d: %v", rv, err)
			}
			for _, p := range queries {
				comparePlan(t, x, m, p, []string{"", "1", "7"}[next()%3], int64(next()%4))
			}
		}
	})
}

// owned gives each object its node as owner, twice.
func owned(objects []client.Object) []client.Object {
	for _, o := range objects {
		owner := metav1.OwnerReference{UID: types.UID(o.GetLabels()["node"])}
		o.SetOwnerReferences([]metav1.OwnerReference{owner, owner})
	}
	return objects
}

// want has an index made that the query is in want of.
func want(x *Indexer, q *query) {
	st := x.acquire()
	if p, err := q.plan(st); err == nil && len(p.missing) > 0 {
		x.demand.due.Store(&p.missing[len(p.missing)-1])
	}
	x.release(st)
}

// comparePlan asks for all pages.
func comparePlan(t *testing.T, x *Indexer, m model, p planned, namespace string, limit int64) {
	t.Helper()
	want := m.list(func(o client.Object) bool { return (namespace == "" || o.GetNamespace() == namespace) && p.keep(o) })
	var got []client.Object
	next, by := "", ""
	for {
		q := p.query(t, namespace, next, limit)
		page, _, source := ask(t, x, q)
		got, by = append(got, page...), source
		if limit == 0 || int64(len(page)) < limit {
			break
		}
		next = q.token(client.ObjectKeyFromObject(page[len(page)-1]))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q %q in %q by %d, by %s: got %d, want %d: %v, want %v", p.labels, p.fields, namespace, limit, by, len(got), len(want), got, want)
	}
}

// askWhile asks until done is closed. What one state answers to a query is a part
// of what it has at all, whatever the index.
func askWhile(t *testing.T, x *Indexer, r int, done <-chan struct{}) {
	for i := r; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		p := queries[i%len(queries)]
		q := p.query(t, "", "", 0)
		want(x, q)
		st := x.acquire()
		var got, all []client.Object
		err := q.run(st, func(o client.Object) bool { got = append(got, o); return true })
		for at := range st.all() {
			if o := at.at(st.seq).object; p.keep(o) {
				all = append(all, o)
			}
		}
		x.release(st)
		if err != nil || !slices.Equal(got, all) {
			t.Errorf("%q %q: got %v, %v, the state has %v", p.labels, p.fields, got, err, all)
			return
		}
	}
}
