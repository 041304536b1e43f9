package informer

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

const (
	// firstDelay is what the first failure costs at least, and lastDelay what
	// any costs at least; jitter adds up to as much again, so that no wait is
	// longer than 30 s unless the server asks for it.
	firstDelay = 800 * time.Millisecond
	lastDelay  = 15 * time.Second
	// lastRetry is the same for lists that are only for the sake of some objects.
	lastRetry = 5 * time.Minute
	// healthySpell without a failure makes the next one the first again.
	healthySpell = 2 * time.Minute
	// maxRetryAfter bounds what a server can ask for.
	maxRetryAfter = 5 * time.Minute
)

// backoff says how long to wait after a failure: 0.8 s, doubled with each, up
// to 15 s, and jitter up to as much again. The zero value is ready to use. It
// is for one goroutine.
type backoff struct {
	last  time.Duration // in place of lastDelay, if not zero
	base  time.Duration // of the last wait, without jitter
	until time.Time     // when the last wait ended
}

// next returns the wait after a failure that happened now.
func (b *backoff) next(now time.Time) time.Duration {
	switch {
	case b.base == 0 || now.Sub(b.until) >= healthySpell:
		b.base = firstDelay
	default:
		b.base = min(2*b.base, cmp.Or(b.last, lastDelay))
	}
	wait := b.base + rand.N(b.base)
	b.until = now.Add(wait)
	return wait
}

// wait waits for the next delay, and at least for atLeast, and says whether it
// did: false means that ctx has ended.
func (b *backoff) wait(ctx context.Context, atLeast time.Duration) bool {
	now := time.Now()
	delay := max(b.next(now), min(atLeast, maxRetryAfter))
	b.until = now.Add(delay)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
