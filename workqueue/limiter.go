package workqueue

import "time"

// RateLimiter decides how long a failing key waits before it is tried again. It
// is called by several goroutines at a time.
type RateLimiter[K comparable] interface {
	// When counts a failure of key and returns how long it has to wait.
	When(key K) time.Duration
	// Forget forgets the failures of key: it succeeded, or will not be tried
	// again. A key that is not forgotten is remembered for ever.
	Forget(key K)
	// NumRequeues returns how many failures of key were counted since Forget.
	NumRequeues(key K) int
}

// DefaultControllerRateLimiter returns what a queue uses that was given no rate
// limiter: each key on its own waits 5 ms after its first failure and twice as
// long after each further one, up to 1000 s.
//
// Retries of all keys together are not limited: ten thousand keys that fail at
// once are tried again at once. client-go's limiter of this name has a bucket of
// 100 tokens, refilled at 10/s, besides; controller-runtime's default does not.
// For that behaviour use
//
//	NewMaxOfRateLimiter(DefaultControllerRateLimiter[K](), NewBucketRateLimiter[K](10, 100))
func DefaultControllerRateLimiter[K comparable]() RateLimiter[K] {
	return NewItemExponentialFailureRateLimiter[K](0, 0)
}
