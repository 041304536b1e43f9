package manager

import "container/list"

// lru is a map that forgets the entry which was used longest ago when it is full.
// Its owner guards it.
type lru[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	order   *list.List // of lruEntry; the one used last is in front
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int) *lru[K, V] {
	return &lru[K, V]{max: max, entries: map[K]*list.Element{}, order: list.New()}
}

// get returns the value of a key, which is then the one used last; zero if absent.
func (l *lru[K, V]) get(key K) V {
	e := l.entries[key]
	if e == nil {
		var zero V
		return zero
	}
	l.order.MoveToFront(e)
	return e.Value.(lruEntry[K, V]).value
}

// put adds a key, or replaces its value.
func (l *lru[K, V]) put(key K, value V) {
	if e := l.entries[key]; e != nil {
		e.Value = lruEntry[K, V]{key, value}
		l.order.MoveToFront(e)
		return
	}
	l.entries[key] = l.order.PushFront(lruEntry[K, V]{key, value})
	if l.order.Len() > l.max {
		oldest := l.order.Remove(l.order.Back()).(lruEntry[K, V])
		delete(l.entries, oldest.key)
	}
}
