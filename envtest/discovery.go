package envtest

import "net/http"

// serveNonResource answers what is no resource: discovery, health, version.
func (s *Server) serveNonResource(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}
