package workqueue

import (
	"math/bits"
	"time"
)

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
)

// NewItemExponentialFailureRateLimiter returns a limiter that has each key wait
// base after its first failure, twice as long after each further one, and never
// longer than max. A base that is not positive means 5 ms, a max that is not
// positive 1000 s.
func NewItemExponentialFailureRateLimiter[K comparable](base, max time.Duration) RateLimiter[K] {
	if base <= 0 {
		base = defaultBaseDelay
	}
	if max <= 0 {
		max = defaultMaxDelay
	}
	return &exponentialLimiter[K]{base: base, max: max}
}

type exponentialLimiter[K comparable] struct {
	failures[K]
	base, max time.Duration
}

func (l *exponentialLimiter[K]) When(key K) time.Duration {
	before := l.count(key) - 1
	// base<<before has as many bits as base, and before more.
	if bits.Len64(uint64(l.base))+before > 63 {
		return l.max
	}
	return min(l.base<<before, l.max)
}
