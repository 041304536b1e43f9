// Package envtest runs an API server to test against.
//
// # Where it sits
//
//	client ─► rest.Config ─┬─ Transport ─► http.Handler      in this process, also in a synctest bubble
//	   ▲                   └─ a TLS port ─► kube-apiserver ─► etcd
//	   │                                        ▲
//	   └── your test                            └── ENVTEST starts both, and stops them
//
// # Contract
//
// [Transport]:
//
//  1. Whole: the handler sees the request as a server would have parsed it,
//     nothing of the client's context but its end; the client sees the status,
//     the header and the body that the handler wrote. The request's body is
//     closed once.
//  2. Streaming: the header arrives at the first WriteHeader, Write or Flush,
//     each byte of the body when it is written.
//  3. Held back: a Write waits until the client has read it, or is gone: its
//     context has ended or it has closed the response's body. Then the
//     handler's context ends, and its reads and writes return errors.
//  4. Cut off: a handler that panics (http.ErrAbortHandler: silently; anything
//     else is logged) leaves its client with io.ErrUnexpectedEOF, never hanging.
//  5. Finite: all of a request's goroutines end when its handler returns.
//
// # Upstream
//
//	Transport   none: upstream's tests use httptest.Server, or its fake client
//
// Differs on purpose: with no sockets, time-dependent tests run in
// testing/synctest.
package envtest
