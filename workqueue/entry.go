package workqueue

import "time"

// entry is all that a queue knows of one key. There is one per key; it lives
// from the key's Add until the key is neither queued nor with a worker.
type entry[K comparable] struct {
	key K

	// What waits to come out. The zero state says that nothing does.

	state    state
	priority int           // the highest that it was added with
	since    time.Duration // when it became ready; while waiting: when it was added
	index    int           // its place in Queue.waiting, while waiting

	// What a worker has.

	inFlight      bool
	taken         time.Duration // when
	takenPriority int           // the priority with which it came out

	// Neighbours in the one list that the entry is in: a lane while it is
	// ready, Queue.inFlight while a worker has it, Queue.free after its life.
	// It is never in two, because what a worker has is not ready.

	prev, next *entry[K]
}

// place is called by Queue.waiting.
func (e *entry[K]) place(index int) { e.index = index }

// state says where the next run of a key stands.
type state uint8

const (
	unqueued state = iota // no run is asked for
	waiting               // its delay has not passed
	ready                 // a worker can have it
	held                  // it is due, but a worker still has the key from before
)

// list is a queue of entries, linked through the entries themselves: joining
// and leaving, also from the middle, allocates nothing. The zero list is empty.
type list[K comparable] struct{ first, last *entry[K] }

func (l *list[K]) append(e *entry[K]) {
	e.prev, e.next = l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *list[K]) remove(e *entry[K]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// newEntryLocked makes an entry for a key that has none.
//
// +checklocks:q.mu
func (q *Queue[K]) newEntryLocked(key K) *entry[K] {
	e := q.free
	if e == nil {
		e = &entry[K]{}
	} else {
		q.free, e.next = e.next, nil
	}
	e.key = key
	q.entries.set(key, e)
	return e
}

// releaseLocked ends an entry's life if there is no more use for it. The entry
// is kept for another key until the table shrinks.
//
// +checklocks:q.mu
func (q *Queue[K]) releaseLocked(e *entry[K]) {
	if e.state != unqueued || e.inFlight {
		return
	}
	if q.entries.remove(e.key) {
		q.free = nil
		return
	}
	*e = entry[K]{next: q.free}
	q.free = e
}
