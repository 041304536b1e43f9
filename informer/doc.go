// Package informer keeps a copy of one kind true, and tells whoever wants to
// know what changed.
//
// # Where it sits
//
//	API SERVER ─► client ─► REFLECTOR ─► DELTA FIFO ─► PROCESSOR ─┬─► cache.Indexer
//	              list,     what next?   in order      first the  │   (the Store)
//	              watch     resume,                    store,     │
//	                        list again                 then …     └─► EVENT LOG ─► a goroutine per HANDLER
//	                                                                               ─► controller's source
//
// Three goroutines pass an object on: the Reflector's reads it off the wire,
// transforms it, and puts it into the FIFO; Run's own takes a batch of them out,
// puts them into the Store in one step, and writes down what changed; each
// Handler's reads that log at its own pace. Open step.go and reflector.go first,
// then delta_fifo.go, processor.go and event_log.go.
//
// The Reflector asks two questions, over and over: what is there, and what has
// changed since? An answer to either comes with a resourceVersion, the server's
// word for a place in its history, and the next question is about that place.
// Three requests ask them:
//
//	streaming list   what is there, and then, on the same stream, what changes;
//	                 a bookmark says where the one ends and the other begins
//	paged list       what is there; 500 at a time when any state will do
//	watch            what has changed since a resourceVersion
//
// A streaming list comes first, for it costs least: the server reads from memory
// and sends object by object, where a list is built whole before it is sent, and
// no change can fall between list and watch. Servers that do not know it, and
// networks that do not bear it, get a paged list and then a watch.
//
// It is a state machine:
//
//	Idle ─► Streaming ─► Watching ─► … whatever happens: BackingOff, and watch on;
//	           │            ▲          only if the server has lost the place in its
//	           └► Listing ──┘          history, or a change was not taken: list
//
// State has the whole picture. step.next, a pure function, has all its decisions:
// a step, and how it went, make the next step, so that the tests try all of
// them without a server. What an error means is told by diagnose, how long to
// wait by backoff, when a request has been silent for too long by vigil.
//
// An object that cannot be decoded, or that the Transform function refuses, is
// unread. It is reported, it is in Status, the Store keeps its last readable state,
// and all others go on: unread.go. Its next state mends it.
//
// # Contract
//
//  1. Never back: the position in the server's history only moves forward, when
//     the FIFO has taken the event, and so does the state of each object. The
//     one exception is a list of the newest state, after the server has said that
//     it does not have the last seen position: a server restored from a backup.
//  2. Never lost: after any failure the watch goes on from the last seen
//     position. Only if the server no longer has it (410), does not have it
//     yet (too large), or a change was refused by the Store, everything is listed;
//     what vanished meanwhile comes as a delete whose final state is unknown. A
//     list that was not complete has no effect. An unread object is not taken for
//     one that does not exist; what the Transform function refused is listed
//     again, after 0.8 s and then ever more rarely, up to every 10 minutes. A peer
//     that is dead is noticed after 3 minutes of silence, if it sends bookmarks.
//  3. Never a storm: what fails, or ends at once, is tried again after 0.8 s, and
//     after twice as long each time, up to 30 s, or as long as the server asks.
//  4. Once: each object passes the Transform function once.
//  5. A state that was: the Store goes from one state that the server had to a
//     later one, in one step. Of an object that cannot be read it keeps the last
//     state that could.
//  6. Store first: when a handler hears of a change, the Store has it.
//  7. A legal story: a handler hears, of each object, one add, then updates with
//     rising versions, then one delete. An object of the same name but another
//     UID is another object. What did not change is not told, but for a resync to
//     handlers that ask.
//  8. No latecomers: a handler that joins late hears of every stored object as an
//     add, and then of every later change.
//  9. No hostages: a handler that is slow, or panics, costs no other handler, nor
//     the Store, anything. What it has still to hear of stays in memory: one that
//     coalesces has at most one short story for each object, of any other each
//     event, and Status says how many and how old. It is all given back.
//  10. Everything ends with Run's context, within moments, whatever it waits for;
//     and can be started again, without loss.
//
// # Upstream
//
//	Informer       client-go tools/cache/shared_informer.go, controller.go
//	Reflector      client-go tools/cache/reflector.go; pages: tools/pager
//	streamingList  client-go tools/cache/reflector.go (watchList)
//	step, diagnose client-go tools/cache/reflector.go (ListAndWatch, handleAnyWatch, isWatchErrorRetriable)
//	unread, vigil  no counterpart
//	Metrics        client-go tools/cache/reflector_metrics.go, informer_metrics.go
//	DeltaFIFO      client-go tools/cache/the_real_fifo.go, delta_fifo.go
//	processor      client-go tools/cache/controller.go (processDeltas)
//	eventLog       client-go tools/cache/shared_informer.go (sharedProcessor, processorListener)
//	backoff        apimachinery pkg/util/wait
//
// Differs on purpose: the DeltaFIFO. Upstream has had two.
//
// The classic one, of most tutorials, is a map from key to the deltas of that key
// and a queue of keys. The consumer takes a key with all its deltas, so that a
// key that changes while it waits is one entry:
//
//	pushed    a1 b1 a2 c1 a3
//	queue     a, b, c
//	items     a: [a1 a2 a3]  b: [b1]  c: [c1]
//	popped    a1 a2 a3, then b1, then c1
//
// That saves work when the consumer is slow. The price is that a3 has overtaken
// b1 and c1: the store passes through states that the server never had, and
// no resourceVersion says where it is. And there must be rules about what a queue
// that knows keys may drop, each of which has been a bug: a delete that waits when
// a replace brings the object back (k8s#83810), an early delete of what the store
// does not have yet, a resync that finds a delta and tells an old state again.
//
// The later one, the RealFIFO, is a plain queue in order of arrival. It has come to
// take a relist as one delta, and bookmarks too, so that the store always is at
// one place in history, and says which.
//
// Ours is only that: one slice, in order, a relist as one Replaced that carries
// its resourceVersion. It knows no keys and no store, so that there is nothing to
// drop and no rule to get wrong. The difference between a Replaced and the store,
// and so the tombstones, is made by the consumer (change.go), who alone knows what
// the store has by then. Draining is two slices that swap. It is bounded: the
// consumer waits for nobody, so that a full queue means a machine out of breath.
// And it can refuse: when the store could not take a delta, nothing that follows
// is taken until the next Replaced, so that there is no hole that a higher
// resourceVersion hides.
//
// Compressing by key was worth having, but at the other end, where a slow
// handler is: there it costs the store nothing (backlog.go).
//
// Why a queue at all, and not the Reflector's goroutine on to the store? It was
// tried: at 1000 events a second the hop could not be told from noise, in CPU or in
// latency (p50 9 to 15 µs with it and without), and in a burst the batches that it makes
// cost the store less than single updates do, while the reader reads on.
//
// Differs on purpose: all else. The watch resumes after every error that does not
// forbid it, where upstream lists the world again; a store's or a transform's
// refusal is retried, where upstream loses the object; one log with a cursor per
// handler, where upstream has three goroutines and a ring for each; a panic of a
// handler is contained and counted, where upstream ends the process; an update to
// another UID is a delete and an add; Run can be called again.
package informer
