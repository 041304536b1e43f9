package cache

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object returns a metadata-only object with labels node and tags.
func object(namespace, name, resourceVersion, node, tags string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, ResourceVersion: resourceVersion,
		Labels: map[string]string{"node": node, "tags": tags},
	}}
}

// byNode has one value for an object, and panics on node "x".
func byNode(o client.Object) []string {
	if o.GetLabels()["node"] == "x" {
		panic("no such node")
	}
	return []string{o.GetLabels()["node"]}
}

// byTag has any number of values, some of them twice.
func byTag(o client.Object) []string { return strings.Split(o.GetLabels()["tags"], "") }

// model is an Indexer as simple as can be.
type model map[client.ObjectKey]client.Object

func (m model) list(keep func(client.Object) bool) []client.Object {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b client.ObjectKey) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	var out []client.Object
	for _, k := range keys {
		if keep == nil || keep(m[k]) {
			out = append(out, m[k])
		}
	}
	return out
}

// FuzzIndexer does what the bytes say to an Indexer and to a model, while
// readers check that what they see is one state that was written (Contract 1).
func FuzzIndexer(f *testing.F) {
	f.Add([]byte("\x00\x10\x20\x30\x40\x50\x60\x70"))
	f.Add([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"))
	f.Add(slices.Repeat([]byte{7, 1, 255, 3, 128, 64, 32, 9}, 200))
	f.Fuzz(func(t *testing.T, script []byte) {
		x, m := NewIndexer(), model{}
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
		for range 2 {
			readers.Go(func() { readWhile(t, x, done) })
		}
		defer readers.Wait()
		defer close(done)

		for rv := 1; len(script) > 0; rv++ {
			version := fmt.Sprint(rv)
			switch op := next() % 16; {
			case op == 0:
				objects := randomObjects(next, version, next()%200)
				m = model{}
				for _, o := range objects {
					m[client.ObjectKeyFromObject(o)] = o
				}
				if err := x.Replace(objects, version); err != nil {
					t.Fatal(err)
				}
			case op == 1:
				checkAddIndex(t, x, m, "node", byNode)
			case op == 2:
				checkAddIndex(t, x, m, "tag", byTag)
			default:
				put := randomObjects(next, version, op)
				remove := make([]client.ObjectKey, 0, op)
				for range next() % 40 {
					remove = append(remove, client.ObjectKey{Namespace: fmt.Sprint(next() % 3), Name: fmt.Sprint(next())})
				}
				for _, k := range remove {
					delete(m, k)
				}
				for _, o := range put {
					m[client.ObjectKeyFromObject(o)] = o
				}
				if err := x.Update(put, remove, version); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.valid(); err != nil {
				t.Fatalf("after step %d: %v", rv, err)
			}
			compare(t, x, m)
		}
	})
}

func randomObjects(next func() int, version string, n int) []client.Object {
	objects := make([]client.Object, 0, n)
	for range n {
		objects = append(objects, object(fmt.Sprint(next()%3), fmt.Sprint(next()), version,
			string("abcdefgx"[next()%8]), "ppqrs"[:next()%5]))
	}
	return objects
}

func checkAddIndex(t *testing.T, x *Indexer, m model, field string, fn client.IndexerFunc) {
	t.Helper()
	want := x.state.Load().indexOf(field) < 0 &&
		(field != "node" || len(m.list(func(o client.Object) bool { return o.GetLabels()["node"] == "x" })) == 0)
	if err := x.AddIndex(field, fn); (err == nil) != want {
		t.Fatalf("AddIndex(%s): %v", field, err)
	}
}

// compare asks both the same questions.
func compare(t *testing.T, x *Indexer, m model) {
	t.Helper()
	if got, want := x.List(), m.list(nil); !slices.Equal(got, want) || x.Len() != len(want) {
		t.Fatalf("List: got %v, want %v", got, want)
	}
	for k, o := range m {
		if x.Get(k) != o {
			t.Fatalf("Get(%v): got %v, want %v", k, x.Get(k), o)
		}
	}
	if o := x.Get(client.ObjectKey{Namespace: "1", Name: "1x"}); o != nil {
		t.Fatalf("Get of a key that never was: %v", o)
	}
	for _, q := range []struct {
		field, value string
		fn           client.IndexerFunc
	}{{"node", "a", byNode}, {"node", "g", byNode}, {"tag", "p", byTag}, {"tag", "s", byTag}} {
		for _, ns := range []string{"", "1", "7"} {
			got, err := x.ByIndex(q.field, q.value, ns)
			broken := len(m.list(func(o client.Object) bool { return o.GetLabels()["node"] == "x" })) > 0
			if x.state.Load().indexOf(q.field) < 0 || q.field == "node" && broken {
				if err == nil {
					t.Fatalf("ByIndex(%s): no error although the index is missing or incomplete", q.field)
				}
				continue
			}
			want := m.list(func(o client.Object) bool {
				return (ns == "" || o.GetNamespace() == ns) && slices.Contains(q.fn(o), q.value)
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("ByIndex(%s, %s, %q): got %v %v, want %v", q.field, q.value, ns, got, err, want)
			}
		}
	}
}

// readWhile reads until done is closed. Versions rise with each write, so one
// state has no object newer than its own version, and what one reader sees
// never goes back.
func readWhile(t *testing.T, x *Indexer, done <-chan struct{}) {
	last := 0
	for {
		select {
		case <-done:
			return
		default:
		}
		st, newest := x.acquire(), 0
		for p := range st.all() {
			newest = max(newest, atoi(p.at(st.seq).object.GetResourceVersion()))
		}
		x.release(st)
		if rv := atoi(st.resourceVersion); newest > rv || rv < last {
			t.Errorf("version %d after %d holds an object of version %d", rv, last, newest)
			return
		} else {
			last = rv
		}
	}
}

func atoi(s string) (n int) {
	n, _ = strconv.Atoi(s)
	return n
}
