package workqueue

import "time"

// Metrics hears of one queue's life. Its methods have only predeclared types and
// package time, so that whoever keeps the numbers need not import this package.
//
// The queue calls them while it is locked: they must be quick, and must not call
// the queue. Together with [Queue.Unfinished], which is asked and not told, they
// make the seven metrics of client-go.
type Metrics interface {
	// Added says that a key which was not queued is now; retry says that it has
	// to wait, so it was added with a delay or by the rate limiter. A key that is
	// queued already is not counted again.
	// Upstream: workqueue_adds_total; workqueue_retries_total.
	Added(retry bool)
	// Depth says that the number of keys which are ready, and have this
	// priority, changed. The sum of all changes is [Queue.Len].
	// Upstream: workqueue_depth.
	Depth(priority, change int)
	// Got says that a worker took a key, and how long that had been due.
	// Upstream: workqueue_queue_duration_seconds.
	Got(waited time.Duration)
	// Done says that a worker has ended with a key, and how long it had it.
	// Upstream: workqueue_work_duration_seconds.
	Done(worked time.Duration)
}

// Unfinished says how long workers have been busy with what they have now, in
// sum, and how long the one that has been busy longest. Both grow without end
// when workers are stuck. It costs a step per worker: ask when the numbers are
// read. Without Options.Metrics the queue does not keep the time, and both are 0.
// Upstream: workqueue_unfinished_work_seconds and
// workqueue_longest_running_processor_seconds.
func (q *Queue[K]) Unfinished() (total, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.nowLocked(false)
	for _, w := range q.inFlight {
		total += now - w.taken
		longest = max(longest, now-w.taken)
	}
	return total, longest
}

// Oldest says how long the key that has been ready longest has been so; 0 if none
// is. It costs a step per priority and fairness key, of which it looks at the
// first in line. Without Options.Metrics the queue does not keep the time, and it
// is 0. Upstream: none.
func (q *Queue[K]) Oldest() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.nowLocked(false)
	q.expireLocked(now)
	var oldest time.Duration
	for f := range q.ready.all() {
		oldest = max(oldest, now-f.first.since)
	}
	return oldest
}
