package envtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
)

// response is the http.ResponseWriter that verbs write to: it notes the status, holds back
// what is written while the server is frozen, and breaks if a fault says so.
type response struct {
	http.ResponseWriter
	ctx     context.Context // request-scoped: ends when the client is gone
	frost   *frost
	record  *record
	breaker *breaker // nil: it does not break
}

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(code int) {
	if r.frost.wait(r.ctx) != nil {
		panic(http.ErrAbortHandler)
	}
	if code >= 200 {
		r.record.code.CompareAndSwap(0, int32(code))
	}
	r.ResponseWriter.WriteHeader(code)
	if r.breaker != nil {
		r.breaker.begin(r)
	}
}

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	if r.record.code.Load() == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if err := r.frost.wait(r.ctx); err != nil {
		return 0, err
	}
	if r.breaker == nil {
		return r.ResponseWriter.Write(p)
	}
	return r.breaker.write(r, p)
}

// FlushError is what http.ResponseController calls.
func (r *response) FlushError() error {
	if r.record.code.Load() == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if err := r.frost.wait(r.ctx); err != nil {
		return err
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (r *response) Flush() { _ = r.FlushError() }

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// finish ends a response with a breaker once its verb has returned.
func (r *response) finish() {
	b := r.breaker
	if b == nil || !b.broken {
		return
	}
	switch b.how {
	case Reset, Cut:
		panic(http.ErrAbortHandler)
	case Stall:
		<-r.ctx.Done()
	}
}

// errBroken ends a verb whose response has been broken.
var errBroken = errors.New("a fault has broken the response")

// breaker breaks a response: it lets some frames through, then it does its work.
type breaker struct {
	how  Break
	left int // frames until then
	stop context.CancelFunc

	framing func([]byte) int // the length of the first frame, 0 if that is not all there
	partial []byte           // of a frame, written to us but not sent
	broken  bool
}

// begin is called when the header is out.
func (b *breaker) begin(r *response) {
	switch {
	case r.record.attributes.Verb != "watch" || r.record.code.Load() != http.StatusOK:
		b.framing = wholeFrame
	case strings.Contains(r.Header().Get("Content-Type"), "protobuf"):
		b.framing = protobufFrame
	default:
		b.framing = jsonFrame
	}
	b.trip(r)
}

// trip breaks the response between two frames, if that is what it waits for.
func (b *breaker) trip(r *response) {
	if b.left > 0 || b.how != Reset && b.how != Close && b.how != Stall {
		return
	}
	b.broken = true
	_ = http.NewResponseController(r.ResponseWriter).Flush() // of what was to come through
	if b.how != Stall {
		b.stop()
	}
}

// write sends whole frames, and breaks.
func (b *breaker) write(r *response, p []byte) (int, error) {
	b.partial = append(b.partial, p...)
	for !b.broken {
		n := b.framing(b.partial)
		if n == 0 {
			return len(p), nil
		}
		frame := b.partial[:n]
		b.partial = b.partial[n:]
		if err := b.send(r, frame); err != nil {
			return 0, err
		}
	}
	if b.how == Stall {
		<-r.ctx.Done()
		return 0, r.ctx.Err()
	}
	return 0, errBroken
}

// send sends a frame, or what a fault makes of it.
func (b *breaker) send(r *response, frame []byte) error {
	if b.left > 0 {
		b.left--
		_, err := r.ResponseWriter.Write(frame)
		b.trip(r)
		return err
	}
	switch b.how {
	case Cut:
		b.broken = true
		_, err := r.ResponseWriter.Write(frame[:len(frame)/2])
		b.stop()
		return errors.Join(err, http.NewResponseController(r.ResponseWriter).Flush())
	case Garbage:
		b.how = Whole
		if _, err := r.ResponseWriter.Write([]byte("\x00\x00\x00\x07garbage\n")); err != nil {
			return err
		}
	}
	_, err := r.ResponseWriter.Write(frame)
	return err
}

// wholeFrame is for answers that are written at once.
func wholeFrame(p []byte) int { return len(p) }

// jsonFrame is for watches in JSON: a line each.
func jsonFrame(p []byte) int { return bytes.IndexByte(p, '\n') + 1 }

// protobufFrame is for watches in protobuf: a length, then as many bytes.
func protobufFrame(p []byte) int {
	if len(p) < 4 || len(p)-4 < int(binary.BigEndian.Uint32(p)) {
		return 0
	}
	return 4 + int(binary.BigEndian.Uint32(p))
}
