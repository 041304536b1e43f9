package envtest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Match says which requests a fault is for: those that all its fields fit. An empty
// field fits every request.
type Match struct {
	// Verb is one of the API's: get, list, watch, create, update, patch, delete,
	// deletecollection; or, for a path that is no resource's, the method in lower case.
	Verb string
	// Resource is the plural name, as in RBAC rules: "pods" are Pods themselves,
	// "pods/status" their status. Group tells resources of one name apart.
	Resource, Group string
	// Namespace and Name are those of the path.
	Namespace, Name string
	// User is the name of who asks; UserAgent is a part of the header.
	User, UserAgent string
	// Func has the last word.
	Func func(Request) bool
}

// fits says whether a request is meant.
func (m *Match) fits(r *record) bool {
	a := &r.attributes
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	fits := func(want, got string) bool { return want == "" || want == got }
	return fits(m.Verb, a.Verb) && fits(m.Resource, resource) && fits(m.Group, a.Group) &&
		fits(m.Namespace, a.Namespace) && fits(m.Name, a.Name) && fits(m.User, a.User.Name) &&
		strings.Contains(r.userAgent, m.UserAgent) &&
		(m.Func == nil || m.Func(r.request()))
}

// Break is how an answer goes wrong.
type Break int

// The ways in which an answer goes wrong. Whole comes first: nothing does.
const (
	Whole Break = iota
	// Reset breaks the connection at once.
	Reset
	// Cut breaks the connection in the middle of the next frame.
	Cut
	// Close ends the answer at once as if it were complete: for a watch that is
	// what the server does when it has been open for long.
	Close
	// Stall sends nothing any more, and leaves the connection open.
	Stall
	// Garbage puts a frame in between that is none.
	Garbage
)

// Fault is what goes wrong. Its fields work together: first the delay, then the
// error or else the request's own answer, with the header, until it breaks.
type Fault struct {
	// Times is how many requests it is for. Zero means all, until it is removed.
	Times int
	// Delay is how long the request waits before anything happens.
	Delay time.Duration
	// Err is the answer, in place of the verb, which does not happen: an error of
	// apimachinery's api/errors as the Status that it is (NewTooManyRequests
	// with its Retry-After, NewServiceUnavailable, NewUnauthorized, …), any other as a 500.
	Err error
	// Header is added to the answer's.
	Header http.Header
	// Break is how the answer ends, after its header and After frames of it have come through: the
	// events of a watch; any other answer is one frame. Only Reset, if After is zero,
	// breaks before the header, and then the verb does not happen; with Cut it has happened, and
	// the client cannot know.
	Break Break
	After int
}

// Inject makes requests fail, from now on, until remove is called or the fault has been used
// up. Of several faults that fit a request it gets the first. Requests that are
// under way already are not touched.
func (s *Server) Inject(match Match, fault Fault) (remove func()) {
	f := &injected{Fault: fault, match: match, left: fault.Times}
	f.Header = fault.Header.Clone()
	s.faults.add(f)
	return func() { s.faults.remove(f) }
}

// injected is a fault that is in force.
type injected struct {
	Fault
	match Match
	left  int // guarded by the lock of faults
}

// faults are those in force, in the order of their injection.
type faults struct {
	mu  sync.Mutex
	all []*injected // +checklocks:mu a slice that is never written to, only replaced
}

func (f *faults) add(i *injected) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(slices.Clip(f.all), i)
}

func (f *faults) remove(i *injected) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.DeleteFunc(slices.Clone(f.all), func(j *injected) bool { return i == j })
}

func (f *faults) current() []*injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

// take returns the fault that a request gets, or nil. Match.Func is called without
// a lock.
func (f *faults) take(r *record) *injected {
	for _, i := range f.current() {
		if i.match.fits(r) && f.use(i) {
			return i
		}
	}
	return nil
}

// use counts a fault's use, and says whether it was still there.
func (f *faults) use(i *injected) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.all, i) {
		return false
	}
	if i.Times > 0 {
		if i.left--; i.left == 0 {
			f.all = slices.DeleteFunc(slices.Clone(f.all), func(j *injected) bool { return i == j })
		}
	}
	return true
}

// before does what comes before the answer.
func (i *injected) before(ctx context.Context, w http.ResponseWriter) {
	if i.Delay > 0 {
		timer := time.NewTimer(i.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			panic(http.ErrAbortHandler) // nobody listens any more
		}
	}
	if i.Break == Reset && i.After == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, values := range i.Header {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
}

// breaker returns what breaks the answer, nil if nothing does. stop ends the verb.
func (i *injected) breaker(stop context.CancelFunc) *breaker {
	if i.Break == Whole {
		return nil
	}
	return &breaker{how: i.Break, left: i.After, stop: stop}
}
