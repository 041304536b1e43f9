package manager_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/cache"
	"governor/envtest"
	"governor/manager"
	"governor/scheme"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// builtin is one scheme for all tests: to make it takes longer than most of them.
var builtin = sync.OnceValue(scheme.Builtin)

// newManager returns a Manager of a server that nobody asks.
func newManager(t *testing.T, o *manager.Options) *manager.Manager {
	t.Helper()
	return newManagerOf(t, nopConfig(), o)
}

func newManagerOf(t *testing.T, cfg *rest.Config, o *manager.Options) *manager.Manager {
	t.Helper()
	var options manager.Options
	if o != nil {
		options = *o
	}
	options.Scheme = builtin()
	options.Cache.DetectMutations = func(m *cache.Mutation) { t.Error(m) }
	m, err := manager.New(cfg, &options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func grace(d time.Duration) *manager.Options {
	return &manager.Options{GracefulShutdownTimeout: &d}
}

// start runs m until stop is called, which returns what Start returned.
func start(t *testing.T, m *manager.Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(quiet(t.Context()))
	result := make(chan error, 1)
	go func() { result <- m.Start(ctx) }()
	return func() error {
		cancel()
		return <-result
	}
}

// quiet is a context whose logger discards.
func quiet(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(new(logs)))
}

// logs is a klog.LogSink that keeps what is logged.
type logs struct {
	mu    sync.Mutex
	lines []string
}

func (l *logs) Init(klog.RuntimeInfo)             {}
func (l *logs) Enabled(int) bool                  { return true }
func (l *logs) WithValues(...any) klog.LogSink    { return l }
func (l *logs) WithName(string) klog.LogSink      { return l }
func (l *logs) Info(_ int, msg string, kv ...any) { l.add(fmt.Sprint(msg, " ", kv)) }
func (l *logs) Error(err error, msg string, kv ...any) {
	l.add(fmt.Sprint(msg, " ", err, " ", kv))
}

func (l *logs) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logs) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// trace is what happened, in order.
type trace struct{ logs }

// work is a Runnable that says when it starts and stops.
type work struct {
	name   string
	trace  *trace
	stop   time.Duration // how long it takes to stop
	err    error         // what it then returns
	leader bool
}

func (w *work) Name() string             { return w.name }
func (w *work) NeedLeaderElection() bool { return w.leader }

func (w *work) Start(ctx context.Context) error {
	w.trace.add("start " + w.name)
	<-ctx.Done()
	w.trace.add("stopping " + w.name)
	time.Sleep(w.stop)
	w.trace.add("end " + w.name)
	return w.err
}

// syncing is a cache that has synced when the channel is closed.
type syncing struct {
	work
	synced chan struct{}
}

func (s *syncing) WaitForCacheSync(ctx context.Context) error {
	select {
	case <-s.synced:
		s.trace.add("synced " + s.name)
		return nil
	case <-ctx.Done():
		return errors.New("v1/Pod has not synced: pods is forbidden")
	}
}

func add(t *testing.T, m *manager.Manager, r manager.Runnable) *manager.Handle {
	t.Helper()
	h, err := m.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func wantTook(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

// nopConfig is of a server that nobody asks, and that would know nothing.
func nopConfig() *rest.Config {
	return &rest.Config{Host: "http://api.test", Transport: envtest.Transport(http.NotFoundHandler()), QPS: -1}
}
