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
//	add, delete       both: whoever reads the Store, which is ahead of the
//	                  handler, may have met the object, and must hear of its end
//	delete, add       both: this may be another object
//	resync            one, after the rest
//
// What went before a pair is forgotten: add, delete, add is one add. So its memory
// is bounded by the number of keys, those that came and went included. Keys come in the order in which
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

	// In the order in which they are told; one without an object is none.
	gone   event         // the delete of what the handler has heard of
	put    event         // an add or an update
	end    event         // the delete of what put has added
	resync client.Object // the state again
	synced bool          // the end of the initial list, and nothing else
}

// events is how many events m makes.
func (m *merged) events() (n int) {
	for _, is := range []bool{m.gone.old != nil, m.put.new != nil, m.end.old != nil, m.resync != nil, m.synced} {
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
	b.count += m.events()
}

// add merges an event of the key.
func (m *merged) add(e event) {
	switch e.kind {
	case eventAdd:
		m.put, m.end = e, event{}
	case eventUpdate:
		if m.put.new == nil {
			m.put = e
		}
		m.put.new = e.new
		if m.resync != nil {
			m.resync = e.new
		}
	case eventDelete:
		m.resync = nil
		switch unheard := m.put.new != nil && m.put.kind == eventAdd; {
		case !unheard:
			m.gone, m.put = e, event{}
		case m.gone.old != nil:
			m.put = event{} // that the key is free has to be told anyway
		default:
			m.end = e
		}
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
		for _, e := range []event{m.gone, m.put, m.end} {
			if e.subject() != nil {
				e.at = m.at
				batch = append(batch, e)
			}
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
