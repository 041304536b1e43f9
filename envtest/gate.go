package envtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// ServeHTTP implements http.Handler. It is what every request passes on the way to its verb:
//
//	record ─► frozen? ─► faults ─► who? ─► as whom? ─► allowed? ─► verb
//	                       │        401      403         403         │
//	client ◄── response: recorded, held back while frozen, broken ◄──┘
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attributes := attributesOf(r)
	// Who asks is known early, for the record and for faults; a bad token is
	// answered in its turn.
	user, failure := s.users.authenticate(r)
	attributes.User = user
	rec := s.requests.add(r, attributes)
	defer rec.end(r.Context())
	if attributes.Verb == "watch" {
		ctx, leave := s.watches.enter(r.Context(), rec)
		defer leave()
		r = r.WithContext(ctx)
	}
	if s.frost.wait(r.Context()) != nil {
		panic(http.ErrAbortHandler) // nobody listens any more
	}
	res := &response{ResponseWriter: w, ctx: r.Context(), frost: &s.frost, record: rec}
	fault := s.faults.take(rec)
	if fault == nil {
		s.admitted(res, r, attributes, failure)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	res.breaker = fault.breaker(cancel)
	fault.before(ctx, res)
	if fault.Err != nil {
		s.writeError(res, r, fault.Err)
	} else {
		s.admitted(res, r.WithContext(ctx), attributes, failure)
	}
	res.finish()
}

// admitted answers a request unless its user is unknown, or may not.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request, a Attributes, failure error) {
	if failure != nil {
		s.writeError(w, r, failure)
		return
	}
	user, err := s.impersonate(r, a)
	if err == nil {
		a.User = user
		err = s.checkAllowed(r.Context(), a)
	}
	if err != nil {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		s.writeError(w, r, err)
		return
	}
	defer s.survive(w, r)
	s.serve(w, r, a)
}

// survive answers a request that made the server panic, and logs why: on a port
// net/http would only cut the stream. A stream that has begun can only be cut.
func (s *Server) survive(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", cause), "The server in memory has a fault", "method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
	if begun, ok := w.(*response); ok && begun.record.code.Load() != 0 {
		panic(http.ErrAbortHandler)
	}
	s.writeError(w, r, apierrors.NewInternalError(errors.New("this request made the server panic: its log says why")))
}

// end notes that a request has ended, and tells of it.
func (r *record) end(ctx context.Context) {
	r.took.Store(int64(time.Since(r.time)) + 1)
	if log := klog.FromContext(ctx).V(1); log.Enabled() {
		log.Info("request", "verb", r.attributes.Verb, "path", r.attributes.Path, "query", r.query,
			"user", r.attributes.User.Name, "code", r.code.Load(), "took", time.Since(r.time))
	}
}
