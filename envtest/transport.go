package envtest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"
)

// remoteAddr is what handlers see as the client's address: one of those that
// RFC 5737 keeps for documentation, as in net/http/httptest.
const remoteAddr = "192.0.2.1:1234"

// Transport is an http.RoundTripper that calls h in the same process: no
// sockets, no TLS, only channels, so it runs inside testing/synctest bubbles.
// Give it to a client as rest.Config.Transport.
//
// It keeps Contract 1 to 5 of this package. What it leaves out: trailers, 1xx
// responses, hijacking, gzip, deadlines on http.ResponseController.
//
// Each request costs one goroutine, which ends when h returns.
func Transport(h http.Handler) http.RoundTripper {
	return &transport{handler: h}
}

// transport is stateless, so that any number of requests may use it at once.
type transport struct {
	handler http.Handler
}

// RoundTrip implements http.RoundTripper. It returns when h has sent the
// response's header; the body follows as h writes it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := &requestBody{client: req.Body}
	clientCtx := req.Context()
	if err := context.Cause(clientCtx); err != nil {
		body.Close()
		return nil, err
	}
	if req.URL == nil {
		body.Close()
		return nil, errors.New("envtest: request without URL")
	}

	// The handler learns of the client's context only that it has ended: as
	// over a wire, neither values nor deadline get across.
	handlerCtx, cancel := context.WithCancel(context.Background())
	x := newExchange(req, handlerCtx, cancel, body)
	stop := context.AfterFunc(clientCtx, func() { x.abandon(context.Cause(clientCtx)) })

	go func() {
		defer stop()
		deepen(false)
		t.serve(x, serverRequest(handlerCtx, req, body))
	}()

	select {
	case <-x.answered:
		return x.response, x.failure
	case <-clientCtx.Done():
		return nil, context.Cause(clientCtx)
	}
}

// deepen grows the goroutine's stack at once to what a request of an API server needs: its frame
// is that large, although it leaves it alone. Growing by and by copies the stack each time, with more and
// more on it, and was a fifth of what a create takes.
//
//go:noinline
func deepen(touch bool) {
	if touch {
		var frame [14 << 10]byte
		runtime.KeepAlive(&frame)
	}
}

// serve calls the handler and ends the exchange, however the handler ends.
func (t *transport) serve(x *exchange, r *http.Request) {
	returned := false
	defer func() {
		// A handler that calls runtime.Goexit (t.FailNow does) neither
		// returned nor panics; its client must not wait for ever.
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			klog.FromContext(x.request.Context()).Error(nil, "HTTP handler panicked",
				"method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		}
		x.finish(returned)
	}()
	t.handler.ServeHTTP(x, r)
	returned = true
}

// serverRequest is the client's request as a server would have parsed it.
func serverRequest(ctx context.Context, req *http.Request, body *requestBody) *http.Request {
	r := (&http.Request{
		Method:        req.Method,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        req.Header.Clone(),
		Host:          req.Host,
		ContentLength: req.ContentLength,
		RequestURI:    req.URL.RequestURI(),
		RemoteAddr:    remoteAddr,
		Body:          http.NoBody,
	}).WithContext(ctx)
	// A server parses the path and the query off the wire: no scheme, no host,
	// and nothing that it shares with the client.
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		r.URL = u
	} else {
		r.URL = &url.URL{Path: req.URL.Path, RawPath: req.URL.RawPath, RawQuery: req.URL.RawQuery}
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	if r.Host == "" {
		r.Host = req.URL.Host
	}
	if req.URL.Scheme == "https" {
		r.TLS = &tls.ConnectionState{Version: tls.VersionTLS13, HandshakeComplete: true, ServerName: req.URL.Hostname()}
	}
	if req.Body != nil && req.Body != http.NoBody {
		r.Body = body
		if r.ContentLength == 0 {
			r.ContentLength = -1 // what a client that does not know the length says
		}
	}
	return r
}

// requestBody is the client's body, closed once, by whoever ends first: the
// handler or the client.
type requestBody struct {
	client io.ReadCloser // nil if the request has no body

	mu     sync.Mutex
	closed bool // +checklocks:mu
}

// Read reads what the client sends. It does not hold the lock while it reads:
// Close must be able to wake a Read that waits for the client.
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.client.Read(p)
}

// Close closes the client's body, the first time.
func (b *requestBody) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed || b.client == nil {
		return nil
	}
	return b.client.Close()
}
