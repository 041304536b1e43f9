package informer

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"governor/client"
)

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
	store *modelStore
	delay time.Duration
	asks  bool // for resyncs
	// coalesces says that it may miss states, and tears that it panics at times.
	coalesces, tears bool

	mu      sync.Mutex
	state   map[string]client.Object
	removed bool
	synced  func() bool
	back    map[string]int // how often a name went back in time
}

// done is called at the end of each call: what it has heard, it has heard.
func (v *view) done() {
	v.mu.Unlock()
	if v.tears && v.store.server.chance(4) {
		panic("a handler that panics")
	}
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
	at := v.store.at()
	v.check(at >= version(o) || v.store.server.restores() > 0, "heard of %s/%d when the store was at %d (contract 6)", o.GetName(), version(o), at)
}

func (v *view) OnAdd(o client.Object, initial bool) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.done()
	v.hear(o, initial)
	v.check(v.state[o.GetName()] == nil, "add of %s, which is there (contract 7)", o.GetName())
	v.state[o.GetName()] = o
}

func (v *view) OnUpdate(old, new client.Object) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.done()
	v.hear(new, false)
	if old == new {
		v.check(v.asks, "a resync that was not asked for (contract 7)")
		v.check(v.state[new.GetName()] == new, "a resync of %s/%d, which is not the last state (contract 7)", new.GetName(), version(new))
		return
	}
	known := v.state[new.GetName()]
	v.check(known == old, "update of %s from what was not told (contract 7)", new.GetName())
	if version(old) >= version(new) {
		v.back[new.GetName()]++
	}
	v.check(old.GetUID() == new.GetUID() && v.back[new.GetName()] <= v.store.server.restores(), "update of %s from %s/%d to %s/%d (contract 7)",
		new.GetName(), old.GetUID(), version(old), new.GetUID(), version(new))
	v.state[new.GetName()] = new
}

func (v *view) OnDelete(o client.Object, unknown bool) {
	time.Sleep(v.delay)
	v.mu.Lock()
	defer v.done()
	v.hear(o, false)
	known := v.state[o.GetName()]
	v.check(known != nil && known.GetUID() == o.GetUID(), "delete of %s, which is not there (contract 7)", o.GetName())
	v.check(known == nil || unknown == (known == o) || unknown && v.coalesces, "delete of %s with unknown %v", o.GetName(), unknown)
	delete(v.state, o.GetName())
}
