package workqueue

import (
	"math/bits"
	"slices"
	"time"
)

// wheel holds the entries that wait, by the moment at which they are due. To put
// one in, to move it and to take it out costs the same however many there are,
// and touches little memory: a heap of a million would touch twenty places, all
// of them far apart.
//
// Time is cut into ticks of about a millisecond. What is due in the current tick
// stands in near, a small heap, and so comes out in exact order. What is due
// later lies in slots, unsorted:
//
//	level 0   64 slots of a tick each
//	level 1   64 slots of 64 ticks each
//	level 2   64 slots of 64 × 64 ticks each, and so on
//
// An entry lies in the lowest level where one turn of 64 slots takes in both its
// tick and the current one. That is the level of the highest digit, to base 64,
// in which the two numbers differ. When the current tick reaches the beginning
// of a slot, its entries are put in anew: into lower levels, at last into near.
//
// Entries of the same moment keep the order in which they were put in: they are
// always in the same slot, or all in near.
//
// The zero wheel is empty.
type wheel[K comparable] struct {
	len    int
	tick   int64 // the current one; nothing in levels is due in it or earlier
	near   heap[*entry[K]]
	levels []level[K] // made when they are needed
}

type level[K comparable] struct {
	used  uint64 // a bit per slot that is not empty
	slots [slotsPerLevel]list[K]
}

const (
	tickBits      = 20 // 2^20 ns
	levelBits     = 6
	slotsPerLevel = 1 << levelBits
)

// put puts e in, which is due at that moment, behind those of the same moment.
// All that was due by now must have been popped.
func (w *wheel[K]) put(e *entry[K], now, due time.Duration) {
	if w.len == 0 {
		w.tick = int64(now) >> tickBits
	}
	w.len++
	e.due = due
	w.place(e)
}

func (w *wheel[K]) place(e *entry[K]) {
	tick := int64(e.due) >> tickBits
	if tick <= w.tick {
		w.near.push(int64(e.due), e)
		return
	}
	n := (bits.Len64(uint64(tick^w.tick)) - 1) / levelBits
	for len(w.levels) <= n {
		w.levels = append(w.levels, level[K]{})
	}
	slot := int(tick>>(n*levelBits)) % slotsPerLevel
	l := &w.levels[n]
	l.slots[slot].append(e)
	l.used |= 1 << slot
	e.index = ^(n*slotsPerLevel + slot)
}

// remove takes e out, wherever it is.
func (w *wheel[K]) remove(e *entry[K]) {
	w.len--
	if e.index >= 0 {
		w.near.remove(e.index)
		return
	}
	n, slot := ^e.index/slotsPerLevel, ^e.index%slotsPerLevel
	l := &w.levels[n]
	l.slots[slot].remove(e)
	if l.slots[slot].first == nil {
		l.used &^= 1 << slot
	}
}

// pop takes out the earliest entry if it is due by now; otherwise it returns
// nil. Until then the entries of one slot after the other come to near: it never
// holds more than those of one tick, however long ago the last call was.
func (w *wheel[K]) pop(now time.Duration) *entry[K] {
	for {
		if w.near.len() > 0 {
			e, due := w.near.top()
			if due > int64(now) {
				return nil
			}
			w.remove(e)
			return e
		}
		n, slot, start := w.next()
		if today := int64(now) >> tickBits; n < 0 || start > today {
			w.tick = max(w.tick, today)
			return nil
		}
		w.tick = start
		l := &w.levels[n]
		e := l.slots[slot].first
		l.slots[slot] = list[K]{}
		l.used &^= 1 << slot
		for e != nil {
			next := e.next
			e.prev, e.next = nil, nil
			w.place(e)
			e = next
		}
	}
}

// next is the slot that begins first, and the tick with which it does. All that
// is in the slots of a level is due before all that is in the next level, and
// slots that lie behind the current tick are empty. If there is none, n is -1.
func (w *wheel[K]) next() (n, slot int, start int64) {
	for n := range w.levels {
		if used := w.levels[n].used; used != 0 {
			slot := bits.TrailingZeros64(used)
			turn := w.tick >> ((n + 1) * levelBits)
			return n, slot, (turn<<levelBits | int64(slot)) << (n * levelBits)
		}
	}
	return -1, 0, 0
}

// alarm is a moment at or before that at which the earliest entry is due, and
// at which pop has something to do. The wheel must not be empty.
func (w *wheel[K]) alarm() time.Duration {
	if w.near.len() > 0 {
		_, due := w.near.top()
		return time.Duration(due)
	}
	_, _, start := w.next()
	return time.Duration(start << tickBits)
}

// sorted returns all entries, the earliest first.
func (w *wheel[K]) sorted() []*entry[K] {
	all := make([]*entry[K], 0, w.len)
	for _, s := range w.near.sorted() {
		all = append(all, s.item)
	}
	for n := range w.levels {
		for slot := range w.levels[n].slots {
			for e := w.levels[n].slots[slot].first; e != nil; e = e.next {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *entry[K]) int { return int(min(max(a.due-b.due, -1), 1)) })
	return all
}
