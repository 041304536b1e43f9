package storage

import "hash/maphash"

// tree is a sorted map from key to object. Who has shared one has it for good: writers that
// name another edit than the one by which a node was made leave the node as it is, and put a
// copy of it, and of the path to it, into another tree that shares all the rest. So a snapshot
// costs nothing, readers need no lock, and a writer whom nobody looks at copies nothing.
//
// It is a treap: sorted by key from left to right, and by rank from the top
// down; ranks are hashes of keys, which keep it balanced. nil is the empty tree.
type tree struct {
	object      *Object
	rank        uint64
	left, right *tree
	size        int
	edit        edit
}

// edit is who may write to a node: whoever made it. Zero is nobody.
type edit uint64

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

// own returns the node, or a copy of it, that e may write to.
func (t *tree) own(e edit) *tree {
	if e != 0 && t.edit == e {
		return t
	}
	own := *t
	own.edit = e
	return &own
}

// count counts what is below a node that has been written to.
func (t *tree) count() { t.size = t.left.len() + t.right.len() + 1 }

// with returns the tree with o in the place of what had its key.
func (t *tree) with(o *Object, e edit) *tree {
	return t.insert(o, maphash.String(seed, o.key), e)
}

// insert returns a node that e may write to.
func (t *tree) insert(o *Object, rank uint64, e edit) *tree {
	if t == nil {
		return &tree{object: o, rank: rank, size: 1, edit: e}
	}
	t = t.own(e)
	up := t // what comes in its place: the new node, if that ranks higher
	switch {
	case o.key < t.object.key:
		t.left = t.left.insert(o, rank, e)
		if t.left.rank > t.rank {
			up = t.left
			t.left, up.right = up.right, t
		}
	case o.key > t.object.key:
		t.right = t.right.insert(o, rank, e)
		if t.right.rank > t.rank {
			up = t.right
			t.right, up.left = up.left, t
		}
	default:
		t.object = o
	}
	t.count()
	up.count()
	return up
}

// without returns the tree without a key that it has.
func (t *tree) without(key string, e edit) *tree {
	if key == t.object.key {
		return join(t.left, t.right, e)
	}
	t = t.own(e)
	if key < t.object.key {
		t.left = t.left.without(key, e)
	} else {
		t.right = t.right.without(key, e)
	}
	t.count()
	return t
}

// join returns one tree of two; all keys of left are less than those of right.
func join(left, right *tree, e edit) *tree {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.rank > right.rank:
		left = left.own(e)
		left.right = join(left.right, right, e)
		left.count()
		return left
	default:
		right = right.own(e)
		right.left = join(left, right.left, e)
		right.count()
		return right
	}
}

// undo returns the tree as it was before changes, of which the last one led to it. It
// leaves t as it is, which nobody may write to meanwhile.
func (t *tree) undo(changes []Change) *tree {
	for i := len(changes) - 1; i >= 0; i-- {
		if c := changes[i]; c.Type == Added {
			t = t.without(c.Object.key, 0)
		} else {
			t = t.with(c.Previous, 0)
		}
	}
	return t
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
