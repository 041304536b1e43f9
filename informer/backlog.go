package informer

import (
	"time"

	"governor/client"
)

// coalesceAfter is how many events, besides one for each object, a coalescing
// handler may be behind before they are merged. Merging pays when keys repeat:
// the first list is not worth it.
const coalesceAfter = 1024

// backlog is what a coalescing handler has still to hear of, merged: of each key
// only what leads from the state that the handler has heard of to the newest. It
// is as legal a story as what it is made of, only shorter:
//
//	add, update       add of the newest state
//	update, update    update from the oldest state to the newest
//	update, delete    delete
//	add, delete       nothing: it has never heard of the object
//	delete, add       both, so that it hears that this is another object
//	resync            one, after the rest
//
// So its memory is bounded by the number of keys. Keys come in the order in which
// they were first behind; none is behind the end of the initial list that was
// before it. The zero value is ready to use.
type backlog struct {
	// Invariants, which valid checks (event_log_test.go):
	//
	//  1. first to last are those of pending, and the markers.
	//  2. none of them is empty.
	//  3. count is how many events they make.

	pending     map[client.ObjectKey]*merged
	first, last *merged
	count       int
}

// merged is what a handler has to hear of one key, or the end of the initial list.
type merged struct {
	key        client.ObjectKey
	prev, next *merged
	at         time.Duration // when the oldest of what was merged was appended

	gone   client.Object // the object that was deleted, told first; nil: none
	missed bool          // its final state is not known
	put    event         // then an add or an update; without new: none
	resync client.Object // then that again; nil: none
	synced bool          // the end of the initial list, and nothing else
}

// events is how many events m makes.
func (m *merged) events() (n int) {
	for _, is := range []bool{m.gone != nil, m.put.new != nil, m.resync != nil, m.synced} {
		if is {
			n++
		}
	}
	return n
}

// add merges an event.
func (b *backlog) add(e event) {
	if e.kind == eventSynced {
		b.link(&merged{at: e.at, synced: true})
		b.count++
		return
	}
	key := keyOf(e.subject())
	m := b.pending[key]
	if m == nil {
		m = &merged{key: key, at: e.at}
		if b.pending == nil {
			b.pending = make(map[client.ObjectKey]*merged)
		}
		b.pending[key] = m
		b.link(m)
	}
	b.count -= m.events()
	m.add(e)
	n := m.events()
	b.count += n
	if n == 0 {
		b.unlink(m)
	}
}

// add merges an event of the key.
func (m *merged) add(e event) {
	switch e.kind {
	case eventAdd:
		m.put = e
	case eventUpdate:
		if m.put.new == nil {
			m.put = e
		}
		m.put.new = e.new
		if m.resync != nil {
			m.resync = e.new
		}
	case eventDelete:
		if unheard := m.put.new != nil && m.put.kind == eventAdd; !unheard {
			m.gone, m.missed = e.old, e.flag
		}
		m.put, m.resync = event{}, nil
	case eventResync:
		m.resync = e.new
	}
}

// take appends to batch the events of the oldest keys, as long as there is room
// for all that a key can have.
func (b *backlog) take(batch []event) []event {
	const most = 3
	for b.first != nil && cap(batch)-len(batch) >= most {
		m := b.first
		b.count -= m.events()
		b.unlink(m)
		if m.gone != nil {
			batch = append(batch, event{kind: eventDelete, flag: m.missed, at: m.at, old: m.gone})
		}
		if m.put.new != nil {
			m.put.at = m.at
			batch = append(batch, m.put)
		}
		if m.resync != nil {
			batch = append(batch, event{kind: eventResync, at: m.at, old: m.resync, new: m.resync})
		}
		if m.synced {
			batch = append(batch, event{kind: eventSynced, at: m.at})
		}
	}
	return batch
}

func (b *backlog) link(m *merged) {
	if m.prev = b.last; m.prev == nil {
		b.first = m
	} else {
		m.prev.next = m
	}
	b.last = m
}

func (b *backlog) unlink(m *merged) {
	if m.prev == nil {
		b.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		b.last = m.prev
	} else {
		m.next.prev = m.prev
	}
	delete(b.pending, m.key)
	if b.first == nil {
		b.pending = nil // a map keeps the room that it once needed
	}
}

// subject is the object that an event is about.
func (e *event) subject() client.Object {
	if e.new != nil {
		return e.new
	}
	return e.old
}
