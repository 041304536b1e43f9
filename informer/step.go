package informer

import (
	"fmt"
	"time"
)

// State is what a Reflector is doing.
//
//	 ▲ from each state, when the context ends
//	 │
//	Idle
//	 │ Run
//	 ▼         the initial events are complete:
//	Streaming ────────── the same stream goes on ─────────┐
//	 │  ▲ │                                               │
//	 │  │ └─ refused, or not complete twice in a row      │
//	 │  │       │                                         │
//	 │  │       ▼     listed                              ▼
//	 │  │    Listing ─────────────────────────────────► Watching ─┐ ended well:
//	 │  │     │  ▲                                        │ ▲ ▲   │ watch on
//	 │  │     │  │                                        │ │ └───┘
//	 │fails   │fails                                 fails│ │ watch on
//	 ▼  │     ▼  │ list again                             ▼ │
//	┌───┴────────┴────────────────────────────────────────┴─┴┐
//	│                       BackingOff                       │
//	└────────────────────────────────────────────────────────┘
//
// Streaming and Listing each have one more arrow, to themselves and at once: if
// the server does not have the resourceVersion asked for, for the newest state.
// step.next decides, and says why, at each transition.
type State int

// The states of a Reflector.
const (
	// Idle: Run has not been called, or has returned.
	Idle State = iota
	// Streaming: asking for everything that exists as the start of a watch.
	Streaming
	// Listing: asking for everything that exists, page by page.
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
	case Streaming:
		return "streaming"
	case Listing:
		return "listing"
	case Watching:
		return "watching"
	case BackingOff:
		return "backing off"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

const (
	// shortWatch is how long a stream must have lasted to be followed by the next
	// one at once. A server that ends each stream at once would be stormed.
	shortWatch = time.Second
	// maxStreamingTries is how often in a row a streaming list may break before
	// it is complete. Something on the way does not like it then: a paged list may pass.
	maxStreamingTries = 2
)

// A step is one thing that a Reflector does, and what comes before it.
type step struct {
	// state is Streaming, Listing or Watching.
	state State
	// newest makes a list, streaming or paged, ask for the newest state, and take
	// it even if it is older than what was seen: the server has lost, or
	// forgotten, the last seen resourceVersion.
	newest bool
	// tries counts the streaming lists before this one, in a row, that were not complete.
	tries int
	// paged says that streaming lists do not work here. It is remembered until
	// Run ends: paged lists always work, and cost the server little more.
	paged bool
	// backOff says to wait first, for atLeast or longer.
	backOff bool
	atLeast time.Duration
}

// An outcome is how a step went.
type outcome struct {
	err    error
	lasted time.Duration
	// listed says, of a streaming list, that it was complete before it ended.
	listed bool
}

// next decides what follows a step. All that a Reflector knows about failure is
// here, and does no I/O.
func (s step) next(o outcome) step {
	switch {
	case s.state == Listing:
		return s.afterList(o)
	case s.state == Streaming && !o.listed:
		return s.afterStream(o)
	}
	return s.afterWatch(o) // a stream that was complete became a watch
}

// afterStream is for a streaming list that was not complete. Nothing of it was
// taken.
func (s step) afterStream(o outcome) step {
	again := step{state: Streaming, newest: s.newest, tries: s.tries, backOff: true, atLeast: retryAfter(o.err)}
	switch diagnose(o.err) {
	case unavailable, tooLarge:
		// The server cannot go to the last seen resourceVersion, ever: waiting
		// does not help, the newest state does. That asks for no
		// resourceVersion, so this cannot happen to it twice in a row.
		if !s.newest {
			return step{state: Streaming, newest: true, tries: s.tries}
		}
	case unsupported:
		// The server does not know streaming lists, or does not let us watch. It
		// would say so for ever, and has done no work for it: list at once.
		return step{state: Listing, newest: s.newest, paged: true}
	case away:
		// Nobody is there, or has time: that says nothing about streaming lists.
		return again
	}
	// It broke on the way. If it does so again, something between here and the
	// server does not bear with it: a paged list asks less of everyone.
	if again.tries++; again.tries >= maxStreamingTries {
		again.state, again.paged, again.tries = Listing, true, 0
	}
	return again
}

// afterList is for a paged list.
func (s step) afterList(o outcome) step {
	again := step{state: Listing, newest: s.newest, paged: s.paged, backOff: true, atLeast: retryAfter(o.err)}
	switch diagnose(o.err) {
	case fine:
		// The state is known: follow its changes.
		return step{state: Watching, paged: s.paged}
	case unavailable, tooLarge:
		// As for a streaming list: the newest state, at once, but once.
		if !s.newest {
			return step{state: Listing, newest: true, paged: s.paged}
		}
	}
	// Nothing was learnt. Ask the same again, later.
	return again
}

// afterWatch is for a watch, whether a list came before it on the same stream or not.
func (s step) afterWatch(o outcome) step {
	again := step{state: Watching, paged: s.paged, backOff: true, atLeast: retryAfter(o.err)}
	list := again
	if list.state = Streaming; s.paged {
		list.state = Listing
	}
	switch diagnose(o.err) {
	case fine, cut:
		// Streams end, every few minutes, and nothing is lost: watch on from the
		// last seen resourceVersion. Those that end at once have to wait.
		again.backOff = o.lasted < shortWatch
	case unavailable:
		// The changes since the last seen resourceVersion are forgotten. What
		// exists is not: list, but nothing older than what was seen.
		return list
	case tooLarge:
		// The server is behind what was seen, perhaps for ever: restored from
		// a backup. Only its newest state is sure to be there.
		list.newest = true
		return list
	case poison:
		// An event that is none, or a store that has a hole now: the same would
		// come again from a watch. A list leaves no hole in any case.
		return list
	case untransformed:
		// Some objects are to be transformed once more, and only a list has
		// them. The stream has gone on for as long as that had to wait.
		list.backOff = o.lasted < shortWatch
		return list
	case unsupported, away, other:
		// Forbidden, too many requests, unreachable: none of it says that the
		// last seen resourceVersion is of no use. A list would cost the server
		// more, and tell no more.
	}
	return again
}
