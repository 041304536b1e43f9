package informer

import "governor/client"

// change collects single changes until the store takes them as one step. A key
// may change several times in it: handlers hear of each, the store gets the last.
// It is used again and again, so that one change costs no garbage.
type change struct {
	entries []entry
	index   map[client.ObjectKey]int // of entries, once there are too many to look through
	events  []event
	put     []client.Object
	remove  []client.ObjectKey
}

// entry is one key of a change.
type entry struct {
	key    client.ObjectKey
	stored client.Object // nil: the store does not have it
	now    client.Object // nil: it is gone
}

const (
	// fewEntries are faster looked through than found in a map.
	fewEntries = 8
	// manyEntries are not worth keeping the room that they took.
	manyEntries = 512
)

// reset makes c ready for the next step.
func (c *change) reset() {
	if len(c.entries) > manyEntries {
		*c = change{}
		return
	}
	clear(c.entries)
	clear(c.index)
	clear(c.put)
	c.entries, c.put, c.remove = c.entries[:0], c.put[:0], c.remove[:0]
	if len(c.events) > chunkSize {
		c.events = nil // the log has it
	}
	clear(c.events)
	c.events = c.events[:0]
}

// entry returns that of a key. It is good until the next call.
func (c *change) entry(store Store, key client.ObjectKey) *entry {
	if at := c.find(key); at >= 0 {
		return &c.entries[at]
	}
	stored := store.Get(key)
	c.entries = append(c.entries, entry{key: key, stored: stored, now: stored})
	if len(c.entries) > fewEntries {
		if c.index == nil {
			c.index = make(map[client.ObjectKey]int)
		}
		for at := len(c.index); at < len(c.entries); at++ {
			c.index[c.entries[at].key] = at
		}
	}
	return &c.entries[len(c.entries)-1]
}

func (c *change) find(key client.ObjectKey) int {
	if len(c.entries) > fewEntries {
		if at, ok := c.index[key]; ok {
			return at
		}
		return -1
	}
	for at := range c.entries {
		if c.entries[at].key == key {
			return at
		}
	}
	return -1
}

// add takes a delta of one object.
func (c *change) add(store Store, d *Delta) {
	switch d.Type {
	case Added, Updated:
		c.set(c.entry(store, keyOf(d.Object)), d.Object)
	case Deleted:
		c.drop(c.entry(store, keyOf(d.Object)), d)
	}
}

// set takes an object's new state. What is older than the state that is known,
// or the same, has been heard of before.
func (c *change) set(e *entry, obj client.Object) {
	if e.now != nil && (older(obj.GetResourceVersion(), e.now.GetResourceVersion()) || same(e.now, obj)) {
		return
	}
	c.events = appendPut(c.events, e.now, obj, false)
	e.now = obj
}

// drop takes an object's last state.
func (c *change) drop(e *entry, d *Delta) {
	switch {
	case e.now == nil || older(d.Object.GetResourceVersion(), e.now.GetResourceVersion()):
		return
	case d.Unread, e.now.GetUID() != d.Object.GetUID():
		// The last state could not be read. Or it is that of a later object of
		// this name, which nobody here has seen: then the one that is known
		// must have gone before.
		c.events = append(c.events, event{kind: eventDelete, flag: true, old: e.now})
	default:
		c.events = append(c.events, event{kind: eventDelete, old: d.Object})
	}
	e.now = nil
}

// result says what the store has to do, and by how many objects it grows. The
// slices are good until reset.
func (c *change) result() (put []client.Object, remove []client.ObjectKey, grown int) {
	for at := range c.entries {
		switch e := &c.entries[at]; {
		case e.now == e.stored:
		case e.now == nil:
			c.remove = append(c.remove, e.key)
			grown--
		default:
			c.put = append(c.put, e.now)
			if e.stored == nil {
				grown++
			}
		}
	}
	return c.put, c.remove, grown
}

// difference returns what the store must have when the server has listed, and
// what handlers must hear to get there from before. An object that has not
// changed, or of which d says that it could not be read, stays the one it was,
// and nobody hears of it. But if the server has gone back, being restored from
// a backup, then the same resourceVersion may be another state, and a later one
// never was.
func difference(before []client.Object, d *Delta, initial, back bool) (after []client.Object, events []event) {
	known := make(map[client.ObjectKey]client.Object, len(before))
	for _, obj := range before {
		known[keyOf(obj)] = obj
	}
	index := make(map[client.ObjectKey]int, len(d.Objects))
	after = make([]client.Object, 0, len(d.Objects)+len(d.UnreadKeys))
	for _, obj := range d.Objects {
		key := keyOf(obj)
		if at, twice := index[key]; twice {
			after[at] = obj // pages overlapped: the later one is newer
			continue
		}
		index[key] = len(after)
		after = append(after, obj)
	}
	for _, key := range d.UnreadKeys {
		old := known[key]
		if _, twice := index[key]; twice || old == nil || older(d.ResourceVersion, old.GetResourceVersion()) {
			continue
		}
		index[key] = len(after)
		after = append(after, old)
	}
	for _, obj := range before {
		if _, stays := index[keyOf(obj)]; !stays {
			events = append(events, event{kind: eventDelete, flag: true, old: obj})
		}
	}
	for n, obj := range after {
		switch old := known[keyOf(obj)]; {
		case old == obj:
		case old != nil && same(old, obj) && !back:
			after[n] = old
		default:
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
