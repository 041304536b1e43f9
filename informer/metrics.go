package informer

import "time"

// Metrics is told what an Informer costs, as it happens; what it is at a moment,
// Status says. Calls may come at the same time. They must not block, nor call the
// Informer. Upstream: client-go's cache.MetricsProvider.
type Metrics interface {
	// Listed follows each list, streaming ones included: how long it took, and
	// how many objects there were, or why it failed.
	Listed(took time.Duration, objects int, err error)
	// Watched follows each stream when it has ended: how long it lasted, how many
	// events and bookmarks it had, without the initial ones, and the error with
	// which it ended, nil if it ended well.
	Watched(lasted time.Duration, events int, err error)
	// Unread tells how many objects are unread now, when that has changed.
	Unread(objects int)
}

type noMetrics struct{}

func (noMetrics) Listed(time.Duration, int, error)  {}
func (noMetrics) Watched(time.Duration, int, error) {}
func (noMetrics) Unread(int)                        {}
