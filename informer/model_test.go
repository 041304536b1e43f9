package informer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// modelSeeds is how many histories TestModel tries.
var modelSeeds = flag.Int("model.seeds", 500, "how many histories TestModel tries")

// The model: a server with a random history and random faults, an Informer, a
// store and handlers. Whatever happens on the way, each state of the store is
// one that the server had, each handler hears a legal story, and in the end all
// of them agree.
func TestModel(t *testing.T) {
	RunModels(t, 0, func() Store { return newMapStore() })
}

// RunModels tries every second history, from the first on, on a kind of store.
func RunModels(t *testing.T, first int, newStore func() Store) {
	for lane := range 2 {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			for seed := first + 2*lane; seed < *modelSeeds && !t.Failed(); seed += 4 {
				synctest.Test(t, func(t *testing.T) { runModel(t, uint64(seed), newStore()) })
			}
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { runModel(t, seed, newMapStore()) })
	})
}

// model is one run.
type model struct {
	*testing.T
	server   *modelServer
	store    *modelStore
	informer *Informer
	views    map[*view]*Registration
	joined   int
	stop     func()
	waits    sync.WaitGroup
	awaited  int // the latest version that somebody waits for
}

// modelStore is any Store, which refuses writes at times, and whose every state
// must be one that the server had.
type modelStore struct {
	Store
	t      *testing.T
	server *modelServer

	mu sync.Mutex
	rv int
}

func (s *modelStore) at() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv
}

func (s *modelStore) Update(put []client.Object, remove []client.ObjectKey, rv string) error {
	return s.write(rv, func() error { return s.Store.Update(put, remove, rv) })
}

func (s *modelStore) Replace(objects []client.Object, rv string) error {
	return s.write(rv, func() error { return s.Store.Replace(objects, rv) })
}

func (s *modelStore) write(rv string, write func() error) error {
	if s.server.chance(20) {
		return errors.New("no")
	}
	if err := write(); err != nil {
		return err
	}
	at, _ := strconv.Atoi(rv)
	s.mu.Lock()
	s.rv = at
	s.mu.Unlock()
	got := s.content()
	for _, want := range s.server.was(at) {
		if s.agrees(want, got) {
			return nil
		}
	}
	s.t.Errorf("seed %d: at %d the store has %v, the server had %v (contract 5)", s.server.seed, at, text(got), text(s.server.at(at)))
	return nil
}

// agrees compares what could be read.
func (s *modelStore) agrees(want, got map[string]client.Object) bool {
	got = maps.Clone(got)
	for name, w := range want {
		if s.server.unread(w) { // the store may have an older one, or none
			if delete(want, name); got[name] == nil || version(got[name]) <= version(w) || s.server.restores() > 0 {
				delete(got, name)
			}
		}
	}
	return slices.Equal(text(want), text(got))
}

func (s *modelStore) content() map[string]client.Object {
	out := map[string]client.Object{}
	for _, o := range s.List() {
		out[o.GetName()] = o
	}
	return out
}

func newModel(t *testing.T, seed uint64, store Store) *model {
	server := newModelServer(t, seed)
	m := &model{T: t, server: server, store: &modelStore{Store: store, t: t, server: server}, views: map[*view]*Registration{}}
	m.informer = New(server, m.store, &Options{
		Name:              fmt.Sprint("seed ", seed),
		ResyncPeriod:      10 * time.Second,
		WatchErrorHandler: func(context.Context, error) {},
		Transform: func(o client.Object) (client.Object, error) {
			if server.chance(60) {
				server.mu.Lock()
				defer server.mu.Unlock()
				server.refused[id(o)] = true
				return nil, errors.New("no")
			}
			o.SetLabels(map[string]string{"transformed": o.GetLabels()["transformed"] + "x"})
			return o, nil
		},
	})
	m.informer.processor.log.slack = 2 // or no model would be behind far enough
	return m
}

func (m *model) join() {
	m.joined++
	v := &view{t: m.T, name: fmt.Sprintf("seed %d, handler %d", m.server.seed, m.joined), store: m.store, state: map[string]client.Object{}, back: map[string]int{}}
	v.asks, v.coalesces, v.tears = m.server.intn(2) == 0, m.server.intn(2) == 0, m.server.intn(4) == 0
	if m.server.intn(3) == 0 {
		v.delay = time.Duration(m.server.intn(900)) * time.Millisecond
	}
	v.mu.Lock()
	defer v.mu.Unlock() // until synced is set
	r, err := m.informer.AddHandler(v, &HandlerOptions{Resync: v.asks, Coalesce: v.coalesces})
	if err != nil {
		m.Fatal(err)
	}
	v.synced = r.HasSynced
	m.views[v] = r
}

func (m *model) leave() {
	for v, r := range m.views {
		r.Remove()
		v.mu.Lock()
		v.removed = true
		v.mu.Unlock()
		delete(m.views, v)
		return
	}
}

// await checks that WaitFor tells the truth, and in the end tells it.
func (m *model) await() {
	m.server.mu.Lock()
	rv := m.server.rv
	m.server.mu.Unlock()
	m.awaited = max(m.awaited, rv)
	m.waits.Go(func() {
		if err := m.informer.WaitFor(m.Context(), strconv.Itoa(rv)); err != nil {
			m.Errorf("seed %d: %v", m.server.seed, err)
			return
		}
		if at := m.store.at(); at < rv && m.server.restores() == 0 {
			m.Errorf("seed %d: WaitFor(%d) returned when the store was at %d", m.server.seed, rv, at)
		}
	})
}

// start runs the Informer, and lets nobody read of the panics.
func (m *model) start() {
	m.stop = runWith(klog.NewContext(m.Context(), logr.Discard()), m.T, m.informer)
}

// restore takes the server back in time, and lets the client notice: if the
// server had come to the client's version again before, no client could.
func (m *model) restore() {
	rv := m.server.restore()
	for range 100 {
		time.Sleep(10 * time.Second)
		if at := m.store.at(); at <= rv {
			return
		}
	}
	m.Errorf("seed %d: after a restore to %d the store is still at %d: %+v", m.server.seed, rv, m.store.at(), m.informer.Status())
}

// step does one thing.
func (m *model) step() {
	switch m.server.intn(22) {
	case 0:
		m.join()
	case 1:
		m.leave()
	case 2:
		m.await()
	case 3:
		if m.server.chance(3) {
			m.stop()
			for range m.server.intn(3) {
				m.server.change()
			}
			m.start()
		}
	case 4:
		if m.server.chance(10) { // a quiet spell, longer than any stream
			time.Sleep(20 * time.Minute)
		}
	case 5:
		if m.server.seed%5 == 0 && m.server.restores() == 0 {
			m.restore()
		}
	default:
		m.server.change()
	}
}

func runModel(t *testing.T, seed uint64, store Store) {
	m := newModel(t, seed, store)
	m.join()
	m.start()
	for range 100 {
		m.step()
		time.Sleep(time.Duration(m.server.intn(2)*m.server.intn(3000)) * time.Millisecond)
	}
	m.join()
	m.server.mu.Lock()
	m.server.faults = false
	m.server.mu.Unlock()
	m.server.mend()
	m.server.change() // a bookmark follows, if nothing else
	for m.server.rv < m.awaited {
		m.server.change() // after a restore
	}
	time.Sleep(2*minWatch + watchGrace + 2*lastRetry + 2*time.Minute) // a stall, then a back-off or two
	synctest.Wait()
	m.waits.Wait()

	want := m.server.at(m.server.rv)
	compare(t, fmt.Sprintf("seed %d: the store", seed), want, m.store.content())
	for v, r := range m.views {
		if !r.HasSynced() {
			t.Errorf("%s has not synced", v.name)
		}
		compare(t, v.name, want, v.state)
	}
	if s := m.informer.Status(); s.Objects != len(want) || s.ResourceVersion != strconv.Itoa(m.server.rv) || s.UnreadObjects != 0 {
		t.Errorf("seed %d: status %+v, want %d objects at %d", seed, s, len(want), m.server.rv)
	}
	if err := m.informer.processor.log.valid(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	m.stop()
}

// text is what a state has, in order.
func text(state map[string]client.Object) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(state)) {
		out = append(out, fmt.Sprintf("%s/%d#%s", name, version(state[name]), id(state[name])))
	}
	return out
}

func compare(t *testing.T, who string, want, got map[string]client.Object) {
	t.Helper()
	if g, w := text(got), text(want); !slices.Equal(g, w) {
		t.Errorf("%s has %v, the server has %v", who, g, w)
	}
}
