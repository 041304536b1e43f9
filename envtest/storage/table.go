package storage

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ChangeType says what a Change did.
type ChangeType int

// The types of a Change.
const (
	Added ChangeType = iota
	Modified
	Deleted
)

// Change is one step of the history.
type Change struct {
	Type            ChangeType
	ResourceVersion uint64
	// Object is the new state; for Deleted the last one, at the delete's resourceVersion.
	Object *Object
	// Previous is the state before; nil for Added.
	Previous *Object
}

// table is what a Store knows of one resource. The Store's lock guards it.
//
//	  floor           states[i]                   now
//	    │ changes[0] ─► … ─► changes[j] ─► … ─►    │ objects
//	────┴─────────────────────────────────────────┴──► resourceVersion
//
// A state of the past is made from one after it, by undoing the changes in between.
//
// Invariants, which valid checks:
//
//  1. objects has what the changes say: each one's Object was there after it, and its
//     Previous before it.
//  2. changes rise in resourceVersion, all of them above floor.
//  3. states rise in resourceVersion, none below floor, and are what undoing leads to.
//  4. No node of objects that has been shared is of the current edit.
type table struct {
	resource schema.GroupResource
	objects  *tree
	edit     edit    // by which objects is written to
	states   []state // of the past, those that somebody has asked for
	floor    uint64  // what happened up to here is forgotten
	// changes is only ever appended to, and cut by making another slice: whoever
	// holds a part of it may read that without a lock.
	changes []Change
	changed chan struct{} // closed at the next change; nil while nobody waits
	dropped bool
}

// state is all objects at a resourceVersion.
type state struct {
	version uint64
	objects *tree
}

func newTable(resource schema.GroupResource, floor uint64) *table {
	return &table{resource: resource, edit: 1, floor: floor}
}

// share returns all objects: they stay as they are.
func (t *table) share() *tree {
	t.edit++
	return t.objects
}

// apply makes a change and wakes those who wait for one.
func (t *table) apply(c Change, history int) {
	if c.Type == Deleted {
		t.objects = t.objects.without(c.Object.key, t.edit)
	} else {
		t.objects = t.objects.with(c.Object, t.edit)
	}
	if len(t.changes) >= 2*history { // half at once: the price per change stays small
		t.cut(len(t.changes) - history)
	}
	t.changes = append(t.changes, c)
	t.announce()
}

// since returns the changes after a resourceVersion, false when some are forgotten.
func (t *table) since(version uint64) ([]Change, bool) {
	i := t.index(version)
	return t.changes[i:len(t.changes):len(t.changes)], version >= t.floor
}

// at returns a state, and the changes to undo in it to get the one at a resourceVersion;
// false when that is forgotten.
func (t *table) at(version uint64) (after *tree, changes []Change, ok bool) {
	changes, ok = t.since(version)
	if !ok {
		return nil, nil, false
	}
	if i := t.stateFrom(version); i < len(t.states) {
		return t.states[i].objects, changes[:len(changes)-len(t.changes)+t.index(t.states[i].version)], true
	}
	return t.share(), changes, true
}

// remember keeps a state that has been asked for: whoever reads a page of it will want the next.
func (t *table) remember(s state) {
	i := t.stateFrom(s.version)
	if s.version < t.floor || i < len(t.states) && t.states[i].version == s.version {
		return
	}
	t.states = slices.Insert(t.states, i, s)
}

// stateFrom is the index of the first state at or after a resourceVersion.
func (t *table) stateFrom(version uint64) int {
	return sort.Search(len(t.states), func(i int) bool { return t.states[i].version >= version })
}

// index is that of the first change after a resourceVersion.
func (t *table) index(version uint64) int {
	// Most who ask have seen all but the last few.
	n := len(t.changes)
	if n == 0 || t.changes[n-1].ResourceVersion <= version {
		return n
	}
	return sort.Search(n, func(i int) bool { return t.changes[i].ResourceVersion > version })
}

// forget drops what happened up to a resourceVersion.
func (t *table) forget(version uint64) {
	t.cut(t.index(version))
	t.raise(version)
}

// raise forgets what cannot be asked for any more.
func (t *table) raise(floor uint64) {
	t.floor = max(t.floor, floor)
	t.states = slices.Delete(t.states, 0, t.stateFrom(t.floor))
}

// cut drops the first n changes.
func (t *table) cut(n int) {
	if n == 0 {
		return
	}
	t.raise(t.changes[n-1].ResourceVersion)
	t.changes = append(make([]Change, 0, len(t.changes)), t.changes[n:]...)
}

// announce wakes those who wait for a change.
func (t *table) announce() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// next is what to wait on for a change.
func (t *table) next() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}
