package workqueue

import (
	"math"
	"sync"
	"time"
)

const (
	defaultQPS   = 10
	defaultBurst = 100
	// maxQPS is a token per nanosecond: no clock tells more apart.
	maxQPS = 1e9
)

// NewBucketRateLimiter returns a limiter for all keys together: a token bucket
// that holds burst tokens, is full at first, and gets qps new ones a second. Each
// call of When takes one. If there is none, it reserves the next that nobody has
// reserved, and the key waits until that comes. So what arrives at once is spread
// out, at qps a second, and no call is turned away.
//
// It does not know the keys: to forget one gives no token back. A qps that is not
// a positive number means 10, a burst that is not positive means 100.
func NewBucketRateLimiter[K comparable](qps float64, burst int) RateLimiter[K] {
	if !(qps > 0) { // so that it holds for NaN as well
		qps = defaultQPS
	}
	if burst <= 0 {
		burst = defaultBurst
	}
	return &bucketLimiter[K]{qps: min(qps, maxQPS), burst: float64(burst), filled: time.Now(), tokens: float64(burst)}
}

type bucketLimiter[K comparable] struct {
	qps   float64
	burst float64

	mu     sync.Mutex
	filled time.Time // +checklocks:mu

	// tokens is how many there were when it was filled. Below zero are those that
	// are reserved and yet to come.
	tokens float64 // +checklocks:mu
}

func (l *bucketLimiter[K]) When(K) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tokens = min(l.burst, l.tokens+l.qps*now.Sub(l.filled).Seconds())
	l.filled = now
	l.tokens--
	if l.tokens >= 0 {
		return 0
	}
	wait := math.Ceil(-l.tokens / l.qps * float64(time.Second))
	if wait >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(wait)
}

func (l *bucketLimiter[K]) Forget(K) {}

func (l *bucketLimiter[K]) NumRequeues(K) int { return 0 }
