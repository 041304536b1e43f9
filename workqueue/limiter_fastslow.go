package workqueue

import "time"

// NewItemFastSlowRateLimiter returns a limiter that has each key wait fast after
// each of its first maxFast failures, and slow after each further one.
func NewItemFastSlowRateLimiter[K comparable](fast, slow time.Duration, maxFast int) RateLimiter[K] {
	return &fastSlowLimiter[K]{fast: fast, slow: slow, maxFast: maxFast}
}

type fastSlowLimiter[K comparable] struct {
	failures[K]
	fast, slow time.Duration
	maxFast    int
}

func (l *fastSlowLimiter[K]) When(key K) time.Duration {
	if l.count(key) <= l.maxFast {
		return l.fast
	}
	return l.slow
}
