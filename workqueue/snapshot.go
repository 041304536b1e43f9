package workqueue

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Snapshot is what a queue holds at one moment, for people to look at.
type Snapshot[K comparable] struct {
	// Name is the queue's.
	Name string
	// Ready are the keys that a worker can have, in the order in which they
	// would come out if none aged; those that are capped stand last.
	Ready []SnapshotItem[K]
	// Waiting are the keys whose delay has not passed, the next one first.
	Waiting []SnapshotItem[K]
	// InFlight are the keys that workers have, the longest first. Such a key may
	// be in Waiting as well.
	InFlight []SnapshotItem[K]
}

// SnapshotItem is one key of a [Snapshot].
type SnapshotItem[K comparable] struct {
	Key K
	// Priority with which it is queued; in flight: with which it came out.
	Priority int
	// Since when it is ready, waiting, or in flight. It is zero if the queue has
	// neither Metrics nor Ageing nor a MinInterval: then it does not keep the time.
	Since time.Time
	// Next is when a waiting key will be ready; otherwise zero.
	Next time.Time
	// Attempts is how often the rate limiter was asked since Forget.
	Attempts int
	// Causes is why it is queued; in flight: why it came out.
	Causes *Causes
	// Capped says of a ready key that as many of its fairness key are in flight
	// as may be.
	Capped bool
	// Again says of a key in flight that it was added meanwhile and is due: it
	// comes out once more after Done.
	Again bool
}

// Snapshot returns what the queue holds now. It copies and sorts while the queue
// is locked, about a millisecond for ten thousand keys: it is meant for a debug
// page, not for a loop.
func (q *Queue[K]) Snapshot() Snapshot[K] {
	s := q.copy()
	for _, items := range [][]SnapshotItem[K]{s.Ready, s.Waiting, s.InFlight} {
		for i := range items {
			items[i].Attempts = q.limiter.NumRequeues(items[i].Key)
		}
	}
	return s
}

// copy is all of a Snapshot that does not need the rate limiter, which is not
// called while the queue is locked.
func (q *Queue[K]) copy() Snapshot[K] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expireLocked(q.nowLocked(false))

	s := Snapshot[K]{Name: q.name}
	queued := func(e *entry[K]) SnapshotItem[K] {
		return SnapshotItem[K]{
			Key: e.key, Priority: e.priority, Since: q.timeOf(e.since), Causes: e.causes.clone(),
			Capped: e.state == ready && e.tenant != nil && e.tenant.capped,
		}
	}
	for e := range q.ready.sorted() {
		s.Ready = append(s.Ready, queued(e))
	}
	for _, e := range q.waiting.sorted() {
		if e.state == waiting {
			item := queued(e)
			item.Next = q.made.Add(e.due)
			s.Waiting = append(s.Waiting, item)
		}
	}
	inFlight := slices.Clone(q.inFlight)
	slices.SortFunc(inFlight, func(a, b work[K]) int { return cmp.Compare(a.turn, b.turn) })
	for _, w := range inFlight {
		s.InFlight = append(s.InFlight, SnapshotItem[K]{
			Key: w.key, Priority: w.priority, Since: q.timeOf(w.taken), Causes: w.causes, Again: w.state == held,
		})
	}
	return s
}

// timeOf is when a moment is on the clock; zero if the queue does not look at it.
func (q *Queue[K]) timeOf(moment time.Duration) time.Time {
	if !q.timed {
		return time.Time{}
	}
	return q.made.Add(moment)
}

// all yields every flow that has entries, in no order.
func (ls *lanes[K]) all() iter.Seq[*flow[K]] {
	return func(yield func(*flow[K]) bool) {
		for _, l := range ls.byPriority.m {
			if l.only.first != nil && !yield(&l.only) {
				return
			}
			for _, f := range l.flows.m {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// sorted yields every entry, in the order of pop without ageing; at last those
// that are capped.
func (ls *lanes[K]) sorted() iter.Seq[*entry[K]] {
	return func(yield func(*entry[K]) bool) {
		for _, busy := range ls.busy.sorted() {
			var heads []*entry[K]
			if first := busy.item.only.first; first != nil {
				heads = append(heads, first)
			}
			for _, s := range busy.item.turns.sorted() {
				heads = append(heads, s.item.first)
			}
			for len(heads) > 0 { // one of each flow
				left := heads[:0]
				for _, e := range heads {
					if !yield(e) {
						return
					}
					if e.next != nil {
						left = append(left, e.next)
					}
				}
				heads = left
			}
		}
		var capped []*flow[K]
		for f := range ls.all() {
			if f.tenant != nil && f.tenant.capped {
				capped = append(capped, f)
			}
		}
		slices.SortFunc(capped, func(a, b *flow[K]) int {
			return cmp.Or(cmp.Compare(b.lane.priority, a.lane.priority), cmp.Compare(a.tenant.name, b.tenant.name))
		})
		for _, f := range capped {
			for e := f.first; e != nil; e = e.next {
				if !yield(e) {
					return
				}
			}
		}
	}
}
