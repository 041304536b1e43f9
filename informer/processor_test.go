package informer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
)

// pipe is the way from the FIFO to a handler, without a Reflector. The consumer
// runs when told to.
type pipe struct {
	fifo      *DeltaFIFO
	processor *processor
	store     *mapStore
	handler   *recorder
	informer  *Informer
}

func newPipe(t *testing.T, o *HandlerOptions) *pipe {
	store := newMapStore()
	i := New(nil, store, nil)
	p := &pipe{fifo: i.fifo, processor: i.processor, store: store, handler: &recorder{}, informer: i}
	r, err := i.AddHandler(p.handler, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go r.run(ctx)
	t.Cleanup(cancel)
	return p
}

func (p *pipe) push(t *testing.T, deltas ...Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := p.fifo.Push(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// drain lets the consumer take what is in the queue, and the handler hear of it.
func (p *pipe) drain(t *testing.T) {
	t.Helper()
	batch, err := p.fifo.Pop(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.processor.process(batch); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (p *pipe) wantStore(t *testing.T, want string) {
	t.Helper()
	if got := p.store.String(); got != want {
		t.Errorf("the store has %s, want %s", got, want)
	}
}

func replaced(rv string, objects ...client.Object) Delta {
	return Delta{Type: Replaced, ResourceVersion: rv, Objects: objects}
}

func put(o client.Object) Delta {
	return Delta{Type: Updated, Object: o, ResourceVersion: o.GetResourceVersion()}
}

func gone(o client.Object) Delta {
	return Delta{Type: Deleted, Object: o, ResourceVersion: o.GetResourceVersion()}
}

// What a handler hears, and the store has, after deltas that come while the
// consumer is blocked.
func TestDeltasThatWaitForTheConsumer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []Delta
		deltas []Delta
		heard  []string
		store  string
	}{
		{
			name:   "a replace behind a delete of the same name", // Case 13
			before: []Delta{replaced("10", obj("x", "5", "1"))},
			deltas: []Delta{gone(obj("x", "11", "1")), replaced("20", obj("x", "15", "2"))},
			heard:  []string{"delete x/11", "add x/15"},
			store:  "[x/15] @20",
		}, {
			name:   "a change and a newcomer found by a replace", // Case 14
			before: []Delta{replaced("10", obj("x", "5"), obj("z", "6"))},
			deltas: []Delta{replaced("20", obj("x", "9"), obj("y", "15"), obj("z", "6"))},
			heard:  []string{"update x/5->9", "add y/15"},
			store:  "[x/9 y/15 z/6] @20",
		}, {
			name:   "the same name, another UID, found by a replace", // Case 16
			before: []Delta{replaced("10", obj("x", "5", "1"))},
			deltas: []Delta{replaced("20", obj("x", "15", "2"))},
			heard:  []string{"missed delete x/5", "add x/15"},
			store:  "[x/15] @20",
		}, {
			name:   "the same name, another UID, in an event", // Case 16
			before: []Delta{replaced("10", obj("x", "5", "1"))},
			deltas: []Delta{put(obj("x", "15", "2"))},
			heard:  []string{"missed delete x/5", "add x/15"},
			store:  "[x/15] @15",
		}, {
			name:   "a delete of a later object of the same name",
			before: []Delta{replaced("10", obj("x", "5", "1"))},
			deltas: []Delta{gone(obj("x", "15", "2"))},
			heard:  []string{"missed delete x/5"},
			store:  "[] @15",
		}, {
			name:   "an update before a resync", // Case 17 (a)
			before: []Delta{replaced("10", obj("x", "5"))},
			deltas: []Delta{put(obj("x", "16")), {Type: Resync}},
			heard:  []string{"update x/5->16"},
			store:  "[x/16] @16",
		}, {
			name:   "a delete before a resync", // Case 17 (b)
			before: []Delta{replaced("10", obj("x", "5"))},
			deltas: []Delta{gone(obj("x", "16")), {Type: Resync}},
			heard:  []string{"delete x/16"},
			store:  "[] @16",
		}, {
			name:   "a delete behind the first list", // Case 17 (c)
			deltas: []Delta{replaced("10", obj("x", "5")), gone(obj("x", "11"))},
			heard:  []string{"initial x/5", "delete x/11"},
			store:  "[] @11",
		}, {
			name:   "a delete that was missed", // Case 18
			before: []Delta{replaced("10", obj("x", "5"), obj("y", "6"))},
			deltas: []Delta{replaced("20", obj("y", "6"))},
			heard:  []string{"missed delete x/5"},
			store:  "[y/6] @20",
		}, {
			name:   "many changes of one name",
			before: []Delta{replaced("10")},
			deltas: []Delta{put(obj("x", "11", "1")), put(obj("x", "12", "1")), gone(obj("x", "13", "1")), put(obj("x", "14", "2"))},
			heard:  []string{"add x/11", "update x/11->12", "delete x/13", "add x/14"},
			store:  "[x/14] @14",
		}, {
			name:   "comes and goes within a batch",
			before: []Delta{replaced("10")},
			deltas: []Delta{put(obj("x", "11")), gone(obj("x", "12"))},
			heard:  []string{"add x/11", "delete x/12"},
			store:  "[] @12",
		}, {
			name:   "a replace between changes",
			before: []Delta{replaced("10")},
			deltas: []Delta{put(obj("x", "11")), replaced("12", obj("y", "12")), put(obj("y", "13"))},
			heard:  []string{"add x/11", "missed delete x/11", "add y/12", "update y/12->13"},
			store:  "[y/13] @13",
		}, {
			name:   "an older state than is known",
			before: []Delta{replaced("10", obj("x", "9"))},
			deltas: []Delta{put(obj("x", "8")), gone(obj("x", "7")), {Type: Bookmark, ResourceVersion: "11"}},
			store:  "[x/9] @11",
		}, {
			name:   "a delete of what is not known",
			before: []Delta{replaced("10")},
			deltas: []Delta{gone(obj("x", "11"))},
			store:  "[] @11",
		}, {
			name:   "a replace with a name twice",
			before: []Delta{replaced("10")},
			deltas: []Delta{replaced("20", obj("x", "11"), obj("x", "12"))},
			heard:  []string{"add x/12"},
			store:  "[x/12] @20",
		}, {
			name:   "an unchanged replace",
			before: []Delta{replaced("10", obj("x", "9"))},
			deltas: []Delta{replaced("20", obj("x", "9"))},
			store:  "[x/9] @20",
		}, {
			name:   "what could not be read stays as it was",
			before: []Delta{replaced("10", obj("x", "5"), obj("y", "6"))},
			deltas: []Delta{{Type: Replaced, ResourceVersion: "20", UnreadKeys: []client.ObjectKey{keyOf(obj("x", "")), keyOf(obj("z", ""))}}, put(obj("x", "21"))},
			heard:  []string{"missed delete y/6", "update x/5->21"},
			store:  "[x/21] @21",
		}, {
			name:   "what was listed twice, once readable",
			before: []Delta{replaced("10", obj("x", "5"))},
			deltas: []Delta{{Type: Replaced, ResourceVersion: "20", Objects: []client.Object{obj("x", "7")}, UnreadKeys: []client.ObjectKey{keyOf(obj("x", ""))}}},
			heard:  []string{"update x/5->7"},
			store:  "[x/7] @20",
		}, {
			name:   "a delete that could not be read",
			before: []Delta{replaced("10", obj("x", "5"), obj("y", "6"))},
			deltas: []Delta{{Type: Deleted, Unread: true, Object: obj("x", "11"), ResourceVersion: "11"}, {Type: Deleted, Unread: true, Object: obj("z", "12"), ResourceVersion: "12"}},
			heard:  []string{"missed delete x/5"},
			store:  "[y/6] @12",
		}, {
			name:   "a server restored from a backup, which has come to the same version again",
			before: []Delta{replaced("20", obj("x", "12"), obj("y", "20"))},
			deltas: []Delta{replaced("12", obj("x", "12"))},
			heard:  []string{"missed delete y/20", "update x/12->12"},
			store:  "[x/12] @12",
		}, {
			name:   "a state that could not be read after a restore, where the stored one never was",
			before: []Delta{replaced("20", obj("x", "15"))},
			deltas: []Delta{{Type: Replaced, ResourceVersion: "12", UnreadKeys: []client.ObjectKey{keyOf(obj("x", ""))}}, put(obj("x", "13"))},
			heard:  []string{"missed delete x/15", "add x/13"},
			store:  "[x/13] @13",
		}, {
			name:   "objects without a version", // a transform may strip it
			before: []Delta{replaced("10", obj("x", ""))},
			deltas: []Delta{replaced("20", obj("x", ""))},
			heard:  []string{"update x/->"},
			store:  "[x/] @20",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe(t, nil)
				if len(tt.before) > 0 {
					p.push(t, tt.before...)
					p.drain(t)
					p.handler.take()
				}
				p.push(t, tt.deltas...)
				p.drain(t)
				p.handler.want(t, tt.heard...)
				p.wantStore(t, tt.store)
				if !p.informer.HasSynced() {
					t.Error("not synced")
				}
				if got, want := p.informer.Status().Objects, len(p.store.List()); got != want {
					t.Errorf("Status counts %d objects, the store has %d", got, want)
				}
			})
		})
	}
}

// Case 17: a resync tells what is true when its turn comes.
func TestResyncKeepsItsPlaceInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, &HandlerOptions{Resync: true})
		p.push(t, replaced("10", obj("x", "5")))
		p.drain(t)
		p.push(t, put(obj("x", "16")), Delta{Type: Resync}, put(obj("x", "17")), gone(obj("x", "18")), Delta{Type: Resync})
		p.drain(t)
		p.handler.want(t, "initial x/5", "update x/5->16", "update x/16->16", "update x/16->17", "delete x/18")
	})
}

// Contract 8: no batch comes between a new handler's snapshot and its place in
// the log, and none is half done when it comes.
func TestHandlersJoinBetweenBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		locked := 0
		check := func() {
			if locked++; p.processor.mu.TryLock() {
				t.Error("the processor's lock is free")
			}
		}
		p.store.listed = check
		p.store.changed = func(map[client.ObjectKey]client.Object, string) { check() }
		p.push(t, replaced("10"), put(obj("x", "16")))
		p.drain(t)
		if _, err := p.informer.AddHandler(&recorder{}, nil); err != nil {
			t.Fatal(err)
		}
		if locked != 4 { // a list and a replace, an update, a list for the handler
			t.Errorf("checked %d times, want 4", locked)
		}
	})
}

// Contract 5 and 6: one step for the store, then the handlers.
func TestStoreIsUpdatedInOneStepBeforeAnyHandlerHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		steps := 0
		p.store.changed = func(map[client.ObjectKey]client.Object, string) { steps++ }
		p.push(t, replaced("10", obj("a", "5"), obj("b", "6")))
		p.drain(t)
		p.handler.take()
		p.handler.hook = func(what string) {
			if got := p.store.String(); got != "[a/12 c/13] @14" {
				t.Errorf("%s: the store has %s", what, got)
			}
		}
		p.push(t, put(obj("a", "11")), put(obj("a", "12")), put(obj("c", "13")), gone(obj("b", "14")))
		p.drain(t)
		p.handler.want(t, "update a/5->11", "update a/11->12", "add c/13", "delete b/14")
		if steps != 2 {
			t.Errorf("the store changed in %d steps, want one for the list and one for the batch", steps)
		}
	})
}

// An object that a relist shows unchanged stays the one that it was.
func TestUnchangedObjectsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		first := obj("x", "9")
		p.push(t, replaced("10", first), replaced("20", obj("x", "9")))
		p.drain(t)
		if got := p.store.Get(client.ObjectKeyFromObject(first)); got != first {
			t.Error("the store has another copy of the same state")
		}
	})
}

func TestRefusedBatchLeavesEverythingAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		p.push(t, replaced("10", obj("a", "5")))
		p.drain(t)
		p.handler.take()
		p.store.refuse = func([]client.Object) error { return errors.New("no") }
		for _, d := range []Delta{put(obj("b", "11")), replaced("12")} {
			err := p.processor.process([]Delta{d})
			if oe, ok := errors.AsType[*ObjectError](err); !ok || oe.Op != "store" {
				t.Errorf("process returned %v", err)
			}
		}
		synctest.Wait()
		p.handler.want(t)
		if s := p.informer.Status(); s.Objects != 1 || s.ResourceVersion != "10" {
			t.Errorf("status %+v", s)
		}
	})
}

func TestWaitForReturnsWhenTheStoreIsThere(t *testing.T) {
	for name, delta := range map[string]Delta{
		"event":          put(obj("a", "100")),
		"delete":         gone(obj("x", "100")),
		"bookmark":       {Type: Bookmark, ResourceVersion: "100"},
		"list":           replaced("100"),
		"later bookmark": {Type: Bookmark, ResourceVersion: "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe(t, nil)
				p.push(t, replaced("99", obj("x", "5")))
				p.drain(t)
				if err := p.informer.WaitFor(t.Context(), "99"); err != nil {
					t.Errorf("at once: %v", err)
				}
				done := make(chan error, 1)
				go func() { done <- p.informer.WaitFor(t.Context(), "100") }()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("returned %v too early", err)
				default:
				}
				p.push(t, delta)
				p.drain(t)
				if err := <-done; err != nil {
					t.Error(err)
				}
				if n := len(p.processor.progress.waiters); n != 0 {
					t.Errorf("%d waiters left", n)
				}
			})
		})
	}
}

func TestWaitForEndsWithItsContextAndRejectsNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.informer.WaitFor(ctx, "5"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if n := len(p.processor.progress.waiters); n != 0 {
			t.Errorf("%d waiters left", n)
		}
		for _, rv := range []string{"", "0", "x", "-1", "01"} {
			if err := p.informer.WaitFor(t.Context(), rv); err == nil {
				t.Errorf("WaitFor %q returned no error", rv)
			}
		}
	})
}

func TestFIFOPushWaitsWhileItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewDeltaFIFO()
		for n := range maxQueued {
			if err := f.Push(t.Context(), Delta{Type: Bookmark, ResourceVersion: fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Push(ctx, Delta{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Push into a full queue returned %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- f.Push(t.Context(), Delta{ResourceVersion: "last"}) }()
		synctest.Wait()
		batch, _ := f.Pop(t.Context(), nil)
		if len(batch) != maxQueued {
			t.Errorf("popped %d, want %d", len(batch), maxQueued)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if batch, _ = f.Pop(t.Context(), batch); len(batch) != 1 || batch[0].ResourceVersion != "last" {
			t.Errorf("popped %v, want the last", batch)
		}
	})
}

func TestFIFOPopWaitsAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewDeltaFIFO()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Pop(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pop returned %v", err)
		}
	})
}

func TestFIFORefusalIsHealedByAReplacedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewDeltaFIFO()
		no := errors.New("no")
		f.Push(t.Context(), put(obj("a", "1")))
		refused := f.Refused()
		f.Refuse(no)
		f.Refuse(no)
		<-refused
		if err := f.Push(t.Context(), put(obj("b", "2"))); err != no {
			t.Errorf("Push after a refusal returned %v", err)
		}
		if err := f.Push(t.Context(), replaced("3")); err != nil || f.Refusal() != nil || closed(f.Refused()) {
			t.Errorf("a Replaced does not heal: %v", err)
		}
		batch, _ := f.Pop(t.Context(), nil)
		if len(batch) != 1 || batch[0].Type != Replaced {
			t.Errorf("popped %v, want the Replaced alone", batch)
		}
	})
}
