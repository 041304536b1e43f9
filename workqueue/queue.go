package workqueue

import (
	"context"
	"time"
)

// Queue hands each key to one worker at a time.
type Queue[K comparable] struct{}

// Options tunes a Queue. The zero value, and nil, are ready to use.
type Options[K comparable] struct {
	// Name is used in errors and snapshots.
	Name string
	// RateLimiter decides the delay of AddRateLimited; nil means DefaultControllerRateLimiter.
	RateLimiter RateLimiter[K]
	// Metrics hears of what happens; nil means nobody.
	Metrics Metrics
}

// AddOptions says how AddWith adds.
type AddOptions struct {
	// After is the delay; zero and negative mean at once.
	After time.Duration
	// RateLimited adds the rate limiter's delay.
	RateLimited bool
	// Priority; higher comes first, the ordinary is 0.
	Priority int
}

// Item is a key in a worker's hands.
type Item[K comparable] struct {
	Key      K
	Priority int
}

// New returns an empty Queue.
func New[K comparable](o *Options[K]) *Queue[K] { panic("skeleton") }

// Add adds at priority 0, at once.
func (q *Queue[K]) Add(key K) { panic("skeleton") }

// AddAfter adds when d has passed.
func (q *Queue[K]) AddAfter(key K, d time.Duration) { panic("skeleton") }

// AddRateLimited adds when the rate limiter says so.
func (q *Queue[K]) AddRateLimited(key K) { panic("skeleton") }

// AddWith is the general form of Add.
func (q *Queue[K]) AddWith(o AddOptions, keys ...K) { panic("skeleton") }

// Get waits for a key that is ready. It returns ErrShutDown when there will be none, or ctx's error.
func (q *Queue[K]) Get(ctx context.Context) (Item[K], error) { panic("skeleton") }

// Done says that a worker has ended with a key.
func (q *Queue[K]) Done(key K) { panic("skeleton") }

// Forget ends the key's back-off.
func (q *Queue[K]) Forget(key K) { panic("skeleton") }

// NumRequeues is how often the key was rate limited since Forget.
func (q *Queue[K]) NumRequeues(key K) int { panic("skeleton") }

// Len is how many keys are ready.
func (q *Queue[K]) Len() int { panic("skeleton") }

// ShutDown ends the queue; nothing more goes in.
func (q *Queue[K]) ShutDown() { panic("skeleton") }

// RateLimiter decides how long a failing key waits.
type RateLimiter[K comparable] interface {
	When(key K) time.Duration
	Forget(key K)
	NumRequeues(key K) int
}

// Metrics hears of one queue's life. Implementations use only predeclared types and package time.
type Metrics interface {
	// Added counts an Add; retry says that it was delayed or rate limited.
	Added(retry bool)
	// Depth says that the number of ready keys of a priority changed.
	Depth(priority, change int)
	// Got says how long a key waited from its (ready) Add to Get.
	Got(waited time.Duration)
	// Done says how long a worker had a key.
	Done(worked time.Duration)
}
