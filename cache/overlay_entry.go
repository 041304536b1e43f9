package cache

import (
	"time"

	"governor/client"

	"k8s.io/apimachinery/pkg/types"
)

// verdict is what an entry says of its key.
type verdict int

const (
	// shown: the object is as the entry has it.
	shown verdict = iota
	// hidden: there is none that the scope selects.
	hidden
	// gone: the object of the entry's UID was deleted. UIDs do not come back, so
	// that one is never shown again.
	gone
	// doubtful: there was a write, but the answer did not tell what came of it.
	doubtful
)

// entry is what we know of one key, that the store may not know yet. It never
// changes.
type entry struct {
	key     client.ObjectKey
	verdict verdict
	object  client.Object // shown: in the stored form, shared as what is stored
	uid     types.UID     // empty: not known
	// resourceVersion is where the store knows as much, or more: of gone, if the
	// object is not in it then. Empty: not known.
	resourceVersion string
	since           time.Time
}

// passed says whether a store at version, with this object under the key, knows as
// much as the entry.
func (e *entry) passed(version string, stored client.Object) bool {
	if !reached(version, e.resourceVersion) {
		return false
	}
	return e.verdict != gone || stored == nil || stored.GetUID() != e.uid
}

// judge returns the object that a store at version, with this object under the
// key, is to show; nil for none. sure is false if only the server knows.
func (e *entry) judge(version string, stored client.Object, now time.Time) (obj client.Object, sure bool) {
	switch {
	case e.passed(version, stored):
		return stored, true
	case stored == nil && (e.verdict == hidden || e.verdict == gone):
		return nil, true
	case e.verdict == doubtful || now.Sub(e.since) >= trust:
		return nil, false
	case e.verdict == gone && stored != nil && stored.GetUID() != e.uid:
		return nil, false // from before, or from after
	}
	return e.object, true
}

// and returns what two entries of one key say together. e was there before, though
// its write need not have been.
func (e *entry) and(next *entry) *entry {
	doubt := &entry{key: e.key, verdict: doubtful, since: next.since}
	switch {
	case e.verdict == gone && next.verdict != doubtful && next.uid == e.uid,
		next.verdict == gone && e.verdict != gone && next.uid == e.uid:
		// It was deleted: whatever else was written was before.
		both := *next
		both.verdict, both.object, both.uid = gone, nil, e.uid
		both.resourceVersion = later(e.resourceVersion, next.resourceVersion)
		return &both
	case e.verdict == hidden && e.uid == "" && next.verdict == gone:
		return next // what the server did not have, it may have had later
	case e.verdict == gone || next.verdict == gone:
		if e.resourceVersion == "" || next.resourceVersion == "" {
			return doubt
		}
		// Two objects: where the later one was, the earlier one is gone.
		fallthrough
	case e.resourceVersion != "" && next.resourceVersion != "":
		switch {
		case e.resourceVersion == next.resourceVersion && next.verdict == doubtful:
			return e // nothing has changed
		case e.resourceVersion == next.resourceVersion || !reached(e.resourceVersion, next.resourceVersion):
			return next
		}
		return e
	}
	return doubt
}
