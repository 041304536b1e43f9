package envtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// exchange is one request and its response: the handler's http.ResponseWriter
// on one side, the client's response body on the other, an unbuffered pipe
// between them.
//
//	          WriteHeader, Write, Flush            handler returns
//	waiting ───────────────────────────► answered ─────────────────► finished
//	   │                                    │
//	   └── client's context ends, or closes the body ──► abandoned
//
// As with net/http's, only the handler may call the ResponseWriter's methods,
// and not from two goroutines at once; so those fields need no lock.
type exchange struct {
	request *http.Request
	body    *requestBody
	ctx     context.Context // request-scoped: the handler's context, to tell a write that the client is gone
	cancel  context.CancelFunc

	reader *io.PipeReader
	writer *io.PipeWriter

	header   http.Header
	wrote    bool  // whether the response's header is out
	noBody   bool  // status or method forbid a body
	declared int64 // Content-Length as the handler set it, or -1
	written  int64 // bytes of body that the handler has written

	answered chan struct{} // closed when one of the next two is set
	response *http.Response
	failure  error
}

func newExchange(req *http.Request, ctx context.Context, cancel context.CancelFunc, body *requestBody) *exchange {
	r, w := io.Pipe()
	return &exchange{
		request:  req,
		body:     body,
		ctx:      ctx,
		cancel:   cancel,
		reader:   r,
		writer:   w,
		header:   make(http.Header),
		declared: -1,
		answered: make(chan struct{}),
	}
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter: the client's RoundTrip returns.
func (x *exchange) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("envtest: invalid HTTP status %d", status)) // as net/http does
	}
	if x.wrote || status < 200 {
		return
	}
	x.wrote = true
	x.noBody = x.request.Method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified
	if text := x.header.Get("Content-Length"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			x.declared = n
		}
	}
	length := x.declared
	if x.noBody && length < 0 {
		length = 0
	}
	x.response = &http.Response{
		Status:        strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        x.header.Clone(),
		ContentLength: length,
		Body:          responseBody{x},
		Request:       x.request,
	}
	close(x.answered)
}

// Write implements http.ResponseWriter. It returns when the client has read p
// or is gone.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.wrote {
		if _, set := x.header["Content-Type"]; !set && len(p) > 0 {
			x.header.Set("Content-Type", http.DetectContentType(p))
		}
		x.WriteHeader(http.StatusOK)
	}
	switch {
	case x.request.Method == http.MethodHead:
		return len(p), nil
	case x.noBody:
		return 0, http.ErrBodyNotAllowed
	case x.declared >= 0 && x.written+int64(len(p)) > x.declared:
		return 0, http.ErrContentLength
	case len(p) == 0:
		return 0, x.ctx.Err()
	}
	n, err := x.writer.Write(p)
	x.written += int64(n)
	if err != nil {
		err = fmt.Errorf("envtest: the client is gone: %w", err)
	}
	return n, err
}

// Flush implements http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is what http.ResponseController calls. There is no buffer: it
// sends the header, if that is not out, and says whether the client is gone.
func (x *exchange) FlushError() error {
	if !x.wrote {
		x.WriteHeader(http.StatusOK)
	}
	return x.ctx.Err()
}

// EnableFullDuplex is what http.ResponseController calls. A handler can always
// read the request while it writes the response.
func (x *exchange) EnableFullDuplex() error { return nil }

// finish ends the exchange from the handler's side. returned is false if the
// handler panicked.
func (x *exchange) finish(returned bool) {
	if returned && !x.wrote {
		x.WriteHeader(http.StatusOK)
	}
	if returned && (x.noBody || x.declared < 0 || x.written == x.declared) {
		x.writer.Close()
	} else {
		x.writer.CloseWithError(io.ErrUnexpectedEOF)
	}
	if !x.wrote {
		x.wrote = true
		x.failure = io.ErrUnexpectedEOF
		close(x.answered)
	}
	x.cancel()
	x.body.Close()
}

// abandon ends the exchange from the client's side: the handler's context
// ends, its writes fail, and so do its reads of the request.
func (x *exchange) abandon(cause error) {
	x.cancel()
	x.writer.CloseWithError(cause)
	x.body.Close()
}

// responseBody is the client's side of an exchange.
type responseBody struct{ x *exchange }

// Read returns io.EOF when the handler has returned, io.ErrUnexpectedEOF when
// it was cut off, the cause of the client's context when that ended first.
func (b responseBody) Read(p []byte) (int, error) {
	return b.x.reader.Read(p)
}

// Close tells the handler that nobody reads any more.
func (b responseBody) Close() error {
	b.x.abandon(http.ErrBodyReadAfterClose)
	return nil
}
