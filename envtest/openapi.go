package envtest

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serveOpenAPI answers /openapi/v3: which documents there are.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request, parts []string) {
	if len(parts) != 2 || parts[1] != "v3" {
		http.NotFound(w, r)
		return
	}
	type document struct {
		URL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]document `json:"paths"`
	}{map[string]document{}}
	all := s.kinds.All()
	for _, group := range groupsOf(all) {
		for _, version := range versionsOf(group, all) {
			path := "api/" + version
			if group != "" {
				path = "apis/" + schema.GroupVersion{Group: group, Version: version}.String()
			}
			index.Paths[path] = document{"/openapi/v3/" + path}
		}
	}
	writeIndented(w, index)
}
