package workqueue

import "time"

// Options tunes a Queue. The zero value, and nil, are ready to use; what is not
// used costs nothing.
type Options[K comparable] struct {
	// Name is in snapshots and in the error of ShutDownWithDrain. It may be empty.
	Name string
	// RateLimiter decides the delay of AddRateLimited. Nil means
	// DefaultControllerRateLimiter. It is called while the queue is not locked.
	RateLimiter RateLimiter[K]
	// Metrics hears of what happens; nil means nobody, and then the queue does not
	// look at the clock unless it must.
	Metrics Metrics

	// FairnessKey says on whose behalf a key is worked on, a namespace for
	// example. Keys of one priority then come out by turns, one of each fairness
	// key, so that who has ten thousand does not hold up who has one. Nil means
	// that all have the same. It is called once per Add, while the queue is not
	// locked, and must give the same answer for a key each time.
	FairnessKey func(key K) string
	// MaxPerFairnessKey is how many keys of one fairness key may be with workers
	// at a time; the others wait, and hold nobody else up. Zero or less means any
	// number. It needs FairnessKey. To reach it or to fall below it costs a step
	// per priority at which that fairness key has something ready.
	MaxPerFairnessKey int

	// Ageing is how long a key may be ready before it gets help against more
	// urgent ones: every eighth Get is for the key that has been ready longest, if
	// that is Ageing or more. So a key that has aged comes out with one of the
	// next 8·(n+1) Gets, if n ready keys are older or stand before it among those
	// of its priority and fairness key; and the urgent keep seven Gets of eight.
	// (While MaxPerFairnessKey bars it, it waits on.) Zero or less means that
	// priorities are strict.
	Ageing time.Duration

	// Debounce is the least delay of an Add: a key comes out that much later than
	// it was added, and what is added meanwhile joins it. The time runs from the
	// first Add on, so that a key which is added all the time comes out as well.
	// Zero or less means none.
	Debounce time.Duration
	// MinInterval is the least time from when a worker gets a key until one gets
	// that key again. The queue remembers each key for that long. Zero or less
	// means none.
	MinInterval time.Duration
}

// AddOptions says how AddWith adds. The zero value adds as Add does.
type AddOptions struct {
	// After is the delay; zero and negative mean at once.
	After time.Duration
	// RateLimited asks the rate limiter for the delay, and counts a failure of
	// the key by that. When After is positive too, the shorter of both counts.
	RateLimited bool
	// Priority: higher comes first, the ordinary is 0.
	Priority int
	// Cause is why the keys are added, for people to read: it is in [Item.Causes]
	// and in snapshots. It must not be changed afterwards. Nil means that it is
	// not told.
	Cause any
}

// Item is a key in a worker's hands.
type Item[K comparable] struct {
	// Key is what to work on, and what to call Done with.
	Key K
	// Priority is the one with which it came out. A worker that adds the key
	// again uses it so that a retry is as urgent as the first try.
	Priority int
	// Causes is why it came out: the causes of all Adds since a worker last got
	// the key.
	Causes *Causes
}
