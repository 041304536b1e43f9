package envtest

import "net/http"

// Transport is an http.RoundTripper that calls an http.Handler in the same process.
func Transport(h http.Handler) http.RoundTripper { panic("skeleton") }
