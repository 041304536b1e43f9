package workqueue

import (
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
// A key that is unqueued and not in flight is forgotten; but with a MinInterval
// it is resting until that is over, so that an Add finds out how long to wait.
//
// What is ready stands in a lane by its priority, and there in a flow by its
// fairness key:
//
//	lanes ─┬─ lane 10 ──── flow tenant-a   x y z
//	       └─ lane 0 ──┬── flow tenant-a   u
//	                   └── flow tenant-b   v w
//
// Get goes to the highest lane, to its flow whose turn it is, and takes the
// first. A flow whose tenant has as many keys in flight as it may is closed: it
// stands in no line until a Done opens it. With Ageing another line goes through
// all flows that are open, by how long their first entry has been ready.
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
	//  2. ready has exactly the entries in state ready, each once, in the lane of
	//     its priority and the flow of its tenant. Open are the flows with
	//     entries whose tenant is not capped; busy are all lanes with such flows.
	//  3. waiting has exactly the entries in state waiting or resting, each once.
	//  4. inFlight has exactly the entries that are in flight, each once.
	//  5. Nothing is ready or resting and in flight; what is held is in flight.
	//  6. Each item of a heap knows its index, and none comes before its parent.
	//     Each slot of the wheel has what belongs there.
	//  7. The timer goes off when the earliest of waiting is due, or before.
	//  8. While somebody waits in Get, as many have been woken as keys may be
	//     taken, or more.
	//  9. When shut, nothing waits and no timer is set; drained is closed if,
	//     and only if, nothing is left.
	//  10. Entries in free hold no key.
	//  11. tenants has exactly those that have entries. Capped are those that have
	//     as many in flight as they may.

	entries  table[K, *entry[K]] // +checklocks:mu
	tenants  tenants[K]          // +checklocks:mu
	ready    lanes[K]            // +checklocks:mu
	waiting  wheel[K]            // +checklocks:mu
	inFlight []work[K]           // +checklocks:mu
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

// Forget ends the key's back-off: the rate limiter counts its failures anew.
// It has nothing to do with whether the key is queued.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues is how often the key was rate limited since Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// Len is how many keys are ready: those that wait for a delay, or are with a
// worker, do not count; those that only wait for MaxPerFairnessKey do.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expireLocked(q.nowLocked(false))
	return q.ready.len
}
