package client

type live bool

// Live makes a Delegating client read from the server, this once: an option of Get
// and List. What the server answers is the newest state.
const Live live = true

// ApplyToGet makes it an option of Get.
func (l live) ApplyToGet(o *GetOptions) { o.Live = bool(l) }

// ApplyToList makes it an option of List.
func (l live) ApplyToList(o *ListOptions) { o.Live = bool(l) }

// MinResourceVersion makes a cached read wait, for some seconds, until the cache
// has come so far. The resourceVersion is one that an object or a list of the same
// kind had. Of a kind that seldom changes, a cache may hear of how far the server is
// once a minute only, if the version is not that of an object it holds.
type MinResourceVersion string

// ApplyToGet makes it an option of Get.
func (m MinResourceVersion) ApplyToGet(o *GetOptions) { o.MinResourceVersion = string(m) }

// ApplyToList makes it an option of List.
func (m MinResourceVersion) ApplyToList(o *ListOptions) { o.MinResourceVersion = string(m) }

type disableReadYourWritesConsistency bool

// DisableReadYourWritesConsistency makes a cached read answer from what the watch
// has brought, though the caller's own writes are not in it yet: an option of Get and List.
const DisableReadYourWritesConsistency disableReadYourWritesConsistency = true

// ApplyToGet makes it an option of Get.
func (d disableReadYourWritesConsistency) ApplyToGet(o *GetOptions) {
	o.DisableReadYourWritesConsistency = bool(d)
}

// ApplyToList makes it an option of List.
func (d disableReadYourWritesConsistency) ApplyToList(o *ListOptions) {
	o.DisableReadYourWritesConsistency = bool(d)
}
