package envtest

import (
	"context"
	"maps"
	"net/http"
	"sync"
)

// DropWatches breaks the connections of the watches that are open and fit the match, as a network does, and
// returns how many those were. Match.Verb need not be said. A client that has stopped reading notices
// when it goes on.
func (s *Server) DropWatches(match Match) (dropped int) {
	for rec, drop := range s.watches.all() {
		if match.fits(rec) {
			drop()
			dropped++
		}
	}
	return dropped
}

// watches are those that are open. The zero value is ready to use.
type watches struct {
	mu   sync.Mutex
	open map[*record]context.CancelFunc // +checklocks:mu
}

// enter returns the context of a watch that begins. leave is to be deferred: it aborts
// the answer of a watch that was dropped.
func (w *watches) enter(ctx context.Context, rec *record) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	dropped := false // guarded by mu
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[*record]context.CancelFunc{}
	}
	w.open[rec] = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		dropped = true
		cancel()
	}
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, rec)
		if dropped {
			panic(http.ErrAbortHandler)
		}
	}
}

// all returns the open watches, and what drops each.
func (w *watches) all() map[*record]context.CancelFunc {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.open)
}
