// Package workqueue hands each key to one worker at a time: at once, later, or
// when its back-off allows, the most urgent first.
//
// # Where it sits
//
//	informer ─► source ─► handler ─► WORKQUEUE ─► controller ─► Reconcile
//	                                     ▲                          │
//	                                     └── AddWith, after a run ──┘
//
// It imports no other layer, and knows nothing of objects: a key is any
// comparable value that equals itself (a float that is not a number does not).
//
// # Contract
//
//  1. Stingy: a key that is added again before a worker has taken it comes out
//     once.
//  2. Exclusive: from Get until Done a key is with one worker and no other.
//  3. Not lossy: a key that is added while a worker has it comes out again after
//     Done, once, however often it was added. So after every Add a run starts
//     that has not begun yet at that moment.
//  4. Fair: keys of one priority come out in the order in which they became
//     ready: by Add, by the end of their delay, or by the Done that they waited
//     for.
//  5. Urgent first: Get returns a key of the highest priority that is ready. A
//     delay is no obstacle to others: what is not ready yet hides nothing.
//  6. Adding never takes away: while a key is queued, the highest of its
//     priorities and the earliest of its times count. A key whose priority is
//     raised goes behind those which have that priority already.
//  7. A delay of zero or less is none. The longest duration there is does not
//     wrap round.
//  8. Done of a key that no worker has changes nothing.
//  9. After ShutDown nothing comes in and what was delayed is dropped; what is
//     ready, or is with a worker and was added again, still comes out. Then Get
//     returns ErrShutDown. ShutDownWithDrain waits until all of that is done.
//  10. A Get whose context has ended takes nothing, and keeps no key from
//     another worker.
//  11. A queue owns no goroutine and has at most one timer; none after ShutDown.
//  12. Memory follows what is queued: after a burst it is given back. A failing
//     key is remembered by the rate limiter until Forget.
//
// All methods may be called by any number of goroutines at a time.
//
// # Upstream
//
//	Queue                     client-go util/workqueue/{queue,delaying_queue,rate_limiting_queue}.go
//	                          and controller-runtime pkg/controller/priorityqueue/priorityqueue.go
//	Queue.AddWith             priorityqueue.PriorityQueue.AddWithOpts
//	Queue.Get                 priorityqueue.PriorityQueue.GetWithPriority
//	Queue.Snapshot            none
//	Queue.Unfinished          client-go util/workqueue/metrics.go (updateUnfinishedWork)
//	RateLimiter, New…Limiter  client-go util/workqueue/default_rate_limiters.go
//	Metrics                   client-go util/workqueue/metrics.go (MetricsProvider)
//
// Differs on purpose: one type is what upstream spreads over four interfaces and
// two packages, and there is no Typed… twin. Get takes a context.
// ShutDownWithDrain drains: upstream's plain queue waits only for what workers
// have, its priority queue for nothing. Done twice does not put a key in twice.
// Adding never blocks (upstream's AddAfter does, when a thousand are unread). A
// key that was added while a worker had it queues up when that worker is done,
// as in client-go; upstream's priority queue has it keep the place of its Add.
// Len and the depth metric count what a worker could take now, and so leave
// out that key until then. The default rate limiter has no bucket, see
// [DefaultControllerRateLimiter].
package workqueue
