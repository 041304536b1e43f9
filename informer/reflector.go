package informer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reflector turns what one server says about one kind into deltas: first a
// Replaced with everything, then each change. Upstream: client-go's
// cache.Reflector.
type Reflector struct {
	lw      ListWatcher
	fifo    *DeltaFIFO
	options *Options
	backoff backoff
	onError func(context.Context, error)
	metrics Metrics

	// position is how far the FIFO has taken the server's history. It never
	// goes back, but by a list of the newest state.
	position position
	// bookmarked says that this server sends bookmarks while nothing changes.
	bookmarked bool
	unread     unread
	// retry spaces the lists for the sake of objects that the Transform function
	// has refused; retryAt is when the next is due, zero if none is.
	retry   backoff
	retryAt time.Time
	status  reflectorStatus
}

// NewReflector returns a Reflector that does nothing until Run.
func NewReflector(lw ListWatcher, fifo *DeltaFIFO, o *Options) *Reflector {
	return &Reflector{
		lw: lw, fifo: fifo, options: o,
		onError: o.watchErrorHandler(), metrics: o.metrics(),
		retry: backoff{last: lastRetry},
	}
}

// Run lists, then watches, until ctx ends; whatever fails is tried again. It may
// be called again when it has returned: it then lists, from where it had been.
// The error is nil.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.enter(Idle)
	for now := (step{state: Streaming}); ; {
		r.status.enter(now.state)
		o := r.do(ctx, now)
		if ctx.Err() != nil {
			return nil
		}
		then := now.next(o)
		r.report(ctx, then, o.err)
		if then.backOff {
			r.status.enter(BackingOff)
			if !r.backoff.wait(ctx, then.atLeast) {
				return nil
			}
		}
		now = then
	}
}

// do does one step: it lists once, or watches until the stream ends.
func (r *Reflector) do(ctx context.Context, s step) outcome {
	began := time.Now()
	var o outcome
	switch s.state {
	case Listing:
		o.err = r.list(ctx, s.newest)
	case Streaming:
		o.listed, o.err = r.streamList(ctx, s.newest)
	default:
		o.err = r.watch(ctx)
	}
	o.lasted = time.Since(began)
	return o
}

// report tells whoever wants to know how a step went, given what comes then.
func (r *Reflector) report(ctx context.Context, then step, err error) {
	switch trouble := diagnose(err); {
	case trouble == fine && then.backOff:
		err = errShortWatch
	case trouble == fine, trouble == cut && !then.backOff:
		r.status.succeeded()
		return
	case trouble == untransformed:
		return // it was reported when it happened
	case trouble == unsupported && !then.backOff && !errors.Is(err, errNoEnd):
		return // of no consequence: there is another way, which is tried at once
	}
	err = fmt.Errorf("%s: %w", r.options.name(), err)
	r.status.failed(err)
	r.onError(ctx, err)
}
