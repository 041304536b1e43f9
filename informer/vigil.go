package informer

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// vigil is kept over a request: it ends one that is of no use any more. A dead
// peer sends nothing, and so does a healthy one when nothing happens: only what
// should have been heard by now tells the one from the other.
type vigil struct {
	nearer  chan struct{} // holds one token when the end may have come nearer
	retries func() bool   // says that there are objects to be transformed once more; nil means no

	mu       sync.Mutex
	overdue  time.Time     // +checklocks:mu; when the request should have ended long ago; zero means never
	heard    time.Time     // +checklocks:mu; when something was last heard
	patience time.Duration // +checklocks:mu; how long nothing may be heard; zero means for ever
	silent   error         // +checklocks:mu; what it is when nothing was
	retry    time.Time     // +checklocks:mu; when that is due; zero means never
}

// newVigil returns a vigil over a request that begins now.
func newVigil() *vigil { return &vigil{nearer: make(chan struct{}, 1), heard: time.Now()} }

// over makes the request, until it ends, or there is a reason to end it: then
// that is the error. That refused is closed is such a reason.
func (v *vigil) over(ctx context.Context, refused <-chan struct{}, request func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var reason error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		reason = v.keep(ctx, refused)
	})
	err := request(ctx)
	cancel()
	wg.Wait()
	return cmp.Or(reason, err)
}

// keep returns the reason to end the request when there is one, and nil when
// ctx, the request's, ends.
func (v *vigil) keep(ctx context.Context, refused <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		at, reason := v.end()
		if left := time.Until(at); at.IsZero() {
			timer.Stop()
		} else if left <= 0 {
			return reason
		} else {
			timer.Reset(left)
		}
		select {
		case <-timer.C: // perhaps something was heard meanwhile
		case <-v.nearer:
		case <-refused:
			return errRefused
		case <-ctx.Done():
			return nil
		}
	}
}

// end returns when the request ends if nothing is heard until then, and why;
// zero if it does not.
func (v *vigil) end() (at time.Time, reason error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, reason = v.overdue, errOverdue
	if silent := v.heard.Add(v.patience); v.patience > 0 && (at.IsZero() || silent.Before(at)) {
		at, reason = silent, v.silent
	}
	if !v.retry.IsZero() && (at.IsZero() || v.retry.Before(at)) && v.retries() {
		at, reason = v.retry, errRetry
	}
	return at, reason
}

// hear is called at each sign of life.
func (v *vigil) hear(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard = now
}

// expect sets how long nothing may be heard from now on, and what it is then.
func (v *vigil) expect(patience time.Duration, silent error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard, v.patience, v.silent = time.Now(), patience, silent
	signal(v.nearer)
}

// endBy makes the request end when it is overdue, or when objects are to be
// transformed once more; zero means never.
func (v *vigil) endBy(overdue, retry time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.overdue, v.retry = overdue, retry
	signal(v.nearer)
}
