package informer

import (
	"sync"
	"time"
)

// Status is a moment of an Informer.
type Status struct {
	// State is what the Reflector is doing.
	State State
	// LastError is that of the last failed list or watch; nil after a success: a
	// list, an event, or a stream that ended well.
	LastError error
	// LastEvent is when the last event or bookmark came.
	LastEvent time.Time
	// ResourceVersion is the store's: its content is what the server had then.
	ResourceVersion string
	// Lists and Watches count the requests so far; the pages of one list are one.
	Lists, Watches int
	// Objects is how many the store has.
	Objects int
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

func (r *reflectorStatus) enter(state State) { r.update(func(s *Status) { s.State = state }) }
func (r *reflectorStatus) listed()           { r.update(func(s *Status) { s.Lists++ }) }
func (r *reflectorStatus) watched()          { r.update(func(s *Status) { s.Watches++ }) }
func (r *reflectorStatus) succeeded()        { r.update(func(s *Status) { s.LastError = nil }) }
func (r *reflectorStatus) failed(err error)  { r.update(func(s *Status) { s.LastError = err }) }

func (r *reflectorStatus) heard() {
	now := time.Now()
	r.update(func(s *Status) { s.LastEvent, s.LastError = now, nil })
}

func (r *reflectorStatus) get() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s
}
