package controller

import "governor/client"

// The objects of events are shared with the cache and with other handlers:
// read them, never change them.

// CreateEvent says that an object is there that was not there before, as far
// as this controller knows.
type CreateEvent struct {
	Object client.Object
	// IsInInitialList says that the object was there before the watch began.
	IsInInitialList bool
}

// UpdateEvent says that an object changed, or, with equal resourceVersions,
// that a resync reports it again. Different UIDs say that the object was
// deleted and made anew while nobody watched.
type UpdateEvent struct {
	ObjectOld client.Object
	ObjectNew client.Object
}

// DeleteEvent says that an object is gone.
type DeleteEvent struct {
	// Object is the last state known.
	Object client.Object
	// DeleteStateUnknown says that the delete itself was missed, so that Object
	// may be older than the state that was deleted.
	DeleteStateUnknown bool
}

// GenericEvent comes from outside the cluster: a timer, a webhook, a queue.
type GenericEvent struct {
	Object client.Object
}
