package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// ErrGracePeriodExceeded is what Start returns when runnables did not stop in
	// time. They may still run, so the process had better exit.
	ErrGracePeriodExceeded = errors.New("the grace period was exceeded")
)

const (
	// lastCall is how long those may take to stop whose turn had not come when
	// the grace period ended.
	lastCall = 500 * time.Millisecond
	// readyReport is how often it is logged that a runnable is not ready yet.
	readyReport = 10 * time.Second
)

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

// stop stops the groups in reverse order and returns when all have ended. When the
// grace period is over it says who has not.
func (m *Manager) stop(base context.Context) error {
	m.mu.Lock()
	m.state = stopping
	for kind := range m.groups {
		for _, h := range slices.Clone(m.groups[kind].members) {
			if !h.running {
				m.endLocked(h, nil)
			}
		}
	}
	m.mu.Unlock()

	ctx, cancel := context.WithCancel(base)
	if m.grace >= 0 {
		ctx, cancel = context.WithTimeout(base, m.grace)
	}
	defer cancel()
	for kind := groupCount - 1; kind >= 0; kind-- {
		if late := waitAll(ctx, m.cancelGroup(kind)); len(late) > 0 {
			return m.abandon(base, kind, late)
		}
	}
	return nil
}

// abandon ends the grace period. The group of that kind has not stopped in time;
// the ones before it are told to now.
func (m *Manager) abandon(base context.Context, kind groupKind, late []*Handle) error {
	ctx, cancel := context.WithTimeout(base, lastCall)
	defer cancel()
	var rest []*Handle
	for kind := kind - 1; kind >= 0; kind-- {
		rest = append(rest, m.cancelGroup(kind)...)
	}
	if m.grace == 0 {
		// Nobody is waited for but the manager's own parts, which end at once.
		rest = append(rest, late...)
		rest = slices.DeleteFunc(rest, func(h *Handle) bool { return !h.own })
	}
	for _, h := range slices.Concat(rest, late) {
		if a, ok := h.runnable.(interface{ abort() }); ok {
			a.abort()
		}
	}
	late = append(late, waitAll(ctx, rest)...)
	if m.grace == 0 {
		return nil
	}
	names := make([]string, len(late))
	for i, h := range late {
		names[i] = fmt.Sprintf("%q", h.name)
	}
	return fmt.Errorf("stop: %w: %v was not enough for %s", ErrGracePeriodExceeded, m.grace, strings.Join(names, ", "))
}

// cancelGroup tells the members of a group to stop, and returns them.
func (m *Manager) cancelGroup(kind groupKind) []*Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := &m.groups[kind]
	if g.cancel != nil {
		g.cancel()
	}
	return slices.Clone(g.members)
}
