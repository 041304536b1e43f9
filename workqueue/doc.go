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
//     for. With a FairnessKey that holds among the keys that share one; and the
//     fairness keys which have something ready at a priority take turns, a key
//     each. A fairness key never has more than MaxPerFairnessKey keys with
//     workers, and one that has as many hides nothing of others.
//  5. Urgent first: Get returns a key of the highest priority that is ready. A
//     delay is no obstacle to others: what is not ready yet hides nothing. With
//     Ageing every eighth Get returns what has been ready longest, if that is
//     longer than Ageing: so nothing starves, and the urgent keep seven eighths.
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
//     key is remembered by the rate limiter until Forget, and every key by the
//     queue for MinInterval. What goes round allocates nothing.
//  13. Paced: with Debounce no Add has a shorter delay than that; later Adds do
//     not make it longer. With MinInterval a worker gets a key no sooner after
//     a worker last got it than that. What is held back by either waits as if it
//     was added with a delay: contracts 6 and 9 hold for it.
//  14. Causes: with a key comes out why it was added, by every Add since it last
//     came out, or by the latest eight of them. What is added while a worker has
//     the key is a cause of its next run.
//
// All methods may be called by any number of goroutines at a time.
//
// # Upstream
//
//	Queue                     client-go util/workqueue/{queue,delaying_queue,rate_limiting_queue}.go
//	                          and controller-runtime pkg/controller/priorityqueue/priorityqueue.go
//	Queue.AddWith             priorityqueue.PriorityQueue.AddWithOpts
//	Queue.Get                 priorityqueue.PriorityQueue.GetWithPriority
//	Queue.Snapshot, Causes    none
//	Options.FairnessKey       controller-runtime PR 3261, not merged
//	Queue.Unfinished          client-go util/workqueue/metrics.go (updateUnfinishedWork)
//	RateLimiter, New…Limiter  client-go util/workqueue/default_rate_limiters.go
//	Metrics                   client-go util/workqueue/metrics.go (MetricsProvider)
//	lanes, flow, wheel        priorityqueue's two btrees
//
// Differs on purpose: one type is what upstream spreads over four interfaces and
// two packages, and there is no Typed… twin. Get takes a context.
// ShutDownWithDrain drains: upstream's plain queue waits only for what workers
// have, its priority queue for nothing. Done twice does not put a key in twice.
// Adding never blocks (upstream's AddAfter does, when a thousand are unread). A
// key that was added while a worker had it queues up when that worker is done,
// as in client-go; upstream's priority queue has it keep the place of its Add.
// Len and the depth metric count what is ready, and so leave out that key until
// then; what waits for its fairness key's cap they count.
//
// Retries of all keys together are not throttled by default. client-go's default
// limiter has a bucket of 10 a second for that, controller-runtime's has none any
// more; here it is an option, see [DefaultControllerRateLimiter].
//
// Ageing is often done by raising a key's priority while it waits. That turns a
// queue that cannot keep up into first in, first out: when the objects of a
// large initial list have aged, every live event stands behind all of them. Here
// what has aged gets a share instead, one Get of eight.
package workqueue
