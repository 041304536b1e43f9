package workqueue

import (
	"fmt"
	"math/bits"
	"slices"
)

// valid checks the invariants that are listed at Queue, by their numbers.
func (q *Queue[K]) valid() error {
	q.mu.Lock()
	defer q.mu.Unlock()

	states, inFlight := map[state]int{}, 0
	for key, e := range q.entries.m {
		if e.key != key || e.state == unqueued && !e.inFlight {
			return fmt.Errorf("invariant 1: entry %+v under key %v", *e, key)
		}
		if e.inFlight && e.state == ready || e.state == held && !e.inFlight {
			return fmt.Errorf("invariant 5: entry %+v", *e)
		}
		states[e.state]++
		if e.inFlight {
			inFlight++
		}
	}
	if q.entries.fullest < len(q.entries.m) {
		return fmt.Errorf("the table holds %d, at its fullest %d", len(q.entries.m), q.entries.fullest)
	}
	if err := q.validReady(states[ready]); err != nil {
		return err
	}

	if err := q.validWaiting(states[waiting] + states[resting]); err != nil {
		return err
	}
	for i, w := range q.inFlight {
		e := w.entry
		if q.entries.m[e.key] != e || !e.inFlight || e.worker != i {
			return fmt.Errorf("invariant 4: %+v is in inFlight", *e)
		}
	}
	if n := len(q.inFlight); n != inFlight {
		return fmt.Errorf("invariant 4: %d in inFlight, %d in flight", n, inFlight)
	}

	if q.waiters.first != nil && (q.waiters.woken < q.ready.takeable() || q.shut && q.ready.len == 0) {
		return fmt.Errorf("invariant 8: %d may be taken, %d woken, and others wait", q.ready.takeable(), q.waiters.woken)
	}
	for w := q.waiters.free; w != nil; w = w.next {
		if len(w.wake) > 0 {
			return fmt.Errorf("a waiter is free that would wake at once")
		}
	}
	drained := false
	select {
	case <-q.drained:
		drained = true
	default:
	}
	if q.shut && (q.waiting.len > 0 || q.armed != never) || drained != (q.shut && len(q.entries.m) == 0) {
		return fmt.Errorf("invariant 9: shut %v, %d wait, timer at %v, %d left, drained %v",
			q.shut, q.waiting.len, q.armed, len(q.entries.m), drained)
	}
	var zero K
	for e := q.free; e != nil; e = e.next {
		if e.key != zero || e.state != unqueued || e.inFlight || e.tenant != nil || e.causes != nil {
			return fmt.Errorf("invariant 10: %+v is free", *e)
		}
	}
	return nil
}

// +checklocks:q.mu
func (q *Queue[K]) validWaiting(want int) error {
	w := &q.waiting
	n, earliest := 0, never
	for _, e := range w.sorted() {
		n++
		earliest = min(earliest, e.due)
		if q.entries.m[e.key] != e || e.state != waiting && e.state != resting || e.inFlight && e.state == resting {
			return fmt.Errorf("invariant 3: %+v is in waiting", *e)
		}
	}
	if n != want || w.len != want {
		return fmt.Errorf("invariant 3: %d in waiting, which says %d; %d in that state", n, w.len, want)
	}
	if err := validHeap(&w.near, func(e *entry[K]) int { return e.index }); err != nil {
		return fmt.Errorf("invariant 6: near: %w", err)
	}
	for n := range w.levels {
		for slot := range w.levels[n].slots {
			if (w.levels[n].used>>slot&1 != 0) != (w.levels[n].slots[slot].first != nil) {
				return fmt.Errorf("invariant 6: slot %d of level %d is marked wrongly", slot, n)
			}
			for e := w.levels[n].slots[slot].first; e != nil; e = e.next {
				tick := int64(e.due) >> tickBits
				if tick <= w.tick || (bits.Len64(uint64(tick^w.tick))-1)/levelBits != n ||
					int(tick>>(n*levelBits))%slotsPerLevel != slot || e.index != ^(n*slotsPerLevel+slot) {
					return fmt.Errorf("invariant 6: %+v is in slot %d of level %d, at tick %d", *e, slot, n, w.tick)
				}
			}
		}
	}
	if w.len > 0 && (q.armed > earliest || q.timer == nil && earliest != never) {
		return fmt.Errorf("invariant 7: the timer is set to %v, the earliest is due at %v", q.armed, earliest)
	}
	return nil
}

// +checklocks:q.mu
func (q *Queue[K]) validReady(want int) error {
	ls := &q.ready
	n, open, capped := 0, 0, 0
	byTenant := map[*tenant[K]]int{}
	for f := range ls.all() {
		l := f.lane
		if ls.byPriority.m[l.priority] != l || f.tenant != nil && (l.flows.m[f.tenant] != f || f.tenant.flows[f.index] != f) {
			return fmt.Errorf("invariant 2: flow %+v of lane %d", *f, l.priority)
		}
		for e := f.first; e != nil; e = e.next {
			n++
			if q.entries.m[e.key] != e || e.state != ready || e.priority != l.priority || e.flow != f || e.tenant != f.tenant {
				return fmt.Errorf("invariant 2: %+v is in lane %d", *e, l.priority)
			}
			if e.next != nil && e.next.prev != e || e.next == nil && f.last != e {
				return fmt.Errorf("invariant 2: links in lane %d", l.priority)
			}
			byTenant[f.tenant]++
			if f.tenant != nil && f.tenant.capped {
				capped++
			}
		}
		if f.tenant != nil && f.tenant.capped {
			continue
		}
		open++
		if !l.busy || ls.busy.slots[l.index].item != l || f.tenant != nil && l.turns.slots[f.turn].item != f {
			return fmt.Errorf("invariant 2: lane %d is not where it should be", l.priority)
		}
		if ls.ageing > 0 && (ls.ages.slots[f.age].item.flow != f || ls.ages.slots[f.age].rank != int64(f.first.since)) {
			return fmt.Errorf("invariant 2: a flow of lane %d is not where it should be by its age", l.priority)
		}
	}
	if n != want || ls.len != want || ls.capped != capped {
		return fmt.Errorf("invariant 2: %d in flows, which say %d; %d in that state; %d capped, %d said to be", n, ls.len, want, capped, ls.capped)
	}
	if ls.ageing > 0 && open != ls.ages.len() {
		return fmt.Errorf("invariant 2: %d flows are open, %d stand by age", open, ls.ages.len())
	}
	busy := 0
	for _, l := range ls.byPriority.m {
		if l.busy {
			busy++
		}
		if err := validHeap(&l.turns, func(f *flow[K]) int { return f.turn }); err != nil {
			return fmt.Errorf("invariant 6: turns: %w", err)
		}
	}
	if busy != ls.busy.len() {
		return fmt.Errorf("invariant 2: %d lanes are busy, %d are said to be", busy, ls.busy.len())
	}
	if err := validHeap(&ls.ages, func(f agedFlow[K]) int { return f.age }); err != nil {
		return fmt.Errorf("invariant 6: ages: %w", err)
	}
	if err := validHeap(&ls.busy, func(l *lane[K]) int { return l.index }); err != nil {
		return fmt.Errorf("invariant 6: lanes: %w", err)
	}
	return q.validTenants(byTenant)
}

// +checklocks:q.mu
func (q *Queue[K]) validTenants(ready map[*tenant[K]]int) error {
	entries, inFlight := map[*tenant[K]]int{}, map[*tenant[K]]int{}
	for _, e := range q.entries.m {
		if e.tenant != nil {
			entries[e.tenant]++
		}
		if e.inFlight {
			inFlight[e.tenant]++
		}
	}
	if len(entries) != len(q.tenants.byName.m) {
		return fmt.Errorf("invariant 11: %d fairness keys have entries, %d are known", len(entries), len(q.tenants.byName.m))
	}
	for name, t := range q.tenants.byName.m {
		limit := q.tenants.cap
		if t.name != name || t.entries != entries[t] || t.ready != ready[t] || t.inFlight != inFlight[t] ||
			t.capped != (limit > 0 && t.inFlight >= limit) || limit > 0 && t.inFlight > limit {
			return fmt.Errorf("invariant 11: %+v under %q, want entries %d, ready %d, in flight %d",
				*t, name, entries[t], ready[t], inFlight[t])
		}
	}
	return nil
}

func validHeap[T placed](h *heap[T], index func(T) int) error {
	for i := range h.slots {
		if index(h.slots[i].item) != i {
			return fmt.Errorf("item at %d thinks it is at %d", i, index(h.slots[i].item))
		}
		if i > 0 && !h.slots[(i-1)/children].before(&h.slots[i]) {
			return fmt.Errorf("item at %d comes before its parent", i)
		}
	}
	if spare := h.slots[len(h.slots):cap(h.slots)]; slices.ContainsFunc(spare, func(s slot[T]) bool {
		var zero T
		return any(s.item) != any(zero)
	}) {
		return fmt.Errorf("an unused slot keeps an item")
	}
	return nil
}
