package workqueue

import (
	"math"
	"math/rand/v2"
	"time"
)

// NewJitterRateLimiter returns a limiter that does as limiter does, but has a key
// wait longer by a random share of up to fraction: with 0.1 and a limiter that
// says 10 s, for 10 to 11 s. So keys that failed together are not all tried again
// together. A fraction that is not a positive number means none.
//
// Upstream: none; client-go has wait.Jitter.
func NewJitterRateLimiter[K comparable](limiter RateLimiter[K], fraction float64) RateLimiter[K] {
	return &jitterLimiter[K]{limiter, fraction}
}

type jitterLimiter[K comparable] struct {
	RateLimiter[K]
	fraction float64
}

func (l *jitterLimiter[K]) When(key K) time.Duration {
	wait := l.RateLimiter.When(key)
	if !(l.fraction > 0) || wait <= 0 { // so that it holds for NaN as well
		return wait
	}
	more := rand.Float64() * l.fraction * float64(wait)
	if more >= float64(math.MaxInt64-wait) {
		return math.MaxInt64
	}
	return wait + time.Duration(more)
}
