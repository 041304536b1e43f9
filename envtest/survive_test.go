package envtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A fault of the server is an answer, not a stream that breaks; a stream that
// has begun is cut.
func TestServerSurvivesItsOwnPanic(t *testing.T) {
	s := NewServer(nil)
	fail := func(begun bool) (code int, cut bool) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces", nil)
		rec := httptest.NewRecorder()
		res := &response{ResponseWriter: rec, ctx: context.Background(), frost: &s.frost, record: s.requests.add(r, attributesOf(r))}
		defer func() { code, cut = rec.Code, recover() == http.ErrAbortHandler }()
		defer s.survive(res, r)
		if begun {
			res.WriteHeader(http.StatusOK)
		}
		panic("a fault")
	}
	if code, cut := fail(false); code != http.StatusInternalServerError || cut {
		t.Errorf("before the answer: code %d, cut %v; want 500, whole", code, cut)
	}
	if _, cut := fail(true); !cut {
		t.Error("within the answer: not cut")
	}
}
