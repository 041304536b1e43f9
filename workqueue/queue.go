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
	name    string
	limiter RateLimiter[K]
	metrics Metrics
	made    time.Time     // moments count from here, see now
	drained chan struct{} // closed when the queue is shut down and empty

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
	ready    lanes[K]            // +checklocks:mu
	waiting  heap[*entry[K]]     // +checklocks:mu
	inFlight list[K]             // +checklocks:mu
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
		name:    o.Name,
		limiter: limiter,
		metrics: o.Metrics,
		made:    time.Now(),
		drained: make(chan struct{}),
		armed:   never,
	}
}

// Add adds key at priority 0, at once.
func (q *Queue[K]) Add(key K) { q.add(key, 0, 0) }

// AddAfter adds key at priority 0 when d has passed; at once if d is zero or
// less. A key that is ready stays so, and one that waits comes out at the
// earlier of both times.
func (q *Queue[K]) AddAfter(key K, d time.Duration) { q.add(key, 0, d) }

// AddRateLimited adds key at priority 0 when the rate limiter says so.
func (q *Queue[K]) AddRateLimited(key K) { q.AddWith(AddOptions{RateLimited: true}, key) }

// AddWith is the general form of Add, for several keys.
// Upstream: PriorityQueue.AddWithOpts.
func (q *Queue[K]) AddWith(o AddOptions, keys ...K) {
	for _, key := range keys {
		delay := o.After
		if o.RateLimited {
			limit := q.limiter.When(key)
			if delay <= 0 || limit < delay {
				delay = limit
			}
		}
		q.add(key, o.Priority, delay)
	}
}

func (q *Queue[K]) add(key K, priority int, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return
	}
	now := q.now()
	q.expireLocked(now)
	e := q.entries.get(key)
	if e == nil {
		e = q.newEntryLocked(key)
	}
	if e.state == unqueued {
		e.priority, e.since = priority, now
		if q.metrics != nil {
			q.metrics.Added(delay > 0)
		}
	} else if priority > e.priority {
		q.raiseLocked(e, priority)
	}
	switch {
	case e.state == ready || e.state == held:
		// It is due already; a delay cannot take that back.
	case delay <= 0:
		if e.state == waiting {
			q.waiting.remove(e.index)
		}
		q.dueLocked(e, now)
	default:
		q.delayLocked(e, now, delay)
	}
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
		now := q.now()
		q.expireLocked(now)
		if e := q.ready.pop(); e != nil {
			q.depthLocked(e, -1)
			if q.metrics != nil {
				q.metrics.Got(now - e.since)
			}
			e.state, e.inFlight = unqueued, true
			e.taken, e.takenPriority = now, e.priority
			q.inFlight.append(e)
			return Item[K]{e.key, e.priority}, nil
		}
		if q.shut {
			return Item[K]{}, ErrShutDown
		}
		q.waitLocked(ctx)
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
	if q.waiting.len() > 0 {
		q.expireLocked(q.now())
	}
	if q.metrics != nil {
		q.metrics.Done(q.now() - e.taken)
	}
	q.inFlight.remove(e)
	e.inFlight = false
	switch e.state {
	case held:
		q.dueLocked(e, e.since)
	case unqueued:
		q.releaseLocked(e)
		q.drainedLocked()
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
	q.expireLocked(q.now())
	return q.ready.len
}
