package storage

import "hash/maphash"

// tree is a sorted map from key to object of which every version stays as it
// is: with and without return another tree that shares all but one path with
// the old. So a snapshot costs nothing, and readers need no lock.
//
// It is a treap: sorted by key from left to right, and by rank from the top
// down; ranks are hashes of keys, which keep it balanced. nil is the empty tree.
type tree struct {
	object      *Object
	rank        uint64
	left, right *tree
	size        int
}

// seed makes ranks that nobody can aim at.
var seed = maphash.MakeSeed()

// get returns the object with a key, or nil.
func (t *tree) get(key string) *Object {
	for t != nil {
		switch {
		case key < t.object.key:
			t = t.left
		case key > t.object.key:
			t = t.right
		default:
			return t.object
		}
	}
	return nil
}

// len is the number of objects.
func (t *tree) len() int {
	if t == nil {
		return 0
	}
	return t.size
}

// with returns the tree with o in the place of what had its key.
func (t *tree) with(o *Object) *tree {
	return t.insert(o, maphash.String(seed, o.key))
}

func (t *tree) insert(o *Object, rank uint64) *tree {
	switch {
	case t == nil:
		return node(o, rank, nil, nil)
	case o.key == t.object.key:
		return node(o, rank, t.left, t.right)
	case o.key < t.object.key:
		left := t.left.insert(o, rank)
		if left.rank <= t.rank {
			return node(t.object, t.rank, left, t.right)
		}
		return node(left.object, left.rank, left.left, node(t.object, t.rank, left.right, t.right))
	default:
		right := t.right.insert(o, rank)
		if right.rank <= t.rank {
			return node(t.object, t.rank, t.left, right)
		}
		return node(right.object, right.rank, node(t.object, t.rank, t.left, right.left), right.right)
	}
}

// without returns the tree without a key that it has.
func (t *tree) without(key string) *tree {
	switch {
	case key < t.object.key:
		return node(t.object, t.rank, t.left.without(key), t.right)
	case key > t.object.key:
		return node(t.object, t.rank, t.left, t.right.without(key))
	default:
		return join(t.left, t.right)
	}
}

// join returns one tree of two; all keys of left are less than those of right.
func join(left, right *tree) *tree {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.rank > right.rank:
		return node(left.object, left.rank, left.left, join(left.right, right))
	default:
		return node(right.object, right.rank, join(left, right.left), right.right)
	}
}

func node(o *Object, rank uint64, left, right *tree) *tree {
	return &tree{object: o, rank: rank, left: left, right: right, size: left.len() + right.len() + 1}
}

// from yields the objects whose key is at least key, in order, until yield
// returns false; it returns false then too.
func (t *tree) from(key string, yield func(*Object) bool) bool {
	if t == nil {
		return true
	}
	if key < t.object.key && !t.left.from(key, yield) {
		return false
	}
	if key <= t.object.key && !yield(t.object) {
		return false
	}
	if key < t.object.key {
		key = "" // all that is right of here is in
	}
	return t.right.from(key, yield)
}

// before is how many keys are less than key.
func (t *tree) before(key string) int {
	n := 0
	for t != nil {
		if key <= t.object.key {
			t = t.left
		} else {
			n += t.left.len() + 1
			t = t.right
		}
	}
	return n
}
