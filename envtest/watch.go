package envtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"governor/envtest/storage"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// minWatch is how long a watch lasts at least whose client does not say how
	// long; at most twice that.
	minWatch = 30 * time.Minute
	// bookmarkPeriod is the time between bookmarks.
	bookmarkPeriod = time.Minute
	// lastBookmark is how long before its end a watch gets the last bookmark.
	lastBookmark = 2 * time.Second
	// catchUp is how long a watch that wants all objects at a resourceVersion of
	// the future waits for it.
	catchUp = 3 * time.Second
)

// watch streams changes until the client goes, the time is up, or the resource is no
// longer served. It answers by itself.
//
//	sendInitialEvents, or no resourceVersion, or 0:  all objects as ADDED, a bookmark that says so, then changes
//	sendInitialEvents=false without one, or 0:       changes from now on
//	resourceVersion:                                 changes after that
//
// What goes wrong once the stream has begun, and be it at once, is an ERROR event.
func (s *Server) watch(c *call) (*answer, error) {
	o, selected, err := c.listOptions()
	if err != nil {
		return nil, err
	}
	from, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if c.format.mediaType == runtime.ContentTypeYAML {
		return nil, errUnacceptable(streamTypes) // YAML has no frames
	}
	lasts := time.Duration(float64(minWatch) * (1 + rand.Float64()))
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds != 0 {
		lasts = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(c.Context(), lasts)
	defer cancel()
	stream := s.newEventStream(c, selected)
	defer stream.end()
	w := &watcher{server: s, call: c, options: o, stream: stream, from: from, ends: time.Now().Add(lasts)}
	if err := w.run(ctx); err != nil {
		stream.fail(err)
	}
	return nil, nil
}

// watcher is one watch under way.
type watcher struct {
	server  *Server
	call    *call
	options *metainternal.ListOptions
	stream  *eventStream
	// from is the resourceVersion asked for; ends is when the time is up.
	from uint64
	ends time.Time
}

// run streams until the context ends (nil) or something goes wrong (what the client is to hear of).
func (w *watcher) run(ctx context.Context) error {
	start, err := w.begin(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	cursor := w.server.store.Cursor(w.call.stored(), start)
	bookmark := time.NewTimer(w.untilBookmark())
	defer bookmark.Stop()
	for due := false; ctx.Err() == nil; {
		changes, more, err := cursor.Next()
		switch {
		case errors.Is(err, storage.ErrDropped):
			return nil
		case err != nil:
			return err
		}
		for _, change := range changes {
			if err := w.stream.change(change); err != nil {
				return err
			}
		}
		if more == nil {
			continue // perhaps there are more by now
		}
		if due {
			w.bookmark(cursor.Position(), start)
			bookmark.Reset(w.untilBookmark())
			due = false
		}
		if err := w.stream.flush(); err != nil {
			return nil // the client is gone
		}
		select {
		case <-ctx.Done():
		case <-more:
		case <-bookmark.C:
			due = true // once all that has happened so far is told
		}
	}
	return nil
}

// bookmark tells how far the watch has come, if that is farther than where it began.
func (w *watcher) bookmark(position, start uint64) {
	if w.options.AllowWatchBookmarks && position > start {
		w.stream.bookmark(position, false)
	}
}

// begin sends all objects, if they are wanted. It returns the resourceVersion after which
// changes follow. The place in the history is fixed before the header leaves: what
// happens after a client has seen that, it will see.
func (w *watcher) begin(ctx context.Context) (uint64, error) {
	switch initial := w.options.SendInitialEvents; {
	case initial == nil || !*initial && w.from > 0:
		return w.from, nil
	case !*initial:
		return w.server.store.ResourceVersion(), nil
	}
	if err := w.reach(ctx); err != nil {
		return 0, err
	}
	snapshot, err := w.server.store.Snapshot(w.call.stored(), 0)
	if err != nil {
		return 0, err
	}
	for _, object := range w.stream.selected.page(snapshot, w.call.namespace(), "", 0).objects {
		if err := w.stream.event("ADDED", object); err != nil {
			return 0, err
		}
	}
	if w.options.AllowWatchBookmarks {
		w.stream.bookmark(snapshot.ResourceVersion, true)
	}
	return snapshot.ResourceVersion, nil
}

// reach waits for the resourceVersion that is asked for.
func (w *watcher) reach(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	if w.server.store.Reach(waiting, w.from) == nil || ctx.Err() != nil {
		return nil // or there is no time left to tell anything
	}
	return errTooLarge(w.from, w.server.store.ResourceVersion())
}

// untilBookmark is the time to the next bookmark: a period, but no longer than to shortly before the
// end.
func (w *watcher) untilBookmark() time.Duration {
	if last := time.Until(w.ends.Add(-lastBookmark)); last > 0 {
		return min(bookmarkPeriod, last)
	}
	return bookmarkPeriod
}
