package cache

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"governor/client"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// maxOverlaid is how many objects an overlay holds: own writes that the watch
	// has not brought yet. Past it, reads wait for the watch.
	maxOverlaid = 1000
	// maxOverlay is how many entries it has; those without an object are small.
	maxOverlay = 20_000
	// trust is how long what an entry says is believed while the watch brings
	// nothing. A server that was restored from a backup may have lost our write.
	// Watches are told how far the server is each minute or so.
	trust = time.Minute
	// forget is when an entry is dropped of which nobody can say when the store has
	// passed it. No server lets a watch be so far behind.
	forget = 10 * time.Minute
)

// overlaid is what an overlay has at one moment. It never changes.
type overlaid struct {
	entries []*entry // in order of namespace and name
	objects int      // how many are shown
	// floor is where the store has to be to be read at all; empty: anywhere.
	floor string
}

func (o *overlaid) find(key client.ObjectKey) (int, bool) {
	return slices.BinarySearchFunc(o.entries, key, func(e *entry, key client.ObjectKey) int { return compareKeys(e.key, key) })
}

// get returns the entry of a key, or nil.
func (o *overlaid) get(key client.ObjectKey) *entry {
	if n, found := o.find(key); found {
		return o.entries[n]
	}
	return nil
}

// overlay is what we know of a scope's objects from our own writes, until the
// store has it from the watch:
//
//	write ──► the server's answer ──► entry ──┐
//	                                          ▼
//	watch ──► STORE, at a resourceVersion ──► a read shows the later of both
//	            └── has come as far as the entry: it is dropped
//
// A read loads the overlay first, then a state of the store, and compares: an entry
// that was dropped in between is in that state, and one that the state has passed
// is not looked at. So no lock is needed, and nothing is ever shown that is older
// than the write, or than what was shown before.
//
// All else is in docs/design/read-your-own-writes.md.
type overlay struct {
	current atomic.Pointer[overlaid] // nil while there is nothing

	indexer *Indexer
	mu      sync.Mutex // serialises changes of current
}

// reached says whether a store at this version has come to that one. What cannot
// be compared has not.
func reached(this, that string) bool {
	order, err := resourceversion.CompareResourceVersion(this, that)
	return err == nil && order >= 0
}

// later returns the later of two versions; empty ones, and those that cannot be
// compared, are earlier than any.
func later(a, b string) string {
	if reached(a, b) {
		return a
	}
	if _, err := resourceversion.CompareResourceVersion(b, b); err != nil {
		return a
	}
	return b
}

// write adds what a write has taught us, one entry for each key.
func (o *overlay) write(entries ...*entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.copyLocked()
	for _, e := range entries {
		n, found := next.find(e.key)
		switch {
		case !found:
			next.entries = slices.Insert(next.entries, n, o.seen(e))
		default:
			next.entries[n] = o.seen(next.entries[n].and(e))
		}
	}
	o.publishLocked(next, false)
}

// seen returns e with what the store knows: that of a gone object it has a version.
func (o *overlay) seen(e *entry) *entry {
	if e.verdict != gone {
		return e
	}
	stored := o.indexer.Get(e.key)
	if stored == nil || stored.GetUID() != e.uid {
		return e
	}
	known := *e
	known.resourceVersion = later(e.resourceVersion, stored.GetResourceVersion())
	return &known
}

// learn puts what the server has answered in the place of e, unless there has been
// another write meanwhile; nil: the store may be believed.
func (o *overlay) learn(e, next *entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.copyLocked()
	n, found := c.find(e.key)
	if !found || c.entries[n] != e {
		return
	}
	if c.entries[n] = next; next == nil {
		c.entries = slices.Delete(c.entries, n, n+1)
	}
	o.publishLocked(c, false)
}

// copyLocked returns a copy of current, to be changed.
//
// +checklocks:o.mu
func (o *overlay) copyLocked() *overlaid {
	c := o.current.Load()
	if c == nil {
		return &overlaid{}
	}
	return &overlaid{entries: slices.Clone(c.entries), objects: c.objects, floor: c.floor}
}

// publishLocked makes next what readers see, without what the store knows. alive
// says that the watch has just brought something.
//
// +checklocks:o.mu
func (o *overlay) publishLocked(next *overlaid, alive bool) {
	// The store may go on between the look at it and the store of the pointer,
	// and find nothing to drop then: so look again.
	for {
		version := o.indexer.ResourceVersion()
		o.drop(next, version, alive)
		if len(next.entries) == 0 && next.floor == "" {
			o.current.Store(nil)
			return
		}
		o.current.Store(next)
		if o.indexer.ResourceVersion() == version {
			return
		}
		next = o.copyLocked()
	}
}

// drop takes from next, which nobody sees yet, what a store at version knows.
func (o *overlay) drop(next *overlaid, version string, alive bool) {
	now := time.Now()
	next.entries = slices.DeleteFunc(next.entries, func(e *entry) bool {
		if e.passed(version, o.indexer.Get(e.key)) {
			return true
		}
		return alive && e.resourceVersion == "" && now.Sub(e.since) >= forget
	})
	if reached(version, next.floor) {
		next.floor = ""
	}
	next.bound()
}

// bound forgets the oldest entries, if there are too many. Reads then wait until
// the store knows what they said.
func (o *overlaid) bound() {
	o.objects = 0
	for _, e := range o.entries {
		if e.verdict == shown {
			o.objects++
		}
	}
	if o.objects <= maxOverlaid && len(o.entries) <= maxOverlay {
		return
	}
	left, forgotten := len(o.entries), map[*entry]bool{}
	for _, e := range slices.SortedStableFunc(slices.Values(o.entries), func(a, b *entry) int { return a.since.Compare(b.since) }) {
		if o.objects > maxOverlaid && e.verdict == shown || left > maxOverlay {
			if e.verdict == shown {
				o.objects--
			}
			left--
			o.floor = later(o.floor, e.resourceVersion)
			forgotten[e] = true
		}
	}
	o.entries = slices.DeleteFunc(o.entries, func(e *entry) bool { return forgotten[e] })
}

// advanced is called when the store has gone on; back says that it has gone back:
// to the newest state of a server that has lost what it had.
func (o *overlay) advanced(back bool) {
	if o.current.Load() == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if back {
		o.current.Store(nil)
		return
	}
	next := o.copyLocked()
	for n, e := range next.entries {
		next.entries[n] = o.seen(e)
	}
	o.publishLocked(next, true)
}

// overlaidStore is the store as the informer writes it: without the overlay, which
// hears how far it has come.
type overlaidStore struct {
	*Indexer
	overlay *overlay
}

// Update implements informer.Store.
func (s *overlaidStore) Update(put []client.Object, remove []client.ObjectKey, resourceVersion string) error {
	defer s.overlay.advanced(false)
	return s.Indexer.Update(put, remove, resourceVersion)
}

// Replace implements informer.Store.
func (s *overlaidStore) Replace(objects []client.Object, resourceVersion string) error {
	before := s.ResourceVersion()
	err := s.Indexer.Replace(objects, resourceVersion)
	s.overlay.advanced(err == nil && older(resourceVersion, before))
	return err
}
