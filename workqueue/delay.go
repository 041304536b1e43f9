package workqueue

import (
	"math"
	"time"
)

// never is the moment that does not come.
const never = time.Duration(math.MaxInt64)

// now is the time since the queue was made. Moments are such durations: they
// are a third of a [time.Time] in size, cheaper to get, and do not jump when
// somebody sets the clock.
func (q *Queue[K]) now() time.Duration { return time.Since(q.made) }

// later is now plus delay, or never if that is out of range.
func later(now, delay time.Duration) time.Duration {
	if delay > never-now {
		return never
	}
	return now + delay
}

// delayLocked makes e, which is not due, wait for delay; or for less, if it
// would be due earlier as it is.
//
// +checklocks:q.mu
func (q *Queue[K]) delayLocked(e *entry[K], now, delay time.Duration) {
	due := int64(later(now, delay))
	if e.state != waiting {
		e.state = waiting
		q.waiting.push(due, e)
	} else if due < q.waiting.slots[e.index].rank {
		q.waiting.move(e.index, due)
	}
	q.armLocked(now)
}

// expireLocked makes everything ready whose delay has passed. All methods that
// look at what is ready call it first, so that what they see depends on the
// time and not on when the timer's goroutine gets to run.
//
// +checklocks:q.mu
func (q *Queue[K]) expireLocked(now time.Duration) {
	for q.waiting.len() > 0 {
		e, due := q.waiting.top()
		if due > int64(now) {
			return
		}
		q.waiting.remove(e.index)
		q.dueLocked(e, time.Duration(due))
	}
}

// armLocked sees to it that the timer goes off by the time the earliest of the
// waiting is due. A timer that is set too early is left alone: it will find
// nothing to do and be set anew, which is cheaper than setting it back each
// time that a waiting key is added at once.
//
// +checklocks:q.mu
func (q *Queue[K]) armLocked(now time.Duration) {
	if q.waiting.len() == 0 {
		return
	}
	_, rank := q.waiting.top()
	due := time.Duration(rank)
	if due >= q.armed {
		return
	}
	q.armed = due
	if q.timer == nil {
		q.timer = time.AfterFunc(due-now, q.onTimer)
	} else {
		q.timer.Reset(due - now)
	}
}

// onTimer is what the timer runs, in a goroutine of its own that ends with it.
func (q *Queue[K]) onTimer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.armed = never
	q.expireLocked(now)
	q.armLocked(now)
}

// disarmLocked drops everything that waits, and the timer.
//
// +checklocks:q.mu
func (q *Queue[K]) disarmLocked() {
	for q.waiting.len() > 0 {
		last := q.waiting.len() - 1
		e := q.waiting.slots[last].item
		q.waiting.remove(last)
		e.state = unqueued
		q.releaseLocked(e)
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.armed = never
}
