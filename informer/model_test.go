package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// The model: a server with a random history and random faults, an Informer, a
// store and handlers. Whatever happens on the way, each state of the store is
// one that the server had, each handler hears a legal story, and in the end all
// of them agree.
func TestModel(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		if t.Failed() {
			return
		}
		synctest.Test(t, func(t *testing.T) { runModel(t, uint64(seed)) })
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
	})
}

// modelServer is a ListWatcher over the whole history of one kind.
type modelServer struct {
	t    *testing.T
	seed uint64

	mu      sync.Mutex
	rnd     *rand.Rand
	rv      int
	history []client.Event // in order of resourceVersion
	floor   int            // a watch from before it is answered 410
	faults  bool
	changed chan struct{} // closed at each change
	uids    int
	bad     map[int]bool // the versions that cannot be decoded
	refused map[int]bool // those that the transform function has refused, at some time
}

// send is what a client gets of an object.
func (s *modelServer) send(e client.Event) (client.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad[version(e.Object)] {
		e.Object = bad(e.Object.GetName(), e.Object.GetResourceVersion(), string(e.Object.GetUID()))
	}
	return received(e)
}

// unread says that a store may lack a version.
func (s *modelServer) unread(rv int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad[rv] || s.refused[rv]
}

// mend changes all that cannot be decoded.
func (s *modelServer) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range s.atLocked(s.rv) {
		if s.bad[version(o)] {
			s.rv++
			s.history = append(s.history, modified(name, strconv.Itoa(s.rv), string(o.GetUID())))
		}
	}
}

// chance says yes one time in n, while there are faults.
func (s *modelServer) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chanceLocked(n)
}

func (s *modelServer) chanceLocked(n int) bool { return s.faults && s.rnd.IntN(n) == 0 }

// intn is for choices that are no faults.
func (s *modelServer) intn(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

// at is the state at a resourceVersion.
func (s *modelServer) at(rv int) map[string]client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.atLocked(rv)
}

func (s *modelServer) atLocked(rv int) map[string]client.Object {
	state := map[string]client.Object{}
	for _, e := range s.history {
		if version(e.Object) > rv {
			break
		}
		if state[e.Object.GetName()] = e.Object; e.Type == watch.Deleted {
			delete(state, e.Object.GetName())
		}
	}
	return state
}

// change makes one change: something comes, goes, becomes something else, or
// happens to another kind.
func (s *modelServer) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := string(rune('a' + s.rnd.IntN(6)))
	now := s.atLocked(s.rv)[name]
	s.rv++
	s.bad[s.rv] = s.chanceLocked(20)
	switch {
	case s.rnd.IntN(5) == 0:
		// another kind's
	case now == nil:
		s.uids++
		s.history = append(s.history, added(name, strconv.Itoa(s.rv), strconv.Itoa(s.uids)))
	case s.rnd.IntN(3) == 0:
		s.history = append(s.history, deleted(name, strconv.Itoa(s.rv), string(now.GetUID())))
	default:
		s.history = append(s.history, modified(name, strconv.Itoa(s.rv), string(now.GetUID())))
	}
	if s.chanceLocked(8) {
		s.floor = s.rv - s.rnd.IntN(5) // compaction
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *modelServer) List(ctx context.Context, opts metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	rv, err := s.listVersion(opts)
	if err != nil || !sleep(ctx, time.Duration(s.intn(100))*time.Millisecond) {
		return metav1.ListMeta{}, errors.Join(err, ctx.Err())
	}
	state := s.at(rv)
	names := slices.Sorted(maps.Keys(state))
	first, last := 0, len(names)
	if opts.Continue != "" {
		fmt.Sscanf(opts.Continue, "%d/%d", &rv, &first)
	}
	if opts.Limit > 0 {
		last = min(first+2, last) // a small page
	}
	for _, name := range names[first:last] {
		switch {
		case s.chance(60):
			yield(nil, &client.DecodeError{Err: errors.New("bad")})
			return metav1.ListMeta{}, nil
		case s.chance(60):
			return metav1.ListMeta{}, io.ErrUnexpectedEOF
		}
		if e, err := s.send(client.Event{Object: state[name]}); !yield(e.Object, err) {
			return metav1.ListMeta{}, nil
		}
	}
	out := metav1.ListMeta{ResourceVersion: strconv.Itoa(rv)}
	if last < len(names) {
		out.Continue = fmt.Sprintf("%d/%d", rv, last)
	}
	return out, nil
}

// listVersion chooses the state that a list shows.
func (s *modelServer) listVersion(opts metav1.ListOptions) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, _ := strconv.Atoi(opts.ResourceVersion)
	if opts.Limit > 0 && asked > 0 {
		s.t.Errorf("seed %d: a paged list at resourceVersion %d", s.seed, asked)
	}
	switch {
	case s.chanceLocked(8):
		return 0, apierrors.NewInternalError(errors.New("no"))
	case s.chanceLocked(10):
		return 0, tooManyRequests(s.rnd.IntN(5))
	case asked > 0 && s.chanceLocked(10):
		return 0, expired()
	case asked > 0 && s.chanceLocked(10), asked > s.rv:
		return 0, timeoutError("Too large resource version")
	case opts.Continue != "" && s.chanceLocked(10):
		return 0, expired()
	case opts.Continue != "":
		rv, _, _ := strings.Cut(opts.Continue, "/")
		return strconv.Atoi(rv)
	case opts.ResourceVersion == "":
		return s.rv, nil
	}
	asked = max(asked, s.floor, 1)               // what is forgotten is not listed
	return asked + s.rnd.IntN(s.rv-asked+1), nil // anything not older
}

func (s *modelServer) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		at, err := 0, error(nil)
		if opts.SendInitialEvents != nil {
			if at, err = s.initialEvents(opts, yield); err == errLeft {
				return
			}
		} else if at, err = strconv.Atoi(opts.ResourceVersion); err != nil {
			s.t.Errorf("seed %d: a watch from %q", s.seed, opts.ResourceVersion)
		}
		if err == nil {
			err = s.openWatch(at)
		}
		for err == nil {
			events, changed, end := s.nextEvents(&at)
			for _, e := range events {
				if !yield(s.send(e)) {
					return
				}
			}
			if err = end; err != nil {
				break
			}
			if s.chance(20) {
				changed = nil // a stall: nothing comes any more, until the client gives up
			}
			select {
			case <-changed:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != io.EOF {
			yield(client.Event{}, err)
		}
	}
}

// errLeft says that the client has left.
var errLeft = errors.New("left")

// initialEvents answers a streaming list, or does not: one server in three does
// not know what that is.
func (s *modelServer) initialEvents(opts metav1.ListOptions, yield func(client.Event, error) bool) (at int, err error) {
	if s.seed%3 == 0 {
		return 0, noStreaming()
	}
	if at, err = s.listVersion(opts); err != nil {
		return 0, err
	}
	state := s.at(at)
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if s.chance(40) {
			return 0, io.EOF
		}
		if !yield(s.send(client.Event{Type: watch.Added, Object: state[name]})) {
			return 0, errLeft
		}
	}
	if !yield(initialEnd(strconv.Itoa(at)), nil) {
		return 0, errLeft
	}
	return at, nil
}

func (s *modelServer) openWatch(at int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case at < s.floor && s.rnd.IntN(2) == 0:
		return expired()
	case at < s.floor:
		return goneByStatus()
	case at > s.rv || s.chanceLocked(40):
		return timeoutError("Too large resource version")
	case s.chanceLocked(10):
		return tooManyRequests(s.rnd.IntN(5))
	case s.chanceLocked(10):
		return errors.New("connection refused")
	}
	return nil
}

// nextEvents returns what a stream says next, and how it ends; nil: not yet.
func (s *modelServer) nextEvents(at *int) (events []client.Event, changed chan struct{}, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, e := range s.history {
		if version(e.Object) <= *at {
			continue
		}
		if s.chanceLocked(12) {
			events = append(events, s.history[max(0, n-3):n]...) // again
		}
		*at = version(e.Object)
		if s.chanceLocked(40) {
			return events, s.changed, &client.DecodeError{Err: errors.New("bad")}
		}
		events = append(events, e)
		if s.chanceLocked(15) {
			ends := []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewInternalError(io.EOF), expired(), errors.New("reset")}
			return events, s.changed, ends[s.rnd.IntN(len(ends))]
		}
	}
	if *at < s.rv && s.rnd.IntN(3) == 0 || !s.faults {
		*at = s.rv
		events = append(events, bookmark(strconv.Itoa(s.rv)))
	}
	return events, s.changed, nil
}

func version(o client.Object) int {
	rv, err := strconv.Atoi(o.GetResourceVersion())
	if err != nil {
		panic(err)
	}
	return rv
}

// view is a Handler that checks the story it hears.
type view struct {
	t     *testing.T
	name  string
	store *mapStore
	delay time.Duration
	asks  bool // for resyncs

	mu      sync.Mutex
	state   map[string]client.Object
	removed bool
	synced  func() bool
}

func (v *view) check(ok bool, format string, args ...any) {
	if !ok {
		v.t.Errorf("%s: %s", v.name, fmt.Sprintf(format, args...))
	}
}

// hear is called with the lock held, for each event.
func (v *view) hear(o client.Object, initial bool) {
	v.check(!v.removed, "called after Remove")
	v.check(!initial || !v.synced(), "%s is initial after the handler has synced", o.GetName())
	v.check(o.GetLabels()["transformed"] == "x", "%s was transformed as %q (contract 4)", o.GetName(), o.GetLabels())
	v.store.mu.Lock()
	at, _ := strconv.Atoi(v.store.rv)
	v.store.mu.Unlock()
	v.check(at >= version(o), "heard of %s/%d when the store was at %d (contract 6)", o.GetName(), version(o), at)
}

func (v *view) OnAdd(o client.Object, initial bool) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hear(o, initial)
	v.check(v.state[o.GetName()] == nil, "add of %s, which is there (contract 7)", o.GetName())
	v.state[o.GetName()] = o
}

func (v *view) OnUpdate(old, new client.Object) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hear(new, false)
	if old == new {
		v.check(v.asks, "a resync that was not asked for (contract 7)")
		v.check(v.state[new.GetName()] == new, "a resync of %s/%d, which is not the last state (contract 7)", new.GetName(), version(new))
		return
	}
	known := v.state[new.GetName()]
	v.check(known == old, "update of %s from what was not told (contract 7)", new.GetName())
	v.check(old.GetUID() == new.GetUID() && version(old) < version(new), "update of %s from %s/%d to %s/%d (contract 7)",
		new.GetName(), old.GetUID(), version(old), new.GetUID(), version(new))
	v.state[new.GetName()] = new
}

func (v *view) OnDelete(o client.Object, unknown bool) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hear(o, false)
	known := v.state[o.GetName()]
	v.check(known != nil && known.GetUID() == o.GetUID(), "delete of %s, which is not there (contract 7)", o.GetName())
	v.check(known == nil || unknown == (known == o), "delete of %s with unknown %v", o.GetName(), unknown)
	delete(v.state, o.GetName())
}

// model is one run.
type model struct {
	*testing.T
	server   *modelServer
	store    *mapStore
	informer *Informer
	views    map[*view]*Registration
	joined   int
	stop     func()
	waits    sync.WaitGroup
}

func newModel(t *testing.T, seed uint64) *model {
	server := &modelServer{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), rv: 1, faults: true, changed: make(chan struct{}), bad: map[int]bool{}, refused: map[int]bool{}}
	m := &model{T: t, server: server, store: newMapStore(), views: map[*view]*Registration{}}
	m.store.refuse = func([]client.Object) error {
		if server.chance(20) {
			return errors.New("no")
		}
		return nil
	}
	m.store.changed = func(objects map[client.ObjectKey]client.Object, rv string) {
		at, _ := strconv.Atoi(rv)
		got := byName(objects)
		want := server.at(at)
		for name, w := range want {
			if server.unread(version(w)) { // the store may have an older one, or none
				if delete(want, name); got[name] == nil || version(got[name]) <= version(w) {
					delete(got, name)
				}
			}
		}
		compare(t, fmt.Sprintf("seed %d: the store at %d (contract 5)", seed, at), want, got)
	}
	m.informer = New(server, m.store, &Options{
		Name:              fmt.Sprint("seed ", seed),
		ResyncPeriod:      10 * time.Second,
		WatchErrorHandler: func(context.Context, error) {},
		Transform: func(o client.Object) (client.Object, error) {
			if server.chance(60) {
				server.mu.Lock()
				defer server.mu.Unlock()
				server.refused[version(o)] = true
				return nil, errors.New("no")
			}
			o.SetLabels(map[string]string{"transformed": o.GetLabels()["transformed"] + "x"})
			return o, nil
		},
	})
	return m
}

func (m *model) join() {
	m.joined++
	v := &view{t: m.T, name: fmt.Sprintf("seed %d, handler %d", m.server.seed, m.joined), store: m.store, state: map[string]client.Object{}}
	v.asks = m.server.intn(2) == 0
	if m.server.intn(3) == 0 {
		v.delay = time.Duration(m.server.intn(900)) * time.Millisecond
	}
	v.mu.Lock()
	defer v.mu.Unlock() // until synced is set
	r, err := m.informer.AddHandler(v, &HandlerOptions{Resync: v.asks})
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
	m.waits.Go(func() {
		if err := m.informer.WaitFor(m.Context(), strconv.Itoa(rv)); err != nil {
			m.Errorf("seed %d: %v", m.server.seed, err)
			return
		}
		m.store.mu.Lock()
		defer m.store.mu.Unlock()
		if at, _ := strconv.Atoi(m.store.rv); at < rv {
			m.Errorf("seed %d: WaitFor(%d) returned when the store was at %d", m.server.seed, rv, at)
		}
	})
}

func runModel(t *testing.T, seed uint64) {
	m := newModel(t, seed)
	m.join()
	m.stop = run(t, m.informer)
	for range 100 {
		switch m.server.intn(20) {
		case 0:
			m.join()
		case 1:
			m.leave()
		case 2:
			m.await()
		case 3:
			if m.server.chance(3) {
				m.stop()
				m.stop = run(t, m.informer)
			}
		default:
			m.server.change()
		}
		time.Sleep(time.Duration(m.server.intn(2)*m.server.intn(3000)) * time.Millisecond)
	}
	m.join()
	m.server.mu.Lock()
	m.server.faults = false
	m.server.mu.Unlock()
	m.server.mend()
	m.server.change()                                                 // a bookmark follows, if nothing else
	time.Sleep(2*minWatch + watchGrace + 2*lastRetry + 2*time.Minute) // a stall, then a back-off or two
	synctest.Wait()
	m.waits.Wait()

	want := m.server.at(m.server.rv)
	m.store.mu.Lock()
	compare(t, fmt.Sprintf("seed %d: the store", seed), want, byName(m.store.objects))
	m.store.mu.Unlock()
	for v, r := range m.views {
		if !r.HasSynced() {
			t.Errorf("%s has not synced", v.name)
		}
		compare(t, v.name, want, v.state)
	}
	if s := m.informer.Status(); s.Objects != len(want) || s.ResourceVersion != strconv.Itoa(m.server.rv) || s.UnreadObjects != 0 {
		t.Errorf("seed %d: status %+v, want %d objects at %d", seed, s, len(want), m.server.rv)
	}
	m.stop()
}

func byName(objects map[client.ObjectKey]client.Object) map[string]client.Object {
	out := map[string]client.Object{}
	for key, o := range objects {
		out[key.Name] = o
	}
	return out
}

func compare(t *testing.T, who string, want, got map[string]client.Object) {
	t.Helper()
	text := func(m map[string]client.Object) (out []string) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			out = append(out, fmt.Sprintf("%s/%d", name, version(m[name])))
		}
		return out
	}
	if g, w := text(got), text(want); !slices.Equal(g, w) {
		t.Errorf("%s has %v, the server has %v", who, g, w)
	}
}
