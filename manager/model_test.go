package manager_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/manager"
)

// actor is a runnable of the model: it lives for a while, then returns, fails or
// panics; told to stop, it takes its time.
type actor struct {
	model *model
	name  string
	group int // 1 caches, 2 others, 3 leaders
	lives time.Duration
	stop  time.Duration
	fate  int  // 0 returns nil, 1 fails, 2 panics
	late  bool // added to a manager that runs: nobody waits for it

	handle         *manager.Handle
	starts         int
	running, ended bool
	stopAsked      bool
}

func (a *actor) Name() string             { return a.name }
func (a *actor) NeedLeaderElection() bool { return a.group == 3 }

func (a *actor) Start(ctx context.Context) error {
	a.model.began(a)
	defer a.model.finished(a)
	select {
	case <-ctx.Done():
		a.model.told(a)
		time.Sleep(a.stop)
		return ctx.Err()
	case <-time.After(a.lives):
	}
	switch a.fate {
	case 1:
		return errors.New("fails")
	case 2:
		panic("panics")
	}
	return nil
}

// cacheActor is an actor of the caches group.
type cacheActor struct {
	*actor
	syncs time.Time
}

func (c cacheActor) WaitForCacheSync(ctx context.Context) error {
	timer := time.NewTimer(time.Until(c.syncs))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// model watches a manager.
type model struct {
	t      *testing.T
	mu     chan struct{} // a lock that synctest sees through
	actors []*actor
	caches []cacheActor
	over   bool
}

func (m *model) locked(fn func()) {
	m.mu <- struct{}{}
	defer func() { <-m.mu }()
	fn()
}

func (m *model) began(a *actor) {
	m.locked(func() {
		a.starts++
		a.running = true
		if a.starts > 1 {
			m.t.Errorf("%s was started twice (contract 3)", a.name)
		}
		if m.over {
			m.t.Errorf("%s was started after the end (contract 5)", a.name)
		}
		if a.group == 1 {
			return
		}
		for _, c := range m.caches {
			if c.late || c.stopAsked || c.ended {
				continue
			}
			if c.starts == 0 || time.Now().Before(c.syncs) {
				m.t.Errorf("%s was started before the cache %s had synced (contract 1)", a.name, c.name)
			}
		}
	})
}

func done(h *manager.Handle) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// told is called when a's context has ended.
func (m *model) told(a *actor) {
	m.locked(func() {
		if a.stopAsked {
			return
		}
		for _, b := range m.actors {
			if b.running && b.group > a.group {
				m.t.Errorf("%s was told to stop while %s ran (contract 2)", a.name, b.name)
			}
		}
	})
}

func (m *model) finished(a *actor) {
	m.locked(func() { a.running, a.ended = false, true })
}

// actor makes a random one.
func (m *model) actor(r *rand.Rand, name string, late bool) manager.Runnable {
	a := &actor{
		model: m, name: name, late: late, group: 1 + r.IntN(3),
		lives: time.Duration(1+r.IntN(500)) * time.Second,
		stop:  time.Duration(r.IntN(4000)) * time.Millisecond,
	}
	if r.IntN(8) == 0 {
		a.fate = 1 + r.IntN(2)
	}
	var added manager.Runnable = a
	m.locked(func() {
		m.actors = append(m.actors, a)
		if a.group == 1 {
			c := cacheActor{a, time.Now().Add(time.Duration(r.IntN(20)) * time.Second)}
			m.caches = append(m.caches, c)
			added = c
		}
	})
	return added
}

// Contract 1 to 6, 7: random schedules of add, stop, fail, panic and cancel.
func TestModel(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	mgr := newManager(t, grace(time.Minute))
	m := &model{t: t, mu: make(chan struct{}, 1)}
	var handles []*manager.Handle
	add := func(name string, late bool) {
		x := m.actor(r, name, late)
		h, err := mgr.Add(x)
		if err != nil {
			if !errors.Is(err, manager.ErrStopped) {
				t.Error(err)
			}
			return
		}
		handles = append(handles, h)
		m.locked(func() { m.actors[len(m.actors)-1].handle = h })
	}
	for i := range r.IntN(6) {
		add(fmt.Sprint("early", i), false)
	}
	ctx, cancel := context.WithTimeout(quiet(t.Context()), time.Duration(r.IntN(400))*time.Second)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		err := mgr.Start(ctx)
		m.locked(func() { m.over = true })
		result <- err
	}()
	for i := range r.IntN(20) {
		time.Sleep(time.Duration(r.IntN(30000)) * time.Millisecond)
		switch r.IntN(4) {
		case 0, 1:
			add(fmt.Sprint("late", i), true)
		case 2:
			if len(handles) > 0 {
				stopOne(t, m, handles[r.IntN(len(handles))])
			}
		case 3:
			if err := mgr.Start(ctx); !errors.Is(err, manager.ErrStarted) {
				t.Errorf("second Start: %v (contract 7)", err)
			}
		}
		synctest.Wait()
		if elected(mgr) && ctx.Err() == nil {
			m.checkStarted()
		}
	}
	err := <-result
	checkEnd(t, m, err, ctx.Err() != nil)
	if _, err := mgr.Add(&actor{model: m, name: "after"}); !errors.Is(err, manager.ErrStopped) {
		t.Errorf("Add after the end: %v (contract 6)", err)
	}
	for _, h := range handles {
		if !done(h) {
			t.Error("a handle is not done after the end")
		}
	}
}

func elected(mgr *manager.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}

// checkStarted is called when every group's turn has come.
func (m *model) checkStarted() {
	m.locked(func() {
		for _, a := range m.actors {
			if a.fate != 0 && a.ended {
				return // then the manager stops
			}
		}
		for _, a := range m.actors {
			if a.handle != nil && a.starts == 0 && !a.stopAsked {
				m.t.Errorf("%s was not started (contract 3)", a.name)
			}
		}
	})
}

func stopOne(t *testing.T, m *model, h *manager.Handle) {
	var name string
	m.locked(func() {
		for _, a := range m.actors {
			if a.handle == h {
				a.stopAsked, name = true, a.name
			}
		}
	})
	// What it says of one that failed before is the failure.
	if err := h.Stop(t.Context()); err != nil && !strings.Contains(err.Error(), name) {
		t.Errorf("stop %s: %v", name, err)
	}
}

// checkEnd compares what Start returned with what the actors did.
func checkEnd(t *testing.T, m *model, err error, cancelled bool) {
	m.locked(func() {
		failures := 0
		for _, a := range m.actors {
			if a.running {
				t.Errorf("%s runs after the end (contract 5)", a.name)
			}
			failed := a.handle != nil && a.handle.Err() != nil
			if failed && (a.fate == 0 || !a.ended) {
				t.Errorf("%s: %v, but it did not fail (contract 4)", a.name, a.handle.Err())
			}
			if failed && !a.stopAsked {
				failures++
				if err == nil || !strings.Contains(err.Error(), a.name) {
					t.Errorf("%s failed, Start returned %v (contract 4)", a.name, err)
				}
			}
		}
		if err == nil && !cancelled {
			t.Error("Start returned nil before its context had ended (contract 4)")
		}
		if err != nil && failures == 0 && !anyStopped(m) {
			t.Errorf("nobody failed, Start returned %v", err)
		}
	})
}

// anyStopped says whether someone was stopped by its handle: then it may have
// failed just before, and the error is Start's.
func anyStopped(m *model) bool {
	for _, a := range m.actors {
		if a.stopAsked && a.fate != 0 {
			return true
		}
	}
	return false
}
