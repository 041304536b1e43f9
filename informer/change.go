package informer

import "governor/client"

// change collects single changes until the store takes them as one step. A key
// may change several times in it: handlers hear of each, the store gets the last.
type change struct {
	store   Store
	entries map[client.ObjectKey]*entry
	order   []client.ObjectKey // of entries
	events  []event
}

// entry is one key of a change.
type entry struct {
	stored client.Object // nil: the store does not have it
	now    client.Object // nil: it is gone
}

func newChange(store Store) *change {
	return &change{store: store, entries: make(map[client.ObjectKey]*entry)}
}

func (c *change) entry(key client.ObjectKey) *entry {
	e := c.entries[key]
	if e == nil {
		stored := c.store.Get(key)
		e = &entry{stored: stored, now: stored}
		c.entries[key] = e
		c.order = append(c.order, key)
	}
	return e
}

// put takes an object's new state. What is older than the state that is known,
// or the same, has been heard of before.
func (c *change) put(obj client.Object) {
	e := c.entry(keyOf(obj))
	if e.now != nil && (older(obj.GetResourceVersion(), e.now.GetResourceVersion()) || same(e.now, obj)) {
		return
	}
	c.events = appendPut(c.events, e.now, obj, false)
	e.now = obj
}

// remove takes an object's last state.
func (c *change) remove(obj client.Object) {
	e := c.entry(keyOf(obj))
	switch {
	case e.now == nil || older(obj.GetResourceVersion(), e.now.GetResourceVersion()):
		return
	case e.now.GetUID() != obj.GetUID():
		// The delete is that of a later object of this name, which nobody here
		// has seen. The one that is known must have gone before.
		c.events = append(c.events, event{kind: eventDelete, flag: true, old: e.now})
	default:
		c.events = append(c.events, event{kind: eventDelete, old: obj})
	}
	e.now = nil
}

// result is what the store has to do, and by how many objects it grows.
func (c *change) result() (put []client.Object, remove []client.ObjectKey, grown int) {
	for _, key := range c.order {
		switch e := c.entries[key]; {
		case e.now == e.stored:
		case e.now == nil:
			remove = append(remove, key)
			grown--
		default:
			put = append(put, e.now)
			if e.stored == nil {
				grown++
			}
		}
	}
	return put, remove, grown
}

// difference returns what the store must have when the server has listed, and
// what handlers must hear to get there from before. An object that has not
// changed stays the one it was, and nobody hears of it.
func difference(before, listed []client.Object, initial bool) (after []client.Object, events []event) {
	known := make(map[client.ObjectKey]client.Object, len(before))
	for _, obj := range before {
		known[keyOf(obj)] = obj
	}
	index := make(map[client.ObjectKey]int, len(listed))
	after = make([]client.Object, 0, len(listed))
	for _, obj := range listed {
		key := keyOf(obj)
		if at, twice := index[key]; twice {
			after[at] = obj // pages overlapped: the later one is newer
			continue
		}
		index[key] = len(after)
		after = append(after, obj)
	}
	for _, obj := range before {
		if _, stays := index[keyOf(obj)]; !stays {
			events = append(events, event{kind: eventDelete, flag: true, old: obj})
		}
	}
	for n, obj := range after {
		if old := known[keyOf(obj)]; old != nil && same(old, obj) {
			after[n] = old
		} else {
			events = appendPut(events, old, obj, initial)
		}
	}
	return after, events
}

// appendPut appends what handlers hear when old, or nothing, becomes obj. Two
// objects with one name, one after the other, are a delete and an add.
func appendPut(events []event, old, obj client.Object, initial bool) []event {
	switch {
	case old == nil:
		return append(events, event{kind: eventAdd, flag: initial, new: obj})
	case old.GetUID() != obj.GetUID():
		return append(events,
			event{kind: eventDelete, flag: true, old: old},
			event{kind: eventAdd, flag: initial, new: obj})
	default:
		return append(events, event{kind: eventUpdate, old: old, new: obj})
	}
}

// same says that two objects of one name are one state of one object.
func same(a, b client.Object) bool {
	rv := a.GetResourceVersion()
	return rv != "" && rv == b.GetResourceVersion() && a.GetUID() == b.GetUID()
}
