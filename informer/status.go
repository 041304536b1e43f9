package informer

import (
	"sync"
	"time"
)

// Status is a moment of an Informer.
type Status struct {
	// State is what the Reflector is doing, and Since when.
	State State
	Since time.Time
	// LastError is that of the last failed list or watch; nil after a success: a
	// list, an event, or a stream that ended well.
	LastError error
	// LastEvent is when the last event or bookmark of a watch came.
	LastEvent time.Time
	// ResourceVersion is the store's: its content is what the server had then.
	ResourceVersion string
	// StreamingLists, Lists and Watches count the requests so far; the pages of
	// one list are one, and so are a streaming list and the watch it becomes.
	StreamingLists, Lists, Watches int
	// Bytes is how many the answers had so far, after decompression; zero if the
	// ListWatcher does not count them.
	Bytes int64
	// Objects is how many the store has.
	Objects int
	// Unread are objects whose last state the store does not have, in the order
	// of their keys, but for those beyond the first hundred; UnreadObjects is how
	// many there are.
	Unread        []UnreadObject
	UnreadObjects int
	// Handlers are in the order in which they were added.
	Handlers []HandlerStatus
}

// HandlerStatus is a moment of a Handler.
type HandlerStatus struct {
	// Name is the Handler's.
	Name string
	// Synced says that it has handled the initial list.
	Synced bool
	// Lag is how many events it has still to hear of.
	Lag int
	// LagAge is how long the oldest of them has waited.
	LagAge time.Duration
	// Panics counts its calls that panicked.
	Panics int
}

// reflectorStatus is the part of a Status that a Reflector knows.
type reflectorStatus struct {
	mu sync.Mutex
	s  Status // +checklocks:mu
}

func (r *reflectorStatus) update(f func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.s)
}

func (r *reflectorStatus) enter(state State) {
	now := time.Now()
	r.update(func(s *Status) {
		if s.State != state {
			s.State, s.Since = state, now
		}
	})
}

func (r *reflectorStatus) listed()          { r.update(func(s *Status) { s.Lists++ }) }
func (r *reflectorStatus) streamed()        { r.update(func(s *Status) { s.StreamingLists++ }) }
func (r *reflectorStatus) watched()         { r.update(func(s *Status) { s.Watches++ }) }
func (r *reflectorStatus) succeeded()       { r.update(func(s *Status) { s.LastError = nil }) }
func (r *reflectorStatus) failed(err error) { r.update(func(s *Status) { s.LastError = err }) }

// heard is called at each change that a watch tells of.
func (r *reflectorStatus) heard(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s.LastEvent, r.s.LastError = now, nil
}

// byteCounter is a ListWatcher that knows how many bytes it has read.
type byteCounter interface{ BytesRead() int64 }

// getStatus returns what the Reflector knows of a Status.
func (r *Reflector) getStatus() Status {
	r.status.mu.Lock()
	s := r.status.s
	r.status.mu.Unlock()
	s.Unread, s.UnreadObjects = r.unread.describe()
	if c, ok := r.lw.(byteCounter); ok {
		s.Bytes = c.BytesRead()
	}
	return s
}
