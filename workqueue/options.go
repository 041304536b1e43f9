package workqueue

import "time"

// Options tunes a Queue. The zero value, and nil, are ready to use.
type Options[K comparable] struct {
	// Name is in snapshots and in the error of ShutDownWithDrain. It may be empty.
	Name string
	// RateLimiter decides the delay of AddRateLimited. Nil means
	// DefaultControllerRateLimiter. It is called while the queue is not locked.
	RateLimiter RateLimiter[K]
	// Metrics hears of what happens; nil means nobody.
	Metrics Metrics
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
}

// Item is a key in a worker's hands.
type Item[K comparable] struct {
	// Key is what to work on, and what to call Done with.
	Key K
	// Priority is the one with which it came out. A worker that adds the key
	// again uses it so that a retry is as urgent as the first try.
	Priority int
}
