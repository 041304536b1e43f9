package workqueue

import "time"

// NewWithMaxWaitRateLimiter returns a limiter that does as limiter does, but has
// no key wait longer than max.
func NewWithMaxWaitRateLimiter[K comparable](limiter RateLimiter[K], max time.Duration) RateLimiter[K] {
	return &maxWaitLimiter[K]{limiter, max}
}

type maxWaitLimiter[K comparable] struct {
	RateLimiter[K]
	max time.Duration
}

func (l *maxWaitLimiter[K]) When(key K) time.Duration {
	return min(l.RateLimiter.When(key), l.max)
}
