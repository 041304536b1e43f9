package workqueue

import (
	"fmt"
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

	if got, want := q.waiting.len(), states[waiting]; got != want {
		return fmt.Errorf("invariant 3: %d in waiting, %d in that state", got, want)
	}
	for _, s := range q.waiting.slots {
		if q.entries.m[s.item.key] != s.item || s.item.state != waiting {
			return fmt.Errorf("invariant 3: %+v is in waiting", *s.item)
		}
	}
	if err := validHeap(&q.waiting, func(e *entry[K]) int { return e.index }); err != nil {
		return fmt.Errorf("invariant 6: waiting: %w", err)
	}
	if q.waiting.len() > 0 {
		if _, due := q.waiting.top(); int64(q.armed) > due || q.timer == nil && due != int64(never) {
			return fmt.Errorf("invariant 7: the timer is set to %v, the earliest is due at %d", q.armed, due)
		}
	}

	n := 0
	for e := q.inFlight.first; e != nil; e = e.next {
		n++
		if q.entries.m[e.key] != e || !e.inFlight {
			return fmt.Errorf("invariant 4: %+v is in inFlight", *e)
		}
		if e.next != nil && (e.next.prev != e || e.next.taken < e.taken) {
			return fmt.Errorf("invariant 4: order of %+v and %+v", *e, *e.next)
		}
	}
	if n != inFlight {
		return fmt.Errorf("invariant 4: %d in inFlight, %d in flight", n, inFlight)
	}

	if q.waiters.first != nil && q.waiters.woken < q.ready.len {
		return fmt.Errorf("invariant 8: %d ready, %d woken, and others wait", q.ready.len, q.waiters.woken)
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
	if q.shut && (q.waiting.len() > 0 || q.armed != never) || drained != (q.shut && len(q.entries.m) == 0) {
		return fmt.Errorf("invariant 9: shut %v, %d wait, timer at %v, %d left, drained %v",
			q.shut, q.waiting.len(), q.armed, len(q.entries.m), drained)
	}
	var zero K
	for e := q.free; e != nil; e = e.next {
		if e.key != zero || e.state != unqueued || e.inFlight {
			return fmt.Errorf("invariant 10: %+v is free", *e)
		}
	}
	return nil
}

// +checklocks:q.mu
func (q *Queue[K]) validReady(want int) error {
	ls := &q.ready
	n, busy := 0, 0
	for priority, l := range ls.byPriority.m {
		if l.priority != priority {
			return fmt.Errorf("invariant 2: lane %d under %d", l.priority, priority)
		}
		if l.first == nil {
			continue
		}
		busy++
		if ls.busy.slots[l.index].item != l {
			return fmt.Errorf("invariant 6: lane %d is not at %d", priority, l.index)
		}
		for e := l.first; e != nil; e = e.next {
			n++
			if q.entries.m[e.key] != e || e.state != ready || e.priority != priority {
				return fmt.Errorf("invariant 2: %+v is in lane %d", *e, priority)
			}
			if e.next != nil && e.next.prev != e || e.next == nil && l.last != e {
				return fmt.Errorf("invariant 2: links of lane %d", priority)
			}
		}
	}
	if n != want || ls.len != want {
		return fmt.Errorf("invariant 2: %d in lanes, which say %d; %d in that state", n, ls.len, want)
	}
	if busy != ls.busy.len() {
		return fmt.Errorf("invariant 2: %d lanes are not empty, %d are said to be", busy, ls.busy.len())
	}
	if err := validHeap(&ls.busy, func(l *lane[K]) int { return l.index }); err != nil {
		return fmt.Errorf("invariant 6: lanes: %w", err)
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
