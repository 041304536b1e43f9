package workqueue

import "time"

// NewMaxOfRateLimiter returns a limiter that asks all limiters and has a key wait
// for the longest of their answers. Without limiters nothing waits.
//
// Each of them counts each failure: a bucket among them gives out a token also
// when another's answer is longer.
func NewMaxOfRateLimiter[K comparable](limiters ...RateLimiter[K]) RateLimiter[K] {
	return maxOfLimiter[K](limiters)
}

type maxOfLimiter[K comparable] []RateLimiter[K]

func (ls maxOfLimiter[K]) When(key K) time.Duration {
	var longest time.Duration
	for _, l := range ls {
		longest = max(longest, l.When(key))
	}
	return longest
}

func (ls maxOfLimiter[K]) Forget(key K) {
	for _, l := range ls {
		l.Forget(key)
	}
}

func (ls maxOfLimiter[K]) NumRequeues(key K) int {
	var most int
	for _, l := range ls {
		most = max(most, l.NumRequeues(key))
	}
	return most
}
