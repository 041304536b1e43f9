package workqueue

// keep is how many elements' worth of memory a queue may hold on to when it is
// idle, so that ordinary ups and downs allocate nothing.
const keep = 1024

// table is a map that gives memory back: Go's maps only grow, so it moves into
// a new one when three quarters of what it held at its fullest have gone. The
// cost of a move is shared by the removals that led to it. The zero table is
// empty.
type table[K comparable, V any] struct {
	m       map[K]V
	fullest int // the largest len(m) since m was made
}

// get returns the key's value, or the zero value.
func (t *table[K, V]) get(key K) V { return t.m[key] }

// set stores the key's value.
func (t *table[K, V]) set(key K, value V) {
	if t.m == nil {
		t.m = make(map[K]V)
	}
	t.m[key] = value
	t.fullest = max(t.fullest, len(t.m))
}

// remove deletes the key. It says whether the table moved.
func (t *table[K, V]) remove(key K) (moved bool) {
	delete(t.m, key)
	if t.fullest <= keep || len(t.m) >= t.fullest/4 {
		return false
	}
	smaller := make(map[K]V, len(t.m))
	for k, v := range t.m {
		smaller[k] = v
	}
	t.m, t.fullest = smaller, len(smaller)
	return true
}
