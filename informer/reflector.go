package informer

import (
	"context"
	"fmt"
	"time"
)

// State is what a Reflector is doing.
//
//	       Run             listed               ended well:
//	Idle ───────► Listing ─────────► Watching ──┐ watch on
//	 ▲      ┌───► │     ▲            │    ▲ ▲   │
//	 │      └─────┤     │            │    │ └───┘
//	 │  the place │     │            │    │
//	 │   is lost: │     │            │    │
//	 │   list the │     │            │    │
//	 │     newest │fails│list   fails│    │watch on
//	 │            ▼     │            ▼    │
//	 │          ┌───────┴─────────────────┴──┐
//	 │          │         BackingOff         │
//	 │          └────────────────────────────┘
//	 └── from each of them, when the context ends
//
// step.next decides, and says why, at each transition.
type State int

// The states of a Reflector.
const (
	// Idle: Run has not been called, or has returned.
	Idle State = iota
	// Listing: asking for everything that exists.
	Listing
	// Watching: following the changes, from the last seen resourceVersion on.
	Watching
	// BackingOff: waiting, after a failure, to list or to watch again.
	BackingOff
)

// String implements fmt.Stringer.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Listing:
		return "listing"
	case Watching:
		return "watching"
	case BackingOff:
		return "backing off"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// shortWatch is how long a stream must have lasted to be followed by the next
// one at once. A server that ends each stream at once would be stormed.
const shortWatch = time.Second

// Reflector turns what one server says about one kind into deltas: first a
// Replaced with everything, then each change. Upstream: client-go's
// cache.Reflector.
type Reflector struct {
	lw      ListWatcher
	fifo    *DeltaFIFO
	options *Options
	backoff backoff
	onError func(context.Context, error)

	// position is how far the FIFO has taken the server's history. It never
	// goes back, but by a list of the newest state.
	position position
	status   reflectorStatus
}

// NewReflector returns a Reflector that does nothing until Run.
func NewReflector(lw ListWatcher, fifo *DeltaFIFO, o *Options) *Reflector {
	return &Reflector{lw: lw, fifo: fifo, options: o, onError: o.watchErrorHandler()}
}

// Run lists, then watches, until ctx ends; whatever fails is tried again. It may
// be called again when it has returned: it then lists, from where it had been.
// The error is nil.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.enter(Idle)
	for now := (step{state: Listing}); ; {
		r.status.enter(now.state)
		began := time.Now()
		err := r.do(ctx, now)
		if ctx.Err() != nil {
			return nil
		}
		then := now.next(err, time.Since(began))
		r.report(ctx, then, err)
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
func (r *Reflector) do(ctx context.Context, s step) error {
	if s.state == Listing {
		return r.list(ctx, s.newest)
	}
	return r.watch(ctx)
}

// report tells whoever wants to know how a step went, given what comes then.
func (r *Reflector) report(ctx context.Context, then step, err error) {
	switch trouble := diagnose(err); {
	case trouble == fine && then.backOff:
		err = errShortWatch
	case trouble == fine, trouble == cut && !then.backOff:
		r.status.succeeded()
		return
	}
	err = fmt.Errorf("%s: %w", r.options.name(), err)
	r.status.failed(err)
	r.onError(ctx, err)
}

// A step is one thing that a Reflector does, and what comes before it.
type step struct {
	// state is Listing or Watching.
	state State
	// newest makes the list ask for the newest state, and take it even if it is
	// older than what was seen: the server has lost, or forgotten, the last seen
	// resourceVersion.
	newest bool
	// backOff says to wait first, for atLeast or longer.
	backOff bool
	atLeast time.Duration
}

// next decides what follows a step that ended with err after it had lasted so
// long. All that a Reflector knows about failure is here, and does no I/O.
func (s step) next(err error, lasted time.Duration) step {
	if s.state == Listing {
		return s.afterList(err)
	}
	return s.afterWatch(err, lasted)
}

func (s step) afterList(err error) step {
	again := step{state: Listing, newest: s.newest, backOff: true, atLeast: retryAfter(err)}
	switch diagnose(err) {
	case fine:
		// The state is known: follow its changes.
		return step{state: Watching}
	case unavailable, tooLarge:
		// The server cannot go to the last seen resourceVersion, ever: waiting
		// does not help, the newest state does. That list asks for no
		// resourceVersion, so this cannot happen to it twice in a row.
		if !s.newest {
			return step{state: Listing, newest: true}
		}
	}
	// Nothing was learnt. Ask the same again, later.
	return again
}

func (s step) afterWatch(err error, lasted time.Duration) step {
	again := step{state: Watching, backOff: true, atLeast: retryAfter(err)}
	switch diagnose(err) {
	case fine, cut:
		// Streams end, every few minutes, and nothing is lost: watch on from the
		// last seen resourceVersion. Those that end at once have to wait.
		again.backOff = lasted < shortWatch
	case unavailable:
		// The changes since the last seen resourceVersion are forgotten. What
		// exists is not: list, but nothing older than what was seen.
		again.state = Listing
	case tooLarge:
		// The server is behind what was seen, perhaps for ever: restored from
		// a backup. Only its newest state is sure to be there.
		again.state, again.newest = Listing, true
	case poison:
		// The same object would come again from a watch. A list may have it
		// mended, and leaves no hole in any case.
		again.state = Listing
	case other:
		// Refused, forbidden, too many requests, unreachable: none of it says
		// that the last seen resourceVersion is of no use. A list would cost
		// the server more, and tell no more.
	}
	return again
}
