package informer

import (
	"slices"
	"sync"
	"time"

	"governor/client"
)

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
	flag bool
	// at is when it was appended, since the log's birth.
	at       time.Duration
	old, new client.Object
}

// chunkSize is how many events a chunk of the log holds, unless a list or a
// resync brings more at once.
const chunkSize = 64

// eventLog is what an Informer has to tell, in order. All its handlers read it,
// each at its own pace, through a cursor:
//
//	      slow handler           quick handlers    the end
//	           ▼                        ▼           ▼
//	[a b c d] ──► [e f g h] ──► [i j k l] ──► [m n . .]
//	   no cursor here or before: the collector has it
//
// It is a list of chunks, linked forward only. A cursor points at a chunk and so
// keeps it and all later ones; what is behind the slowest cursor nobody can
// reach, and the garbage collector takes it. So a slow handler costs the memory
// of what it has not read, once, whatever the number of handlers, and nothing
// when it has caught up. When all have, the last chunk is emptied and filled
// anew, so that quick handlers cost no garbage, and a quiet kind keeps no old
// states alive.
//
// A cursor that coalesces, and has fallen far behind, is moved along by append,
// and what it has passed is merged into its backlog (backlog.go).
type eventLog struct {
	born  time.Time
	slack int // coalesceAfter, less in tests

	// Invariants, which valid checks (event_log_test.go):
	//
	//  1. unread is how many cursors have not read to the end.
	//  2. when it is zero, tail is empty.
	//  3. a cursor has total minus next events before it.

	mu      sync.Mutex
	tail    *chunk    // +checklocks:mu; the one to append to
	total   int64     // +checklocks:mu; how many events have been appended
	cursors []*cursor // +checklocks:mu
	unread  int       // +checklocks:mu
}

// chunk is a stretch of events. The log's lock guards it.
type chunk struct {
	events []event
	next   *chunk
}

// cursor is a handler's place in the log. What it reads is, in this order, the
// snapshot that it began with, its backlog, and the log from place on.
type cursor struct {
	log      *eventLog
	wake     chan struct{} // holds one token when there may be something to read
	coalesce bool
	resync   bool // the handler asks for resyncs

	// The log's lock guards all that follows.
	snapshot []client.Object // objects to be told as initial adds
	taken    time.Duration   // when the snapshot was
	synced   bool            // an eventSynced follows the snapshot
	backlog  backlog
	place    *chunk // nil once it has left
	offset   int    // in place
	next     int64  // how many of the log's events are behind the cursor
}

func newEventLog() *eventLog {
	return &eventLog{born: time.Now(), slack: coalesceAfter, tail: &chunk{}}
}

// append adds events, and wakes the handlers. It copies few and takes over many,
// that is, a slice longer than chunkSize. keys is how many objects there are: a
// measure for how far behind is too far.
func (l *eventLog) append(events []event, keys int) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cursors) == 0 {
		return // a handler that comes later begins with a snapshot
	}
	now := time.Since(l.born)
	for n := range events {
		events[n].at = now
	}
	l.total += int64(len(events))
	if len(events) > chunkSize {
		l.linkLocked(events)
	} else {
		l.fillLocked(events)
	}
	l.unread = len(l.cursors)
	for _, c := range l.cursors {
		if c.coalesce && l.total-c.next > int64(l.slack+keys) {
			c.mergeLocked(2 * len(events))
		}
		signal(c.wake)
	}
}

// fillLocked copies events into the last chunk, and a new one when that is full.
//
// +checklocks:l.mu
func (l *eventLog) fillLocked(events []event) {
	for len(events) > 0 {
		if len(l.tail.events) >= chunkSize {
			l.linkLocked(nil)
		}
		n := min(len(events), chunkSize-len(l.tail.events))
		l.tail.events = append(l.tail.events, events[:n]...)
		events = events[n:]
	}
}

// linkLocked makes events the last chunk.
//
// +checklocks:l.mu
func (l *eventLog) linkLocked(events []event) {
	if cap(events) == 0 {
		events = make([]event, 0, chunkSize)
	}
	l.tail.next = &chunk{events: events}
	l.tail = l.tail.next
}

// join returns a cursor that reads objects, as a snapshot, and then all that is
// appended from now on.
func (l *eventLog) join(objects []client.Object, synced, coalesce, resync bool) *cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &cursor{
		log: l, wake: make(chan struct{}, 1), coalesce: coalesce, resync: resync,
		snapshot: objects, taken: time.Since(l.born), synced: synced,
		place: l.tail, offset: len(l.tail.events), next: l.total,
	}
	l.cursors = append(l.cursors, c)
	signal(c.wake)
	return c
}

// leave gives a cursor up, and what it keeps in memory.
func (l *eventLog) leave(c *cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors = slices.DeleteFunc(l.cursors, func(x *cursor) bool { return x == c })
	c.advanceLocked(l.total - c.next)
	c.snapshot, c.synced, c.backlog, c.place = nil, false, backlog{}, nil
}

// read moves the cursor, and fills batch with what it has passed, as far as
// there is room. It returns nothing when there is nothing more to read.
func (c *cursor) read(batch []event) []event {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	batch = batch[:0]
	if c.place == nil {
		return batch
	}
	batch = c.readSnapshotLocked(batch)
	batch = c.backlog.take(batch)
	if len(c.snapshot) > 0 || c.backlog.first != nil {
		return batch
	}
	for c.next < c.log.total && len(batch) < cap(batch) {
		e := c.stepLocked()
		if e.kind != eventResync || c.resync {
			batch = append(batch, e)
		}
	}
	return batch
}

// readSnapshotLocked appends to batch what is left of the snapshot.
func (c *cursor) readSnapshotLocked(batch []event) []event {
	n := min(len(c.snapshot), cap(batch)-len(batch))
	for _, obj := range c.snapshot[:n] {
		batch = append(batch, event{kind: eventAdd, flag: true, at: c.taken, new: obj})
	}
	clear(c.snapshot[:n])
	c.snapshot = c.snapshot[n:]
	if len(c.snapshot) == 0 {
		c.snapshot = nil
		if c.synced && len(batch) < cap(batch) {
			batch = append(batch, event{kind: eventSynced, at: c.taken})
			c.synced = false
		}
	}
	return batch
}

// stepLocked returns the next event of the log, and moves the cursor.
func (c *cursor) stepLocked() event {
	for c.offset == len(c.place.events) {
		c.place, c.offset = c.place.next, 0
	}
	e := c.place.events[c.offset]
	c.offset++
	c.advanceLocked(1)
	return e
}

// advanceLocked counts n events as passed. When no cursor has anything left to
// read, the last chunk is emptied.
func (c *cursor) advanceLocked(n int64) {
	l := c.log
	c.next += n
	if n == 0 || c.next < l.total {
		return
	}
	if l.unread--; l.unread > 0 {
		return
	}
	if len(l.tail.events) > chunkSize {
		l.tail = &chunk{}
	}
	clear(l.tail.events)
	l.tail.events = l.tail.events[:0]
	for _, c := range l.cursors {
		c.place, c.offset = l.tail, 0
	}
}

// mergeLocked moves the cursor by n events, which go into its backlog.
func (c *cursor) mergeLocked(n int) {
	for range n {
		if c.next == c.log.total {
			return
		}
		if e := c.stepLocked(); e.kind != eventResync || c.resync {
			c.backlog.add(e)
		}
	}
}

// left returns how many events there are to read, and when the oldest of them
// was appended.
func (c *cursor) left() (count int, oldest time.Duration) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.place == nil {
		return 0, 0
	}
	count = len(c.snapshot) + c.backlog.count + int(c.log.total-c.next)
	if c.synced {
		count++
	}
	switch {
	case len(c.snapshot) > 0 || c.synced:
		oldest = c.taken
	case c.backlog.first != nil:
		oldest = c.backlog.first.at
	case c.next < c.log.total && c.offset < len(c.place.events):
		oldest = c.place.events[c.offset].at
	case c.next < c.log.total:
		oldest = c.place.next.events[0].at
	}
	return count, oldest
}
