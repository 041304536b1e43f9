package cache

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"weak"

	"governor/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watched puts new objects into an Indexer, and knows them weakly.
type watched struct {
	t       *testing.T
	x       *Indexer
	version int
	objects []weak.Pointer[metav1.PartialObjectMetadata]
}

func newWatched(t *testing.T) *watched {
	w := &watched{t: t, x: NewIndexer()}
	if err := w.x.AddIndex("node", byNode); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) fresh(name, node string) client.Object {
	w.version++
	o := object("ns", name, fmt.Sprint(w.version), node, "")
	w.objects = append(w.objects, weak.Make(o))
	return o
}

func (w *watched) update(name, node string) {
	w.t.Helper()
	if err := w.x.Update([]client.Object{w.fresh(name, node)}, nil, ""); err != nil {
		w.t.Fatal(err)
	}
}

// alive counts the objects that are still in memory.
func (w *watched) alive() (n int) {
	runtime.GC()
	for _, o := range w.objects {
		if o.Value() != nil {
			n++
		}
	}
	return n
}

func (w *watched) want(alive int, when string) {
	w.t.Helper()
	if n := w.alive(); n != alive {
		w.t.Errorf("%s: %d objects are in memory, want %d", when, n, alive)
	}
	if err := w.x.valid(); err != nil {
		w.t.Errorf("%s: %v", when, err)
	}
}

// What was replaced or removed is free as soon as nobody reads: Invariant 5.
func TestOldObjectsAreFreed(t *testing.T) {
	w := newWatched(t)
	w.update("a", "1")
	w.update("b", "1")
	w.want(2, "after two adds")
	w.update("a", "1")
	w.want(2, "after an update")
	w.update("a", "2")
	w.want(2, "after a move")
	w.x.List()
	w.update("a", "x")
	w.want(2, "after a move to where the index function panics")
	if err := w.x.Update(nil, []client.ObjectKey{key("ns", "b")}, ""); err != nil {
		t.Fatal(err)
	}
	w.want(1, "after a delete")
	if err := w.x.Replace([]client.Object{w.fresh("a", "1"), w.fresh("c", "1")}, "9"); err != nil {
		t.Fatal(err)
	}
	w.want(2, "after a replace")
	if err := w.x.Replace(nil, "10"); err != nil {
		t.Fatal(err)
	}
	w.want(0, "after a replace by nothing")
	runtime.KeepAlive(w.x)
}

// A slow reader has its state for as long as it reads; then all that was kept
// for it is freed, without another write.
func TestASlowReaderKeepsItsStateAndNothingLater(t *testing.T) {
	w := newWatched(t)
	w.update("a", "1")
	w.update("b", "1")
	first := w.x.acquire()
	for range 50 {
		w.update("a", "2")
	}
	second := w.x.acquire()
	w.update("a", "3")
	w.update("b", "3")
	versions := func(st *state) (out []string) {
		for p := range st.all() {
			out = append(out, p.at(st.seq).object.GetResourceVersion())
		}
		return out
	}
	if a, b := fmt.Sprint(versions(first)), fmt.Sprint(versions(second)); a != "[1 2]" || b != "[52 2]" {
		t.Errorf("the readers see %s and %s", a, b)
	}
	w.x.release(first)
	w.want(4, "when the first reader has left") // two now, two of the second reader
	w.x.release(second)
	w.want(2, "when both have left")
	runtime.KeepAlive(w.x)
}

// A reader that leaves while a writer has the lock does not wait for it, and what
// was kept for it is freed all the same: Invariant 6.
func TestAReaderThatLeavesDuringAWriteLeavesNothingBehind(t *testing.T) {
	w := newWatched(t)
	w.update("a", "1")
	st := w.x.acquire()
	w.update("a", "1")
	entered, leave := make(chan struct{}), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		err := w.x.AddIndex("slow", func(client.Object) []string {
			close(entered)
			<-leave
			panic("nothing is published")
		})
		if err == nil {
			t.Error("AddIndex: no error")
		}
	})
	<-entered
	w.x.release(st)
	close(leave)
	writer.Wait()
	w.want(1, "after both")
	runtime.KeepAlive(w.x)
}
