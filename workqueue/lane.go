package workqueue

import "time"

// lane is what is ready of one priority.
type lane[K comparable] struct {
	priority int
	busy     bool    // it is in lanes.busy
	index    int     // its place there
	only     flow[K] // all of it, when there are no fairness keys

	// With fairness keys:

	flows table[*tenant[K], *flow[K]] // those with entries
	turns heap[*flow[K]]              // those of which a worker may take one, by whose turn it is
}

// place is called by lanes.busy.
func (l *lane[K]) place(index int) { l.index = index }

// next is the flow whose turn it is.
func (l *lane[K]) next() *flow[K] {
	if l.turns.len() == 0 {
		return &l.only
	}
	f, _ := l.turns.top()
	return f
}

// empty says that a worker may take nothing of the lane.
func (l *lane[K]) empty() bool { return l.only.first == nil && l.turns.len() == 0 }

// keepLanes is how many lanes may stay when they are empty: priorities are few,
// and a lane that is used again and again should not be made each time. But
// nothing forbids a priority per key.
const keepLanes = 16

// agedTurn: one Get of so many is for what has waited too long.
const agedTurn = 8

// lanes holds the entries that are ready. To add, to take and to remove do not
// depend on how many there are, only, and little, on how many priorities and
// fairness keys they have. The zero lanes is empty.
type lanes[K comparable] struct {
	ageing time.Duration // zero: nothing ages
	gets   uint64        // how many entries were taken

	byPriority table[int, *lane[K]]
	latest     *lane[K]          // the lane that was used last, to save a look
	busy       heap[*lane[K]]    // all that are not empty, and some that were; the highest priority is on top
	ages       heap[agedFlow[K]] // the open flows by how old their first entry is; empty without ageing
	free       *flow[K]          // linked by free: to use again
	spare      int               // how many those are

	len    int // how many entries
	capped int // of how many of them the fairness key is capped
}

// takeable is how many entries may be taken now, or more: those that one fairness
// key may have taken besides are counted until it is capped.
func (ls *lanes[K]) takeable() int { return ls.len - ls.capped }

// append adds e behind all of its priority and fairness key.
func (ls *lanes[K]) append(e *entry[K]) {
	l := ls.lane(e.priority)
	f := &l.only
	if t := e.tenant; t != nil {
		f = ls.flow(l, t)
		t.ready++
	}
	e.flow = f
	f.append(e)
	ls.len++
	switch {
	case f.tenant != nil && f.tenant.capped:
		ls.capped++
	case f.first == e:
		ls.open(f)
	}
}

// remove takes e out, wherever it stands.
func (ls *lanes[K]) remove(e *entry[K]) {
	f := e.flow
	first := f.first == e
	f.list.remove(e)
	e.flow = nil
	ls.len--
	open := true
	if t := f.tenant; t != nil {
		t.ready--
		if open = !t.capped; !open {
			ls.capped--
		}
	}
	switch {
	case f.first == nil:
		if open {
			ls.close(f)
		}
		ls.drop(f)
	case first && open && ls.ageing > 0:
		ls.ages.move(f.age, int64(f.first.since))
	}
}

// pop takes an entry out: that which is too old, when it is the turn of such;
// otherwise of the highest priority, in that of the fairness key whose turn it
// is, the first. It returns nil if there is none.
func (ls *lanes[K]) pop(now time.Duration) *entry[K] {
	if ls.takeable() == 0 {
		return nil
	}
	ls.gets++
	f := ls.aged(now)
	if f == nil {
		f = ls.top().next()
	}
	e := f.first
	if f.tenant != nil && f.last != e {
		f.lane.turns.move(f.turn, 0) // behind all others: heap keeps equals in order
	}
	ls.remove(e)
	return e
}

// top returns the lane of the highest priority that is not empty; there must be
// one. Lanes that have become empty leave here, and not before, because most of
// them are not empty for long.
func (ls *lanes[K]) top() *lane[K] {
	for {
		l, _ := ls.busy.top()
		if !l.empty() {
			return l
		}
		ls.busy.remove(0)
		l.busy = false
	}
}

// aged returns the flow whose first entry has been ready longest, if that is too
// long and it is the turn of such.
func (ls *lanes[K]) aged(now time.Duration) *flow[K] {
	if ls.ageing <= 0 || ls.gets%agedTurn != 0 {
		return nil
	}
	f, since := ls.ages.top()
	if now-time.Duration(since) < ls.ageing {
		return nil
	}
	return f.flow
}

// lane returns the lane of a priority.
func (ls *lanes[K]) lane(priority int) *lane[K] {
	if l := ls.latest; l != nil && l.priority == priority {
		return l
	}
	l := ls.byPriority.get(priority)
	if l == nil {
		l = &lane[K]{priority: priority}
		l.only.lane = l
		ls.byPriority.set(priority, l)
	}
	ls.latest = l
	return l
}

// flow returns the flow of a fairness key in a lane.
func (ls *lanes[K]) flow(l *lane[K], t *tenant[K]) *flow[K] {
	f := l.flows.get(t)
	if f == nil {
		f = ls.free
		if f == nil {
			f = &flow[K]{}
		} else {
			ls.free = f.free
			ls.spare--
		}
		*f = flow[K]{lane: l, tenant: t, index: len(t.flows)}
		t.flows = append(t.flows, f)
		l.flows.set(t, f)
	}
	return f
}

// open makes it possible to take from f, which has entries.
func (ls *lanes[K]) open(f *flow[K]) {
	l := f.lane
	if !l.busy {
		l.busy = true
		ls.busy.push(^int64(l.priority), l) // ^ turns the order round, and has no overflow as - has
	}
	if f.tenant != nil {
		l.turns.push(0, f)
	}
	if ls.ageing > 0 {
		ls.ages.push(int64(f.first.since), agedFlow[K]{f})
	}
}

// close is the reverse of open; f may be empty.
func (ls *lanes[K]) close(f *flow[K]) {
	if f.tenant != nil {
		f.lane.turns.remove(f.turn)
	}
	if ls.ageing > 0 {
		ls.ages.remove(f.age)
	}
}

// drop forgets f, which is empty and closed, and its lane if there are many.
func (ls *lanes[K]) drop(f *flow[K]) {
	l := f.lane
	if t := f.tenant; t != nil {
		last := t.flows[len(t.flows)-1]
		last.index = f.index
		t.flows[f.index] = last
		t.flows[len(t.flows)-1] = nil
		t.flows = t.flows[:len(t.flows)-1]
		l.flows.remove(t)
		*f = flow[K]{}
		if ls.spare < keepTenants {
			f.free, ls.free = ls.free, f
			ls.spare++
		}
	}
	if len(ls.byPriority.m) > keepLanes && len(l.flows.m) == 0 {
		if l.busy {
			ls.busy.remove(l.index)
		}
		ls.byPriority.remove(l.priority)
		ls.latest = nil
	}
}
