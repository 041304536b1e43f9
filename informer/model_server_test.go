package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

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
	ids     int
	bad     map[string]bool // the states, by id, that cannot be decoded
	refused map[string]bool // those that the transform function has refused, at some time

	// After a restore from a backup, resourceVersions come again, and mean
	// something else.
	past  []modelPast
	reset chan struct{} // closed at each restore
}

// modelPast is a history that a restore has ended.
type modelPast struct {
	history []client.Event
	rv      int
}

func newModelServer(t *testing.T, seed uint64) *modelServer {
	return &modelServer{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), rv: 1, faults: true,
		changed: make(chan struct{}), reset: make(chan struct{}),
		bad: map[string]bool{}, refused: map[string]bool{},
	}
}

// id tells the states of all objects apart, also those of two histories that have
// the same resourceVersion.
func id(o client.Object) string { return o.(*corev1.ConfigMap).Data["id"] }

// record adds an event to the history.
func (s *modelServer) recordLocked(e client.Event) {
	s.ids++
	e.Object.(*corev1.ConfigMap).Data = map[string]string{"id": strconv.Itoa(s.ids)}
	if e.Type != watch.Deleted {
		s.bad[id(e.Object)] = s.chanceLocked(20)
	}
	s.history = append(s.history, e)
}

// restore takes the server back to a backup: what came after it has never been.
func (s *modelServer) restore() (rv int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(s.past, modelPast{slices.Clone(s.history), s.rv})
	s.rv = max(1, s.rv-1-s.rnd.IntN(10))
	s.floor = min(s.floor, s.rv)
	s.history = slices.DeleteFunc(slices.Clone(s.history), func(e client.Event) bool { return version(e.Object) > s.rv })
	close(s.reset)
	s.reset = make(chan struct{})
	return s.rv
}

func (s *modelServer) restores() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.past)
}

// was returns the states that the server had at rv: one for each history.
func (s *modelServer) was(rv int) (states []map[string]client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range append(slices.Clone(s.past), modelPast{s.history, s.rv}) {
		if rv <= p.rv {
			states = append(states, stateAt(p.history, rv))
		}
	}
	return states
}

// send is what a client gets of an object.
func (s *modelServer) send(e client.Event) (client.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad[id(e.Object)] {
		e.Object = bad(e.Object.GetName(), e.Object.GetResourceVersion(), string(e.Object.GetUID()))
	}
	return received(e)
}

// unread says that a store may lack a state.
func (s *modelServer) unread(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad[id(o)] || s.refused[id(o)]
}

// mend changes all that cannot be decoded.
func (s *modelServer) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range s.atLocked(s.rv) {
		if s.bad[id(o)] {
			s.rv++
			s.recordLocked(modified(name, strconv.Itoa(s.rv), string(o.GetUID())))
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

func (s *modelServer) atLocked(rv int) map[string]client.Object { return stateAt(s.history, rv) }

func stateAt(history []client.Event, rv int) map[string]client.Object {
	state := map[string]client.Object{}
	for _, e := range history {
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
	switch {
	case s.rnd.IntN(5) == 0:
		// another kind's
	case now == nil:
		s.uids++
		s.recordLocked(added(name, strconv.Itoa(s.rv), strconv.Itoa(s.uids)))
	case s.rnd.IntN(3) == 0:
		s.recordLocked(deleted(name, strconv.Itoa(s.rv), string(now.GetUID())))
	default:
		s.recordLocked(modified(name, strconv.Itoa(s.rv), string(now.GetUID())))
	}
	if s.chanceLocked(8) {
		s.floor = s.rv - s.rnd.IntN(5) // compaction
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *modelServer) List(ctx context.Context, opts metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	rv, state, err := s.listState(opts)
	if err != nil || !sleep(ctx, time.Duration(s.intn(100))*time.Millisecond) {
		return metav1.ListMeta{}, errors.Join(err, ctx.Err())
	}
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

// listState chooses the state that a list shows.
func (s *modelServer) listState(opts metav1.ListOptions) (rv int, state map[string]client.Object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv, err = s.listVersionLocked(opts); err == nil && rv > s.rv {
		err = expired() // a page of a list from before a restore
	}
	if err != nil {
		return 0, nil, err
	}
	return rv, s.atLocked(rv), nil
}

func (s *modelServer) listVersionLocked(opts metav1.ListOptions) (int, error) {
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
		s.mu.Lock()
		reset := s.reset
		s.mu.Unlock()
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
			if closed(reset) {
				return
			}
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
			case <-reset:
				err = io.ErrUnexpectedEOF
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
	at, state, err := s.listState(opts)
	if err != nil {
		return 0, err
	}
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
		return &url.Error{Op: "Get", URL: "http://model", Err: syscall.ECONNREFUSED}
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
