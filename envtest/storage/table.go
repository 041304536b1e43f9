package storage

import (
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

	after *tree // all objects once it was done
}

// table is what a Store knows of one resource. The Store's lock guards it.
//
//	  floor                                       now
//	    │ base ─► changes[0] ─► … ─► changes[n-1]  │ objects
//	────┴─────────────────────────────────────────┴──► resourceVersion
//
// Invariants, which valid checks:
//
//  1. objects is the state after the last change, or base if there is none.
//  2. changes rise in resourceVersion, all of them above floor.
//  3. changes[i].after follows from the state before by changes[i].
type table struct {
	resource schema.GroupResource
	objects  *tree
	floor    uint64 // what happened up to here is forgotten
	base     *tree  // the state at floor
	// changes is only ever appended to, and cut by making another slice: whoever
	// holds a part of it may read that without a lock.
	changes []Change
	changed chan struct{} // closed at the next change; nil while nobody waits
	dropped bool
}

func newTable(resource schema.GroupResource, floor uint64) *table {
	return &table{resource: resource, floor: floor}
}

// apply makes a change and wakes those who wait for one.
func (t *table) apply(c Change, history int) {
	if c.Type == Deleted {
		t.objects = t.objects.without(c.Object.key)
	} else {
		t.objects = t.objects.with(c.Object)
	}
	c.after = t.objects
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

// at returns the state as it was at a resourceVersion, false when that is forgotten.
func (t *table) at(version uint64) (*tree, bool) {
	if i := t.index(version); i > 0 {
		return t.changes[i-1].after, true
	}
	return t.base, version >= t.floor
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
	t.floor = max(t.floor, version)
}

// cut drops the first n changes.
func (t *table) cut(n int) {
	if n == 0 {
		return
	}
	last := t.changes[n-1]
	t.base, t.floor = last.after, last.ResourceVersion
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
