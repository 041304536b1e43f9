package envtest

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serveOpenAPI answers /openapi/v3, which documents there are, and the documents.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request, parts []string) {
	switch {
	case len(parts) >= 4 && parts[1] == "v3":
		s.serveOpenAPIOf(w, r, parts[2:])
		return
	case len(parts) != 2 || parts[1] != "v3":
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

// serveOpenAPIOf answers with the document of one version: of api/v1, or of apis/GROUP/VERSION.
func (s *Server) serveOpenAPIOf(w http.ResponseWriter, r *http.Request, parts []string) {
	gv := schema.GroupVersion{Version: parts[len(parts)-1]}
	switch {
	case len(parts) == 2 && parts[0] == "api":
	case len(parts) == 3 && parts[0] == "apis":
		gv.Group = parts[1]
	default:
		http.NotFound(w, r)
		return
	}
	document, err := s.kinds.OpenAPI(gv)
	switch {
	case err != nil:
		s.writeError(w, r, err)
	case document == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(document)
	}
}
