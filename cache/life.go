package cache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"governor/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// life is the time in which a KindInformer has informers: from the first who asks
// for the kind until it is removed, or nobody needs it any more, or another form has
// to be stored. The KindInformer outlives it, with its handlers and indexes.
//
//	begun ── run ──► opening ── the server knows the kind ──► open ──► ended
//	                   └── it does not: try again, with back-off
type life struct {
	stop    chan struct{} // closed when it has ended
	opened  chan struct{} // closed when layout is set
	changed chan struct{} // has room for one; tells run of another layout
	// kept says that the kind is declared: it lives on though nobody reads it.
	kept atomic.Bool
	// used is set by each read, and taken back now and then.
	used atomic.Bool
	// waiting is how many reads wait for it to sync.
	waiting atomic.Int32
	// again says that the kind was gone from the server when it began.
	again bool

	layout atomic.Pointer[layout] // nil until it is open; written under the kind's mu

	// The kind's mu guards what follows.
	fresh     []*scope // not yet run
	lastError error    // of the last try to open
	missing   missing
}

// layout is how a kind is cached just now. It never changes.
type layout struct {
	served
	resource *client.Resource
	scopes   []*scope // in order of namespace; at least one
}

// served is what the server says of a kind, and the form in which it is stored.
type served struct {
	resource   schema.GroupResource
	namespaced bool
	form       client.Form
}

func newLife() *life {
	return &life{stop: make(chan struct{}), opened: make(chan struct{}), changed: make(chan struct{}, 1)}
}

func (l *life) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// run keeps the kind true until ctx ends or the life does, and returns when all
// that it started has ended. Then handlers have heard that everything is gone, if
// it is not the Cache that has ended.
func (k *KindInformer) run(ctx context.Context, l *life) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer cancel()
	defer wg.Wait()
	if !k.open(ctx, l) {
		return
	}
	idle := time.NewTicker(k.idleTick())
	defer idle.Stop()
	running, quiet := []*scope{}, 0
	for {
		running = append(running, k.takeFresh(l)...)
		running = slices.DeleteFunc(running, func(s *scope) bool {
			kept := !l.over() && slices.Contains(l.layout.Load().scopes, s)
			if !kept {
				s.informer.Retire()
			}
			if !s.started {
				s.started = true
				wg.Go(func() {
					// The only error is that it runs already, and only this starts it.
					_ = s.informer.Run(ctx)
					k.forget(s)
				})
			}
			return !kept
		})
		if l.over() {
			return
		}
		select {
		case <-l.changed:
		case <-l.stop:
		case <-ctx.Done():
			return
		case <-idle.C:
			if quiet++; l.used.Swap(false) || k.needed(l) {
				quiet = 0
			}
			if quiet >= idleTicks {
				k.expire(ctx, l)
			}
		}
	}
}

// takeFresh returns the scopes that are to be run.
func (k *KindInformer) takeFresh(l *life) []*scope {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := l.fresh
	l.fresh = nil
	return fresh
}

// idleTicks is how often in Options.IdleTimeout the kind is looked at: a read costs
// one flag, and the timeout comes a quarter late at most.
const idleTicks = 4

func (k *KindInformer) idleTick() time.Duration {
	if k.idleTimeout < 0 {
		return time.Hour // nothing will come of it
	}
	return max(k.idleTimeout/idleTicks, time.Millisecond)
}

// needed says whether somebody has a lease.
func (k *KindInformer) needed(l *life) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.neededLocked(l)
}

func (k *KindInformer) neededLocked(l *life) bool {
	return k.idleTimeout < 0 || l.kept.Load() || l.waiting.Load() > 0 || len(k.registrations) > 0
}

// expire ends a life that nobody has needed for a while.
func (k *KindInformer) expire(ctx context.Context, l *life) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// Who has come since the last look has set a flag, or has the lock to come by.
	if l.over() || l.used.Load() || k.neededLocked(l) {
		return
	}
	klog.FromContext(ctx).V(1).Info("Nobody reads the kind, its informer stops", "kind", kindText(k.gvk))
	k.endLocked()
}

// endLocked ends the life, if there is one, and lets go of what it has stored.
func (k *KindInformer) endLocked() {
	if l := k.life.Load(); !l.over() {
		close(l.stop)
	}
	k.life.Store(over())
}

// Opening a kind that the server does not know is tried again after a while,
// since it may be installed later: soon at first, then each 10 s.
const (
	firstOpenDelay = 500 * time.Millisecond
	maxOpenDelay   = 10 * time.Second
)

// open finds the kind on the server, and lays it out. It returns false when ctx, or
// the life, ends before.
func (k *KindInformer) open(ctx context.Context, l *life) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case <-l.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	for delay := firstOpenDelay; ; delay = min(2*delay, maxOpenDelay) {
		err := k.tryOpen(ctx, l)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		k.failed(ctx, l, err)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// goneAfter is for how long the server must say that it does not have a resource
// until it is believed: it says so, too, while it learns what it has.
const goneAfter = 10 * time.Second

// missing watches for a kind that is not installed any more.
type missing struct{ since time.Time }

// heard is called after each list and watch of a scope. A kind that has gone is
// begun anew: handlers hear that its objects are gone, and reads say that the kind
// is, until it comes back.
func (k *KindInformer) heard(l *life, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !apierrors.IsNotFound(err):
		l.missing.since = time.Time{}
	case l.missing.since.IsZero():
		l.missing.since = time.Now()
	case time.Since(l.missing.since) >= goneAfter && !l.again && !l.over():
		k.restartLocked().again = true
	}
	if err == nil {
		l.again = false
	}
}
