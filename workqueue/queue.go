package workqueue

import (
	"context"
	"sync"
	"time"
)

// Queue hands each key to one worker at a time. The package's documentation has
// its contract. Make one with [New]; it may be used from any number of
// goroutines.
//
// What is to come of a key, and whether a worker has it, are two things:
//
//	             AddAfter              time passes
//	unqueued ───────────────► waiting ─────────────┐
//	    │ Add                    │ Add             │
//	    └────────────────────────┴─────────────────┤
//	                                               ▼
//	                    does a worker have the key already?
//	                       │ no                    │ yes
//	                       ▼           Done        ▼
//	          Get ◄───── ready ◄───────────────── held
//	           │
//	           ▼         Done
//	       in flight ──────────► not in flight
//
// Get makes the key unqueued again, so it can be added while it is in flight.
// A key that is unqueued and not in flight is forgotten.
//
// The classic picture of this queue has three sets. Here they are: dirty is
// ready and held, processing is in flight, and the order is in ready.
type Queue[K comparable] struct {
	name        string
	limiter     RateLimiter[K]
	metrics     Metrics
	fairnessKey func(K) string
	debounce    time.Duration
	minInterval time.Duration
	timed       bool          // somebody asks how long keys take, see nowLocked
	made        time.Time     // moments count from here, see nowLocked
	drained     chan struct{} // closed when the queue is shut down and empty

	mu sync.Mutex

	// Invariants, which valid checks:
	//
	//  1. entries has every key that is queued or in flight, under its own
	//     name, and no other.
	//  2. ready has exactly the entries in state ready, each once, in the lane
	//     of its priority; the busy lanes are those that are not empty.
	//  3. waiting has exactly the entries in state waiting, each once.
	//  4. inFlight has exactly the entries that are in flight, each once, the
	//     longest first.
	//  5. Nothing is ready and in flight; what is held is in flight.
	//  6. Each item of a heap knows its index, and none comes before its parent.
	//  7. The timer goes off when the earliest of waiting is due, or before.
	//  8. While somebody waits in Get, as many have been woken as keys are
	//     ready, or more.
	//  9. When shut, nothing waits and no timer is set; drained is closed if,
	//     and only if, nothing is left.
	//  10. Entries in free hold no key.

	entries  table[K, *entry[K]] // +checklocks:mu
	tenants  tenants[K]          // +checklocks:mu
	ready    lanes[K]            // +checklocks:mu
	waiting  wheel[K]            // +checklocks:mu
	inFlight []*entry[K]         // +checklocks:mu
	free     *entry[K]           // +checklocks:mu
	waiters  waiters             // +checklocks:mu
	timer    *time.Timer         // +checklocks:mu
	armed    time.Duration       // +checklocks:mu
	shut     bool                // +checklocks:mu
}

// New returns an empty Queue.
func New[K comparable](o *Options[K]) *Queue[K] {
	if o == nil {
		o = &Options[K]{}
	}
	limiter := o.RateLimiter
	if limiter == nil {
		limiter = DefaultControllerRateLimiter[K]()
	}
	return &Queue[K]{
		name:        o.Name,
		limiter:     limiter,
		metrics:     o.Metrics,
		fairnessKey: o.FairnessKey,
		debounce:    o.Debounce,
		minInterval: o.MinInterval,
		timed:       o.Metrics != nil || o.Ageing > 0 || o.MinInterval > 0,
		made:        time.Now(),
		drained:     make(chan struct{}),
		tenants:     tenants[K]{cap: o.MaxPerFairnessKey},
		ready:       lanes[K]{ageing: o.Ageing},
		armed:       never,
	}
}

// Add adds key at priority 0, at once.
func (q *Queue[K]) Add(key K) { q.add(AddOptions{}, key) }

// AddAfter adds key at priority 0 when d has passed; at once if d is zero or
// less. A key that is ready stays so, and one that waits comes out at the
// earlier of both times.
func (q *Queue[K]) AddAfter(key K, d time.Duration) { q.add(AddOptions{After: d}, key) }

// AddRateLimited adds key at priority 0 when the rate limiter says so.
func (q *Queue[K]) AddRateLimited(key K) { q.AddWith(AddOptions{RateLimited: true}, key) }

// AddWith is the general form of Add, for several keys.
// Upstream: PriorityQueue.AddWithOpts.
func (q *Queue[K]) AddWith(o AddOptions, keys ...K) {
	for _, key := range keys {
		each := o
		if o.RateLimited {
			limit := q.limiter.When(key)
			if o.After <= 0 || limit < o.After {
				each.After = limit
			}
		}
		q.add(each, key)
	}
}

// add adds key when o.After has passed.
func (q *Queue[K]) add(o AddOptions, key K) {
	var tenant string
	if q.fairnessKey != nil {
		tenant = q.fairnessKey(key)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return
	}
	now := q.nowLocked(o.After > 0 || q.debounce > 0)
	q.expireLocked(now)
	e := q.entries.get(key)
	if e == nil {
		e = q.newEntryLocked(key, tenant)
	}
	if o.Cause != nil {
		e.causes = e.causes.with(o.Cause)
	}
	if e.state == unqueued || e.state == resting {
		e.priority, e.since = o.Priority, now
		if q.metrics != nil {
			q.metrics.Added(o.After > 0)
		}
	} else if o.Priority > e.priority {
		q.raiseLocked(e, o.Priority)
	}
	delay := max(o.After, q.debounce, e.notBefore-now)
	switch {
	case e.state == ready || e.state == held:
		// It is due already; a delay cannot take that back.
	case delay > 0:
		q.delayLocked(e, now, delay)
	default:
		if e.state == waiting {
			q.waiting.remove(e)
		}
		q.dueLocked(e, now)
	}
}

// newEntryLocked makes an entry for a key that has none.
//
// +checklocks:q.mu
func (q *Queue[K]) newEntryLocked(key K, tenant string) *entry[K] {
	e := q.free
	if e == nil {
		e = &entry[K]{}
	} else {
		q.free, e.next = e.next, nil
	}
	e.key = key
	q.entries.set(key, e)
	if q.fairnessKey != nil {
		e.tenant = q.tenants.join(tenant)
	}
	return e
}

// releaseLocked ends an entry's life if there is no more use for it. The entry
// is kept for another key until the table shrinks.
//
// +checklocks:q.mu
func (q *Queue[K]) releaseLocked(e *entry[K]) {
	if e.state != unqueued || e.inFlight {
		return
	}
	if e.tenant != nil {
		q.tenants.leave(e.tenant)
	}
	if q.entries.remove(e.key) {
		q.free = nil
		return
	}
	*e = entry[K]{next: q.free}
	q.free = e
}

// raiseLocked gives e a higher priority, wherever it is queued.
//
// +checklocks:q.mu
func (q *Queue[K]) raiseLocked(e *entry[K], priority int) {
	if e.state == ready {
		q.ready.remove(e)
		q.depthLocked(e, -1)
	}
	e.priority = priority
	if e.state == ready {
		q.ready.append(e)
		q.depthLocked(e, +1)
	}
}

// dueLocked makes e ready, or, while a worker has it, as good as ready. It is
// due since the moment since.
//
// +checklocks:q.mu
func (q *Queue[K]) dueLocked(e *entry[K], since time.Duration) {
	e.since = since
	if e.inFlight {
		e.state = held
		return
	}
	e.state = ready
	q.ready.append(e)
	q.depthLocked(e, +1)
	q.wakeLocked()
}

// +checklocks:q.mu
func (q *Queue[K]) depthLocked(e *entry[K], change int) {
	if q.metrics != nil {
		q.metrics.Depth(e.priority, change)
	}
}

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
			q.takeLocked(e, now)
			return Item[K]{e.key, e.priority, e.takenCauses}, nil
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
func (q *Queue[K]) takeLocked(e *entry[K], now time.Duration) {
	q.depthLocked(e, -1)
	if q.metrics != nil {
		q.metrics.Got(now - e.since)
	}
	e.state, e.inFlight = unqueued, true
	e.taken, e.turn, e.takenPriority = now, q.ready.gets, e.priority
	e.causes, e.takenCauses = nil, e.causes
	e.worker = len(q.inFlight)
	q.inFlight = append(q.inFlight, e)
	if e.tenant != nil {
		q.ready.start(e.tenant, q.tenants.cap)
	}
	if q.minInterval > 0 {
		e.notBefore = later(now, q.minInterval)
	}
	if q.shut {
		q.wakeLocked() // those that wait for what was capped, if this was the last
	}
}

// Done says that a worker has ended with a key. If the key was added meanwhile
// and is due, it is ready now. Done of a key that no worker has changes nothing;
// but when another worker has got the key by then, the queue cannot tell one
// call from the other.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries.get(key)
	if e == nil || !e.inFlight {
		return
	}
	now := q.nowLocked(false)
	q.expireLocked(now)
	if q.metrics != nil {
		q.metrics.Done(now - e.taken)
	}
	e.inFlight, e.takenCauses = false, nil
	last := len(q.inFlight) - 1
	q.inFlight[e.worker], q.inFlight[last].worker = q.inFlight[last], e.worker
	q.inFlight[last] = nil
	q.inFlight = q.inFlight[:last]
	if last == 0 && cap(q.inFlight) > keep {
		q.inFlight = nil
	}
	if e.tenant != nil {
		q.ready.end(e.tenant)
		q.wakeLocked()
	}
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

// Forget ends the key's back-off: the rate limiter counts its failures anew.
// It has nothing to do with whether the key is queued.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues is how often the key was rate limited since Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// Len is how many keys are ready: those that wait for a delay, or are with a
// worker, do not count.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expireLocked(q.nowLocked(false))
	return q.ready.len
}
