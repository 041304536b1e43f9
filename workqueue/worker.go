package workqueue

import (
	"context"
	"time"
)

// Get waits for a key that is ready and gives it to the caller, who must call
// Done with it. It returns [ErrShutDown] when the queue is shut down and nothing
// is ready, and ctx's error as soon as ctx has ended, whatever is ready.
// Upstream: PriorityQueue.GetWithPriority.
func (q *Queue[K]) Get(ctx context.Context) (Item[K], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			q.wakeLocked() // if this Get was woken, somebody else should be now
			return Item[K]{}, err
		}
		now := q.nowLocked(false)
		q.expireLocked(now)
		if e := q.ready.pop(now); e != nil {
			return q.takeLocked(e, now), nil
		}
		if q.shut && q.ready.len == 0 {
			return Item[K]{}, ErrShutDown
		}
		q.waitLocked(ctx)
	}
}

// takeLocked gives e, which was ready, to a worker.
//
// +checklocks:q.mu
func (q *Queue[K]) takeLocked(e *entry[K], now time.Duration) Item[K] {
	q.depthLocked(e, -1)
	if q.metrics != nil {
		q.metrics.Got(now - e.since)
	}
	item := Item[K]{e.key, e.priority, e.causes}
	e.state, e.inFlight, e.causes, e.worker = unqueued, true, nil, len(q.inFlight)
	q.inFlight = append(q.inFlight, work[K]{e, q.ready.gets, now, item.Priority, item.Causes})
	if e.tenant != nil {
		q.ready.start(e.tenant, q.tenants.cap)
	}
	if q.minInterval > 0 {
		e.notBefore = later(now, q.minInterval)
	}
	if q.shut {
		q.wakeLocked() // those that wait for what was capped, if this was the last
	}
	return item
}

// Done says that a worker has ended with a key. If the key was added meanwhile
// and is due, it is ready now. Done of a key that no worker has changes nothing;
// but when another worker has got the key by then, the queue cannot tell one
// call from the other.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.inFlightLocked(key)
	if e == nil {
		return
	}
	now := q.nowLocked(false)
	q.expireLocked(now)
	if q.metrics != nil {
		q.metrics.Done(now - q.inFlight[e.worker].taken)
	}
	q.endLocked(e)
	switch e.state {
	case held:
		q.dueLocked(e, e.since)
	case unqueued:
		if !q.restLocked(e, now) {
			q.releaseLocked(e)
			q.drainedLocked()
		}
	}
}

// fewInFlight is how many keys are found faster by comparing than by hashing.
const fewInFlight = 4

// inFlightLocked returns the entry of a key that a worker has; nil if none has.
//
// +checklocks:q.mu
func (q *Queue[K]) inFlightLocked(key K) *entry[K] {
	if len(q.inFlight) > fewInFlight {
		if e := q.entries.get(key); e != nil && e.inFlight {
			return e
		}
		return nil
	}
	for i := range q.inFlight {
		if e := q.inFlight[i].entry; e.key == key {
			return e
		}
	}
	return nil
}

// endLocked takes e away from its worker.
//
// +checklocks:q.mu
func (q *Queue[K]) endLocked(e *entry[K]) {
	e.inFlight = false
	last := len(q.inFlight) - 1
	q.inFlight[last].worker = e.worker
	q.inFlight[e.worker] = q.inFlight[last]
	q.inFlight[last] = work[K]{}
	q.inFlight = q.inFlight[:last]
	if last == 0 && cap(q.inFlight) > keep {
		q.inFlight = nil
	}
	if e.tenant != nil {
		q.ready.end(e.tenant)
		q.wakeLocked()
	}
}
