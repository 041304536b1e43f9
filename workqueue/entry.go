package workqueue

import "time"

// entry is all that a queue knows of one key. There is one per key; it lives
// from the key's Add until the key is neither queued nor with a worker, and, if
// the queue has a MinInterval, until that is over.
type entry[K comparable] struct {
	key    K
	tenant *tenant[K] // nil if the queue has no FairnessKey

	// What waits to come out. The zero state says that nothing does.

	state    state
	inFlight bool          // a worker has the key
	priority int           // the highest that it was added with
	since    time.Duration // when it became ready; while waiting: when it was added
	causes   *Causes

	flow  *flow[K]      // where it stands, while it is ready
	due   time.Duration // while it is in Queue.waiting
	index int           // its place there

	worker    int           // its place in Queue.inFlight, while it is in flight
	notBefore time.Duration // when the next run may begin

	// Neighbours in the one list that the entry is in: a flow while it is ready,
	// a slot of Queue.waiting while it waits, Queue.free after its life.

	prev, next *entry[K]
}

// work is a key that a worker has.
type work[K comparable] struct {
	*entry[K]
	turn     uint64        // the number of the Get that took it
	taken    time.Duration // when
	priority int           // the one with which it came out
	causes   *Causes
}

// place is called by wheel.near.
func (e *entry[K]) place(index int) { e.index = index }

// state says where the next run of a key stands.
type state uint8

const (
	unqueued state = iota // no run is asked for
	waiting               // its delay has not passed
	ready                 // a worker can have it
	held                  // it is due, but a worker still has the key from before
	resting               // no run is asked for, nor might it begin: MinInterval
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
func (q *Queue[K]) newEntryLocked(key K, tenant string) *entry[K] {
	e := q.free
	if e == nil {
		e = &entry[K]{}
	} else {
		q.free, e.next = e.next, nil
	}
	e.key = key
	q.entries.set(key, e)
	if q.fairnessKey != nil {
		e.tenant = q.tenants.join(tenant)
	}
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
	if e.tenant != nil {
		q.tenants.leave(e.tenant)
	}
	if q.entries.remove(e.key) {
		q.free = nil
		return
	}
	*e = entry[K]{next: q.free}
	q.free = e
}
