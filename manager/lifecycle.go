package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

var (
	// ErrStarted is what a second Start returns: make a new Manager instead.
	ErrStarted = errors.New("the manager was started already")
	// ErrStopped is what Add returns when the manager stops or has stopped: the
	// caller stops too.
	ErrStopped = errors.New("the manager has stopped, or is about to")
)

// readyReport is how often it is logged that a runnable is not ready yet.
const readyReport = 10 * time.Second

// Add has the manager run r: now if its group runs already, or when its turn
// comes. A nil r, a name that is taken, and a manager that stops are errors.
func (m *Manager) Add(r Runnable) (*Handle, error) {
	name, chosen, err := nameOf(r)
	if err != nil {
		return nil, err
	}
	h := newHandle(m, groupOf(r), r, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == stopping {
		return nil, fmt.Errorf("add runnable %q: %w", name, ErrStopped)
	}
	if chosen {
		if m.names[name] != nil {
			return nil, fmt.Errorf("add runnable %q: this manager has one of that name: stop that first, or choose another name", name)
		}
		m.names[name] = h
	}
	m.addLocked(h)
	return h, nil
}

// addOwn adds a part of the manager itself. Its name is not taken from users.
func (m *Manager) addOwn(kind groupKind, r Runnable, name string) {
	h := newHandle(m, kind, r, name)
	h.own = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(h)
}

func (m *Manager) addLocked(h *Handle) {
	g := &m.groups[h.kind]
	g.members = append(g.members, h)
	if g.run != nil {
		g.run(h)
	}
}

// Start runs everything until ctx ends or a runnable fails, then stops it all and
// returns: nil when ctx ended and all stopped well, otherwise the errors of the
// runnables, the first one first, and ErrGracePeriodExceeded if it was. It waits
// for caches as long as it takes, and logs who has not synced, and why.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	// Runnables stop one group after the other, so ctx must not end them all at once.
	base := context.WithoutCancel(ctx)
	if m.logger.GetSink() != nil {
		base = klog.NewContext(base, m.logger)
	}
	if m.startGroups(ctx, base) {
		select {
		case <-ctx.Done():
		case <-m.failed:
		}
	}
	klog.FromContext(base).Info("Stopping", "gracePeriod", m.grace)
	late := m.stop(base)
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(append(m.failures, late)...)
}

func (m *Manager) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != fresh {
		return fmt.Errorf("start: %w", ErrStarted)
	}
	m.state = started
	return nil
}

// startGroups says whether all of them have started: not if ctx ended or a
// runnable failed before.
func (m *Manager) startGroups(ctx, base context.Context) bool {
	for kind := range groupCount {
		select {
		case <-ctx.Done():
			return false
		case <-m.failed:
			return false
		default:
		}
		if kind == leadersGroup {
			close(m.elected)
		}
		for _, h := range m.startGroup(base, kind) {
			select {
			case <-h.ready:
			case <-h.done:
			case <-ctx.Done():
				return false
			case <-m.failed:
				return false
			}
		}
	}
	return true
}

// startGroup starts the members that the group has, and lets those that are added
// later start at once.
func (m *Manager) startGroup(base context.Context, kind groupKind) []*Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := &m.groups[kind]
	ctx, cancel := context.WithCancel(base)
	g.cancel = cancel
	g.run = func(h *Handle) {
		ctx, cancel := context.WithCancel(ctx)
		h.running, h.cancel = true, cancel
		go m.run(ctx, h)
	}
	for _, h := range g.members {
		g.run(h)
	}
	return slices.Clone(g.members)
}

// run is the goroutine of one runnable.
func (m *Manager) run(ctx context.Context, h *Handle) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("runnable", h.name))
	var waiting sync.WaitGroup
	waiting.Go(func() { awaitReady(ctx, h) })
	// This stands if Start neither returns nor panics.
	err := errors.New("ended by runtime.Goexit")
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
		canceled := ctx.Err() != nil && errors.Is(err, context.Canceled)
		h.cancel() // ends awaitReady, whose last lines then precede the end
		waiting.Wait()
		if canceled {
			err = nil
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.endLocked(h, err)
	}()
	err = h.runnable.Start(ctx)
}

// awaitReady closes h.ready when h is ready, and not if it ends before.
func awaitReady(ctx context.Context, h *Handle) {
	wait := readiness(h.runnable)
	if wait == nil {
		close(h.ready)
		return
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, readyReport)
		err := wait(attempt)
		if err != nil {
			<-attempt.Done() // however early it gave up, no hot loop
		}
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			close(h.ready)
			return
		}
		klog.FromContext(ctx).Info("Still waiting until it is ready", "reason", err.Error())
	}
}

// cancelOne has one runnable end, or never start.
func (m *Manager) cancelOne(h *Handle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h.stopped = true
	if h.running {
		h.cancel()
		return
	}
	m.endLocked(h, nil)
}

// endLocked takes h off the books.
func (m *Manager) endLocked(h *Handle, err error) {
	select {
	case <-h.done:
		return
	default:
	}
	if err != nil {
		h.err = fmt.Errorf("runnable %q: %w", h.name, err)
		if !h.stopped {
			m.failures = append(m.failures, h.err)
			if len(m.failures) == 1 {
				close(m.failed)
			}
		}
	}
	m.groups[h.kind].remove(h)
	if m.names[h.name] == h {
		delete(m.names, h.name)
	}
	close(h.done)
}
