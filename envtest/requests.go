package envtest

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequests is how many requests are remembered; each takes a few hundred bytes.
const maxRequests = 10_000

// Request is one request that the server has got.
type Request struct {
	// Time is when it came.
	Time time.Time
	// Attributes is what it asked for, and who: the owner of its token,
	// also when that impersonated someone else.
	Attributes
	Query     url.Values
	UserAgent string
	// Code is the answer's HTTP status: 0 while there is none, and for ever if
	// the connection has ended before.
	Code int
	// Ended is when the answer was complete, or its connection broken; zero while it is under way.
	Ended time.Time
}

// Requests returns the requests since the start, or since ResetRequests, in the
// order in which they came: the last 10,000 of them, whatever became of them.
func (s *Server) Requests() []Request {
	var requests []Request
	for _, r := range s.requests.all() {
		requests = append(requests, r.request())
	}
	return requests
}

// ResetRequests forgets the requests so far.
func (s *Server) ResetRequests() { s.requests.reset() }

// record is what is kept of a request.
type record struct {
	time       time.Time
	attributes Attributes
	query      string
	userAgent  string
	code       atomic.Int32
	took       atomic.Int64 // until its end, in ns, and one more: 0 is none
}

func (r *record) request() Request {
	query, _ := url.ParseQuery(r.query) // what can be read of it
	request := Request{
		Time:       r.time,
		Attributes: r.attributes,
		Query:      query,
		UserAgent:  r.userAgent,
		Code:       int(r.code.Load()),
	}
	if took := r.took.Load(); took > 0 {
		request.Ended = r.time.Add(time.Duration(took - 1))
	}
	return request
}

// requests remembers the last requests, in a ring.
type requests struct {
	mu   sync.Mutex
	ring []*record // +checklocks:mu the oldest is at next, once it is full
	next int       // +checklocks:mu
}

func (q *requests) add(r *http.Request, a Attributes) *record {
	rec := &record{time: time.Now(), attributes: a, query: r.URL.RawQuery, userAgent: r.UserAgent()}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ring) < maxRequests {
		q.ring = append(q.ring, rec)
	} else {
		q.ring[q.next] = rec
		q.next = (q.next + 1) % maxRequests
	}
	return rec
}

func (q *requests) all() []*record {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Concat(q.ring[q.next:], q.ring[:q.next])
}

func (q *requests) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ring, q.next = nil, 0
}
