package informer

import "governor/client"

// eventType says which call of a Handler an event is.
type eventType uint8

const (
	eventAdd eventType = iota
	eventUpdate
	eventDelete
	// eventResync is an update from an object to itself, for handlers that ask.
	eventResync
	// eventSynced ends the initial list.
	eventSynced
)

// event is what handlers are told.
type event struct {
	kind eventType
	// flag is isInInitialList of an add, finalStateUnknown of a delete.
	flag     bool
	old, new client.Object
}

// eventLog is what an Informer has to tell, in order. All its handlers read it,
// each at its own pace:
//
//	          slow handler           quick handlers    tail
//	               ▼                        ▼           ▼
//	[a b c] ──► [d e] ──► [f g h] ──► [i] ──► [j k] ──► [ ]
//	   no cursor here or before: the collector has it
//
// It is a list of segments, one per batch, linked forward only. A handler's
// cursor points at a segment and so keeps it and all later ones; what is behind
// the slowest cursor nobody can reach, and the garbage collector trims it. So a
// slow handler costs the memory of what it has not read, once, whatever the
// number of handlers, and nothing when it has caught up.
type eventLog struct {
	tail  *segment // the one to be filled next
	total int64    // how many events have been appended
}

// segment is one batch of events. Its fields are set before filled is closed,
// and never change after.
type segment struct {
	filled chan struct{}
	events []event
	next   *segment
}

func newEventLog() *eventLog { return &eventLog{tail: newSegment()} }

func newSegment() *segment { return &segment{filled: make(chan struct{})} }

// append adds a batch, which the log then owns, and wakes those who wait for it.
func (l *eventLog) append(events []event) {
	if len(events) == 0 {
		return
	}
	s := l.tail
	s.events, s.next = events, newSegment()
	l.tail = s.next
	l.total += int64(len(events))
	close(s.filled)
}
