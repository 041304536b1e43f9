package workqueue

import (
	"math"
	"time"
)

// never is the moment that does not come.
const never = time.Duration(math.MaxInt64)

// nowLocked is the time since the queue was made. Moments are such durations:
// they are a third of a [time.Time] in size, cheaper to get, and do not jump when
// somebody sets the clock.
//
// To read the clock costs as much as the rest of an Add. So it is read only if
// the caller must know, something waits, or somebody asks how long keys take;
// otherwise the answer is 0.
//
// +checklocks:q.mu
func (q *Queue[K]) nowLocked(must bool) time.Duration {
	if !must && !q.timed && q.waiting.len == 0 {
		return 0
	}
	return time.Since(q.made)
}

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
	due := later(now, delay)
	switch {
	case e.state == waiting && due >= e.due:
		return
	case e.state == waiting || e.state == resting:
		q.waiting.remove(e)
	}
	e.state = waiting
	q.waiting.put(e, now, due)
	q.armLocked(now)
}

// restLocked keeps e, of which no run is asked for, until the next may begin. It
// says whether there is anything to wait for.
//
// +checklocks:q.mu
func (q *Queue[K]) restLocked(e *entry[K], now time.Duration) bool {
	if q.shut || e.notBefore <= now {
		return false
	}
	e.state = resting
	q.waiting.put(e, now, e.notBefore)
	q.armLocked(now)
	return true
}

// expireLocked makes everything ready whose delay has passed. All methods that
// look at what is ready call it first, so that what they see depends on the
// time and not on when the timer's goroutine gets to run.
//
// +checklocks:q.mu
func (q *Queue[K]) expireLocked(now time.Duration) {
	if q.waiting.len > 0 { // apart, so that this much is inlined
		q.expireWaitingLocked(now)
	}
}

// +checklocks:q.mu
func (q *Queue[K]) expireWaitingLocked(now time.Duration) {
	for e := q.waiting.pop(now); e != nil; e = q.waiting.pop(now) {
		if e.state == resting {
			e.state = unqueued
			q.releaseLocked(e)
		} else {
			q.dueLocked(e, e.due)
		}
	}
}

// armLocked sees to it that the timer goes off by the time the earliest of the
// waiting is due. A timer that is set too early is left alone: it will find
// nothing to do and be set anew, which is cheaper than setting it back each
// time that a waiting key is added at once.
//
// +checklocks:q.mu
func (q *Queue[K]) armLocked(now time.Duration) {
	if q.waiting.len == 0 {
		return
	}
	alarm := q.waiting.alarm()
	if alarm >= q.armed {
		return
	}
	q.armed = alarm
	if q.timer == nil {
		q.timer = time.AfterFunc(alarm-now, q.onTimer)
	} else {
		q.timer.Reset(alarm - now)
	}
}

// onTimer is what the timer runs, in a goroutine of its own that ends with it.
func (q *Queue[K]) onTimer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.nowLocked(true)
	q.armed = never
	q.expireLocked(now)
	q.armLocked(now)
}

// disarmLocked drops everything that waits, and the timer.
//
// +checklocks:q.mu
func (q *Queue[K]) disarmLocked() {
	for e := q.waiting.pop(never); e != nil; e = q.waiting.pop(never) {
		e.state, e.causes = unqueued, nil
		q.releaseLocked(e)
	}
	q.waiting = wheel[K]{}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.armed = never
}
