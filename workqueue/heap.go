package workqueue

import (
	"cmp"
	"slices"
)

// heap is a priority queue in an array: the item of the lowest rank is on top,
// and among equals the one that came first. Each item is told its place, so
// that it can be moved or removed without a search.
//
// Four children to a node make it half as deep as a binary heap, and the four
// lie side by side in memory. Rank and ticket are in the array and not behind
// item's pointer for the same reason: to compare touches nothing else.
type heap[T placed] struct {
	slots   []slot[T]
	tickets uint64 // how many were given out
}

// placed is told its index in the heap whenever that changes.
type placed interface{ place(index int) }

type slot[T placed] struct {
	rank   int64
	ticket uint64
	item   T
}

func (s *slot[T]) before(other *slot[T]) bool {
	return s.rank < other.rank || s.rank == other.rank && s.ticket < other.ticket
}

const children = 4

func (h *heap[T]) len() int { return len(h.slots) }

// top returns the first item and its rank. The heap must not be empty.
func (h *heap[T]) top() (T, int64) { return h.slots[0].item, h.slots[0].rank }

// sorted returns a copy of the slots, the top first.
func (h *heap[T]) sorted() []slot[T] {
	return slices.SortedFunc(slices.Values(h.slots), func(a, b slot[T]) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.ticket, b.ticket))
	})
}

// push puts item behind those of the same rank.
func (h *heap[T]) push(rank int64, item T) {
	h.tickets++
	h.slots = append(h.slots, slot[T]{rank, h.tickets, item})
	h.up(len(h.slots)-1, h.slots[len(h.slots)-1])
}

// move gives the item at index i another rank, behind those that have it.
func (h *heap[T]) move(i int, rank int64) {
	h.tickets++
	h.settle(i, slot[T]{rank, h.tickets, h.slots[i].item})
}

// remove takes the item at index i out.
func (h *heap[T]) remove(i int) {
	last := len(h.slots) - 1
	moved := h.slots[last]
	h.slots[last] = slot[T]{}
	h.slots = h.slots[:last]
	if i != last {
		h.settle(i, moved)
	}
	if cap(h.slots) > keep && last < cap(h.slots)/4 {
		h.slots = append(make([]slot[T], 0, 2*last), h.slots...)
	}
}

// settle puts s where it belongs, from the hole at i.
func (h *heap[T]) settle(i int, s slot[T]) {
	if i > 0 && s.before(&h.slots[(i-1)/children]) {
		h.up(i, s)
	} else {
		h.down(i, s)
	}
}

// up moves the hole at i towards the top until s fits into it.
func (h *heap[T]) up(i int, s slot[T]) {
	for i > 0 {
		parent := (i - 1) / children
		if !s.before(&h.slots[parent]) {
			break
		}
		h.put(i, h.slots[parent])
		i = parent
	}
	h.put(i, s)
}

// down moves the hole at i away from the top until s fits into it.
func (h *heap[T]) down(i int, s slot[T]) {
	for {
		first := children*i + 1
		if first >= len(h.slots) {
			break
		}
		least := first
		for c := first + 1; c < min(first+children, len(h.slots)); c++ {
			if h.slots[c].before(&h.slots[least]) {
				least = c
			}
		}
		if !h.slots[least].before(&s) {
			break
		}
		h.put(i, h.slots[least])
		i = least
	}
	h.put(i, s)
}

func (h *heap[T]) put(i int, s slot[T]) {
	h.slots[i] = s
	s.item.place(i)
}
