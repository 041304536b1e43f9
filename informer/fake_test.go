package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// obj makes an object. Its UID is its name's, unless one is given.
func obj(name, rv string, uid ...string) client.Object {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: rv}}
	o.UID = types.UID("uid-" + name)
	if len(uid) > 0 {
		o.UID = types.UID(uid[0])
	}
	return o
}

func added(name, rv string, uid ...string) client.Event {
	return client.Event{Type: watch.Added, Object: obj(name, rv, uid...)}
}

func modified(name, rv string, uid ...string) client.Event {
	return client.Event{Type: watch.Modified, Object: obj(name, rv, uid...)}
}

func deleted(name, rv string, uid ...string) client.Event {
	return client.Event{Type: watch.Deleted, Object: obj(name, rv, uid...)}
}

func bookmark(rv string) client.Event {
	return client.Event{Type: watch.Bookmark, Object: obj("", rv)}
}

// initialEnd is the bookmark after the initial events.
func initialEnd(rv string) client.Event {
	e := bookmark(rv)
	e.Object.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return e
}

// undecodable stands, in a script, for an object that cannot be decoded.
type undecodable struct {
	client.Object
	err error
}

func bad(name, rv string, uid ...string) undecodable {
	o := obj(name, rv, uid...)
	return undecodable{o, fmt.Errorf("watch: %w", &client.DecodeError{
		Kind: schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"},
		Key:  client.ObjectKeyFromObject(o), UID: o.GetUID(), ResourceVersion: rv, Err: errors.New(`replicas: "two"`),
	})}
}

// mapStore is a Store of one map. It is what a Store must be, and no more.
type mapStore struct {
	mu      sync.Mutex
	objects map[client.ObjectKey]client.Object
	rv      string
	refuse  func(puts []client.Object) error // nil: takes everything
	changed func(objects map[client.ObjectKey]client.Object, rv string)
	listed  func()
}

func newMapStore() *mapStore {
	return &mapStore{objects: map[client.ObjectKey]client.Object{}}
}

func (s *mapStore) Get(key client.ObjectKey) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

func (s *mapStore) List() []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed != nil {
		s.listed()
	}
	return slices.Collect(maps.Values(s.objects))
}

func (s *mapStore) Update(put []client.Object, remove []client.ObjectKey, rv string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(put); err != nil {
			return err
		}
	}
	for _, o := range put {
		s.objects[client.ObjectKeyFromObject(o)] = o
	}
	for _, key := range remove {
		if s.objects[key] == nil {
			panic("remove of a key that is not there")
		}
		delete(s.objects, key)
	}
	s.did(rv)
	return nil
}

func (s *mapStore) Replace(objects []client.Object, rv string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(objects); err != nil {
			return err
		}
	}
	clear(s.objects)
	for _, o := range objects {
		s.objects[client.ObjectKeyFromObject(o)] = o
	}
	if len(s.objects) != len(objects) {
		panic("a key twice in a replace")
	}
	s.did(rv)
	return nil
}

func (s *mapStore) did(rv string) {
	s.rv = rv
	if s.changed != nil {
		s.changed(s.objects, rv)
	}
}

// String is the content, as "a/5 b/7 @9".
func (s *mapStore) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for key, o := range s.objects {
		out = append(out, key.Name+"/"+o.GetResourceVersion())
	}
	slices.Sort(out)
	return fmt.Sprint(out, " @", s.rv)
}

// recorder is a Handler that writes down what it hears.
type recorder struct {
	mu    sync.Mutex
	heard []string
	hook  func(what string) // called before it is written down
}

func (r *recorder) note(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if r.hook != nil {
		r.hook(what)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, what)
}

func (r *recorder) OnAdd(o client.Object, initial bool) {
	if initial {
		r.note("initial %s/%s", o.GetName(), o.GetResourceVersion())
		return
	}
	r.note("add %s/%s", o.GetName(), o.GetResourceVersion())
}

func (r *recorder) OnUpdate(old, new client.Object) {
	r.note("update %s/%s->%s", new.GetName(), old.GetResourceVersion(), new.GetResourceVersion())
}

func (r *recorder) OnDelete(o client.Object, unknown bool) {
	if unknown {
		r.note("missed delete %s/%s", o.GetName(), o.GetResourceVersion())
		return
	}
	r.note("delete %s/%s", o.GetName(), o.GetResourceVersion())
}

// take returns what was heard since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := r.heard
	r.heard = nil
	return heard
}

// wantHeard compares in order.
func (r *recorder) want(t *testing.T, want ...string) {
	t.Helper()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("the handler heard %q, want %q", got, want)
	}
}

// request is one that a scripted server got.
type request struct {
	verb string
	at   time.Duration // since the script's start
	opts metav1.ListOptions
}

func (r request) String() string {
	return r.verb + " " + fmt.Sprintf("%q", r.opts.ResourceVersion)
}

// listing is a scripted answer to a list.
type listing struct {
	rv, next string
	objects  []client.Object
	err      error
	after    time.Duration // how long it takes, after the objects
}

// stream is a scripted answer to a watch: events, then its end.
type stream struct {
	events []client.Event
	each   time.Duration      // how long each event takes
	after  time.Duration      // how long it stays open after the events
	hold   bool               // it stays open until the client goes away
	more   chan client.Event  // further events, while it is held
	err    error              // how it ends
	answer func(string) error // if set: how it ends, by resourceVersion
}

// script is a ListWatcher that answers as it was told to, in turn. The last
// answer of each kind is repeated.
type script struct {
	lists   []listing
	streams []stream // answers to streaming lists
	watches []stream

	mu       sync.Mutex
	start    time.Time
	requests []request
	listed   int
	watched  int
	streamed int
}

func (s *script) request(verb string, opts metav1.ListOptions) {
	if s.start.IsZero() {
		s.start = time.Now()
	}
	s.requests = append(s.requests, request{verb, time.Since(s.start), opts})
}

func (s *script) List(ctx context.Context, opts metav1.ListOptions, yield func(client.Object, error) bool) (metav1.ListMeta, error) {
	s.mu.Lock()
	s.request("list", opts)
	a := s.lists[min(s.listed, len(s.lists)-1)]
	s.listed++
	s.mu.Unlock()
	for _, o := range a.objects {
		if e, err := received(client.Event{Object: o}); !yield(e.Object, err) {
			return metav1.ListMeta{}, nil
		}
	}
	if !sleep(ctx, a.after) {
		return metav1.ListMeta{}, nil // its context's end is no error of its own
	}
	return metav1.ListMeta{ResourceVersion: a.rv, Continue: a.next}, a.err
}

// answerLocked chooses what a watch says. A server without streaming lists refuses
// them, which is not written down.
func (s *script) answerLocked(opts metav1.ListOptions) stream {
	if opts.SendInitialEvents == nil {
		s.request("watch", opts)
		s.watched++
		return s.watches[min(s.watched, len(s.watches))-1]
	}
	if len(s.streams) == 0 {
		return stream{err: noStreaming()}
	}
	s.request("stream", opts)
	s.streamed++
	return s.streams[min(s.streamed, len(s.streams))-1]
}

// received is what a client gets.
func received(e client.Event) (client.Event, error) {
	if u, is := e.Object.(undecodable); is {
		return client.Event{Type: e.Type}, u.err
	}
	e.Object = e.Object.DeepCopyObject().(client.Object)
	return e, nil
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		s.mu.Lock()
		a := s.answerLocked(opts)
		s.mu.Unlock()
		for _, e := range a.events {
			if !sleep(ctx, a.each) || !yield(received(e)) {
				return
			}
		}
		for a.hold {
			select {
			case e := <-a.more:
				if !yield(received(e)) {
					return
				}
				continue
			case <-ctx.Done():
			}
			yield(client.Event{}, ctx.Err())
			return
		}
		if !sleep(ctx, a.after) {
			return
		}
		err := a.err
		if a.answer != nil {
			err = a.answer(opts.ResourceVersion)
		}
		if err != nil {
			yield(client.Event{}, err)
		}
	}
}

// got returns the requests since the last call.
func (s *script) got() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.requests
	s.requests = nil
	return got
}

// want compares the requests since the last call, as `list "0"`.
func (s *script) want(t *testing.T, want ...string) []request {
	t.Helper()
	got := s.got()
	var text []string
	for _, r := range got {
		text = append(text, r.String())
	}
	if !slices.Equal(text, want) {
		t.Errorf("the server got %q, want %q", text, want)
	}
	return got
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// run runs an Informer in the background until stop.
func run(t *testing.T, i *Informer) (stop func()) {
	t.Helper()
	return runWith(t.Context(), t, i)
}

func runWith(ctx context.Context, t *testing.T, i *Informer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := i.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		t.Helper()
		cancel()
		began := time.Now()
		<-done
		if took := time.Since(began); took > time.Second {
			t.Errorf("Run took %v to return (contract 10)", took)
		}
	})
	return stop
}

// fixture is an Informer over a script, with one handler.
type fixture struct {
	*Informer
	server  *script
	store   *mapStore
	handler *recorder
	errors  []error
	stop    func()
}

// start runs an Informer over a script, in the bubble, and waits until it has
// nothing to do.
func start(t *testing.T, server *script, o Options) *fixture {
	t.Helper()
	f := &fixture{server: server, store: newMapStore(), handler: &recorder{}}
	o.WatchErrorHandler = func(_ context.Context, err error) { f.errors = append(f.errors, err) }
	f.Informer = New(server, f.store, &o)
	if _, err := f.AddHandler(f.handler, nil); err != nil {
		t.Fatal(err)
	}
	f.stop = run(t, f.Informer)
	synctest.Wait()
	return f
}

func (f *fixture) wantStore(t *testing.T, want string) {
	t.Helper()
	if got := f.store.String(); got != want {
		t.Errorf("the store has %s, want %s", got, want)
	}
}

// The errors that servers answer with.

func goneByStatus() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonGone, Message: "too old"}}
}

// noStreaming is how servers answer that do not have the feature, or not switched on.
func noStreaming() error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", field.ErrorList{
		field.Forbidden(field.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
	})
}

func expired() error { return apierrors.NewResourceExpired("too old resource version") }

func tooManyRequests(seconds int) error { return apierrors.NewTooManyRequests("later", seconds) }

func timeoutError(message string, causes ...metav1.StatusCause) error {
	err := apierrors.NewTimeoutError(message, 0)
	err.ErrStatus.Details.Causes = causes
	return err
}
