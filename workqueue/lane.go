package workqueue

// lane is the queue of one priority: first in, first out.
type lane[K comparable] struct {
	list[K]
	priority int
	index    int // its place in lanes.busy, while it is not empty
}

// place is called by lanes.busy.
func (l *lane[K]) place(index int) { l.index = index }

// keepLanes is how many lanes may stay when they are empty: priorities are few,
// and a lane that is used again and again should not be made each time. But
// nothing forbids a priority per key.
const keepLanes = 64

// lanes holds the entries that a worker can have. To add, to take and to remove
// do not depend on how many there are, only on how many priorities they have.
// The zero lanes is empty.
type lanes[K comparable] struct {
	busy       heap[*lane[K]] // those with entries; the highest priority is on top
	byPriority table[int, *lane[K]]
	len        int // how many entries
}

// append adds e behind all of its priority.
func (ls *lanes[K]) append(e *entry[K]) {
	l := ls.byPriority.get(e.priority)
	if l == nil {
		l = &lane[K]{priority: e.priority}
		ls.byPriority.set(e.priority, l)
	}
	if l.first == nil {
		ls.busy.push(^int64(l.priority), l) // ^ turns the order round, and has no overflow as - has
	}
	l.append(e)
	ls.len++
}

// remove takes e out, wherever it stands.
func (ls *lanes[K]) remove(e *entry[K]) {
	ls.drop(ls.byPriority.get(e.priority), e)
}

// pop takes the first entry of the highest priority out; nil if there is none.
func (ls *lanes[K]) pop() *entry[K] {
	if ls.len == 0 {
		return nil
	}
	l, _ := ls.busy.top()
	e := l.first
	ls.drop(l, e)
	return e
}

func (ls *lanes[K]) drop(l *lane[K], e *entry[K]) {
	l.remove(e)
	ls.len--
	if l.first != nil {
		return
	}
	ls.busy.remove(l.index)
	if len(ls.byPriority.m) > keepLanes {
		ls.byPriority.remove(l.priority)
	}
}
