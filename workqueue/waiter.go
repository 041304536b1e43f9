package workqueue

import "context"

// waiter is a Get that found nothing.
type waiter struct {
	prev, next *waiter
	wake       chan struct{} // has room for one: to wake never blocks
	woken      bool          // it has left the line, and wake is full or was read
}

// waiters is the line of those who wait in Get, the longest waiting first. They
// wait in channels and not in a [sync.Cond], because a context can end that and
// a synctest bubble counts it as being idle. The zero waiters is empty.
type waiters struct {
	first, last *waiter
	free        *waiter // linked by next: channels to use again
	woken       int     // how many were woken and have not come back yet
}

func (ws *waiters) join() *waiter {
	w := ws.free
	if w == nil {
		w = &waiter{wake: make(chan struct{}, 1)}
	} else {
		ws.free = w.next
	}
	w.prev, w.next, w.woken = ws.last, nil, false
	if ws.last == nil {
		ws.first = w
	} else {
		ws.last.next = w
	}
	ws.last = w
	return w
}

func (ws *waiters) leave(w *waiter) {
	if w.prev == nil {
		ws.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		ws.last = w.prev
	} else {
		w.next.prev = w.prev
	}
}

// wakeFirst wakes the longest waiting. There must be one.
func (ws *waiters) wakeFirst() {
	w := ws.first
	ws.leave(w)
	w.woken = true
	ws.woken++
	w.wake <- struct{}{}
}

// back is called by a waiter that waits no longer, for whatever reason.
func (ws *waiters) back(w *waiter) {
	if w.woken {
		ws.woken--
		select {
		case <-w.wake: // the context ended first
		default:
		}
	} else {
		ws.leave(w)
	}
	w.prev, w.next = nil, ws.free
	ws.free = w
}

// wakeLocked wakes as many as there are keys for; all, when none can come. A worker that does not wait
// may take such a key first; then the woken one finds nothing and waits again.
// That is cheaper than to hand keys over, and whoever comes first gets what is
// most urgent by then.
//
// +checklocks:q.mu
func (q *Queue[K]) wakeLocked() {
	for q.waiters.first != nil && (q.waiters.woken < q.ready.takeable() || q.shut && q.ready.len == 0) {
		q.waiters.wakeFirst()
	}
}

// waitLocked waits for a wake-up or for ctx. Like [sync.Cond.Wait] it lets go
// of mu meanwhile, and promises nothing about why it returns.
//
// +checklocks:q.mu
func (q *Queue[K]) waitLocked(ctx context.Context) {
	w := q.waiters.join()
	q.mu.Unlock()
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
	q.mu.Lock()
	q.waiters.back(w)
}
