package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"governor/client"
)

// valid checks the invariants of an eventLog, and those of its cursors' backlogs.
func (l *eventLog) valid() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unread := 0
	for _, c := range l.cursors {
		left := int64(-c.offset)
		for at := c.place; at != nil; at = at.next {
			left += int64(len(at.events))
		}
		if left != l.total-c.next {
			return fmt.Errorf("%d events are before a cursor, it counts %d (invariant 3)", left, l.total-c.next)
		}
		if left > 0 {
			unread++
		}
		if err := c.backlog.valid(); err != nil {
			return err
		}
	}
	switch {
	case l.unread != unread:
		return fmt.Errorf("%d cursors have not read to the end, %d are counted (invariant 1)", unread, l.unread)
	case unread == 0 && len(l.tail.events) > 0:
		return fmt.Errorf("the log keeps %d events that all have read (invariant 2)", len(l.tail.events))
	}
	for _, e := range l.tail.events[len(l.tail.events):cap(l.tail.events)] {
		if e.old != nil || e.new != nil {
			return fmt.Errorf("an object is kept beyond the end of the log")
		}
	}
	return nil
}

// valid checks the invariants of a backlog.
func (b *backlog) valid() error {
	keys, events := 0, 0
	var prev *merged
	for m := b.first; m != nil; prev, m = m, m.next {
		if m.prev != prev {
			return fmt.Errorf("the list is broken at %s (invariant 1)", m.key)
		}
		if m.events() == 0 {
			return fmt.Errorf("%s has nothing to tell (invariant 2)", m.key)
		}
		events += m.events()
		if m.synced {
			continue
		}
		if keys++; b.pending[m.key] != m {
			return fmt.Errorf("%s is listed, but not pending (invariant 1)", m.key)
		}
	}
	switch {
	case b.last != prev, len(b.pending) != keys:
		return fmt.Errorf("%d keys are listed, %d pending (invariant 1)", keys, len(b.pending))
	case b.count != events:
		return fmt.Errorf("%d events are counted, they are %d (invariant 3)", b.count, events)
	}
	return nil
}

// logModel is an eventLog beside what it ought to tell: the state after each
// event, and of each reader what it has heard.
type logModel struct {
	t       *testing.T
	log     *eventLog
	state   map[string]client.Object
	version int
	readers []*logReader
}

// names is how many keys there are.
const names = 4

// logReader reads at its own pace and checks the story (contract 7).
type logReader struct {
	name   string
	cursor *cursor
	state  map[string]client.Object
	synced int
	want   []event // what it must hear, one by one; unless it coalesces
}

// change returns what the next events of a key may be.
func (m *logModel) change(op int) []event {
	name := string(rune('a' + op/8%names))
	now := m.state[name]
	m.version++
	rv := strconv.Itoa(m.version)
	next := obj(name, rv, rv) // a new one
	if now != nil && op%8 < 6 {
		next.SetUID(now.GetUID())
	}
	var events []event
	switch {
	case op%8 == 7 && now != nil:
		return []event{{kind: eventResync, old: now, new: now}}
	case op%8 == 7:
		return []event{{kind: eventSynced}}
	case now == nil:
		events = append(events, event{kind: eventAdd, new: next})
	case op%8 < 3:
		events = append(events, event{kind: eventUpdate, old: now, new: next})
	case op%8 < 5:
		events = append(events, event{kind: eventDelete, old: next})
	case op%8 == 5:
		events = append(events, event{kind: eventDelete, flag: true, old: now})
	default: // another one of this name
		events = append(events, event{kind: eventDelete, flag: true, old: now}, event{kind: eventAdd, new: next})
	}
	if last := events[len(events)-1]; last.kind == eventDelete {
		delete(m.state, name)
	} else {
		m.state[name] = last.new
	}
	return events
}

func (m *logModel) append(events ...event) {
	for _, r := range m.readers {
		for _, e := range events {
			if e.kind != eventResync || r.cursor.resync {
				r.want = append(r.want, e)
			}
		}
	}
	m.log.append(slices.Clone(events), len(m.state))
	for _, r := range m.readers {
		// The bound (contract 9): of each key a delete, a change and a resync.
		if c := r.cursor; c.coalesce && (len(c.backlog.pending) > names || c.next+int64(m.log.slack+names+len(events)) < m.log.total) {
			m.t.Fatalf("%s: %d keys in the backlog, %d events behind", r.name, len(c.backlog.pending), m.log.total-c.next)
		}
	}
}

func (m *logModel) join(coalesce, resync bool) {
	r := &logReader{name: fmt.Sprintf("reader %d, coalesce %v", m.version, coalesce), state: map[string]client.Object{}}
	var objects []client.Object
	for _, o := range m.state {
		objects = append(objects, o)
		r.want = append(r.want, event{kind: eventAdd, flag: true, new: o})
	}
	r.want = append(r.want, event{kind: eventSynced})
	r.cursor = m.log.join(objects, true, coalesce, resync)
	m.readers = append(m.readers, r)
}

// read reads once, and returns how many events there were.
func (m *logModel) read(r *logReader, room int) int {
	left, _ := r.cursor.left()
	batch := r.cursor.read(make([]event, 0, room))
	if now, _ := r.cursor.left(); r.cursor.resync && left-now != len(batch) {
		m.t.Fatalf("%s: %d events were left, %d after %d of them were read", r.name, left, now, len(batch))
	}
	for _, e := range batch {
		r.hear(m.t, e)
	}
	return len(batch)
}

func (r *logReader) hear(t *testing.T, e event) {
	if !r.cursor.coalesce {
		want := r.want[0]
		r.want = r.want[1:]
		if e.at = want.at; e != want {
			t.Fatalf("%s: heard %+v, want %+v", r.name, e, want)
		}
	}
	if e.kind == eventSynced {
		r.synced++
		return
	}
	name := e.subject().GetName()
	known := r.state[name]
	switch e.kind {
	case eventAdd:
		if known != nil {
			t.Fatalf("%s: an add of %s, which is there", r.name, name)
		}
		r.state[name] = e.new
	case eventUpdate:
		if known != e.old || e.old.GetUID() != e.new.GetUID() || !older(e.old.GetResourceVersion(), e.new.GetResourceVersion()) {
			t.Fatalf("%s: an update of %s from %v to %v", r.name, name, e.old, e.new)
		}
		r.state[name] = e.new
	case eventResync:
		if known != e.new || !r.cursor.resync {
			t.Fatalf("%s: a resync of %s", r.name, name)
		}
	case eventDelete:
		if known == nil || known.GetUID() != e.old.GetUID() || older(e.old.GetResourceVersion(), known.GetResourceVersion()) {
			t.Fatalf("%s: a delete of %s, known is %v", r.name, name, known)
		}
		delete(r.state, name)
	}
}

// runLog drives a log; each byte is one operation.
func runLog(t *testing.T, ops []byte) {
	m := &logModel{t: t, log: newEventLog(), state: map[string]client.Object{}}
	m.log.slack = 3
	check := func(n int) {
		if err := m.log.valid(); err != nil {
			t.Fatalf("op %d: %v", n, err)
		}
	}
	for n, op := range ops {
		switch at := int(op) % max(len(m.readers), 1); {
		case op < 160:
			m.append(m.change(int(op))...)
		case op < 170: // a list: many at once
			var events []event
			for i := range 2 * chunkSize {
				events = append(events, m.change((int(op)+i)*7%160)...)
			}
			m.append(events...)
		case op < 185:
			m.join(op%2 == 0, op%3 == 0)
		case op < 190 && len(m.readers) > 0:
			m.log.leave(m.readers[at].cursor)
			if left, _ := m.readers[at].cursor.left(); left != 0 || m.read(m.readers[at], 8) != 0 {
				t.Fatalf("op %d: a cursor reads on after it has left", n)
			}
			m.readers = slices.Delete(m.readers, at, at+1)
		case len(m.readers) > 0:
			m.read(m.readers[at], 3+int(op)%8)
		}
		check(n)
	}
	for _, r := range m.readers {
		for m.read(r, 8) > 0 {
			check(len(ops))
		}
		if !r.cursor.coalesce && len(r.want) > 0 {
			t.Fatalf("%s has not heard %v", r.name, r.want)
		}
		if len(r.state) != len(m.state) {
			t.Fatalf("%s knows %v, there are %v", r.name, r.state, m.state)
		}
		for name, o := range m.state {
			if r.state[name] != o {
				t.Fatalf("%s knows %v, there is %v", r.name, r.state[name], o)
			}
		}
		if r.synced == 0 {
			t.Fatalf("%s has not synced", r.name)
		}
	}
}

// Contracts 7 and 9.
func TestEveryReaderOfTheLogHearsALegalStory(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		ops := make([]byte, 300)
		for n := range ops {
			ops[n] = byte(rnd.Uint32())
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runLog(t, ops) })
	}
}

func FuzzEventLog(f *testing.F) {
	f.Add([]byte{172, 171, 0, 1, 3, 4, 7, 0, 1, 2, 6, 250, 251})
	f.Add([]byte{172, 0, 8, 16, 24, 1, 9, 17, 3, 11, 0, 165, 200, 186, 250})
	f.Fuzz(runLog)
}
