package envtest

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serveNonResource answers what is no resource: discovery, health, version.
func (s *Server) serveNonResource(w http.ResponseWriter, r *http.Request) {
	parts := pathParts(r.URL.Path)
	switch parts[0] {
	case "":
		s.writeIndex(w)
	case "api", "apis":
		s.discover(w, r, parts)
	case "version":
		if r.Method != http.MethodGet {
			s.writeError(w, r, errMethodNotAllowed())
			return
		}
		writeIndented(w, serverVersion())
	case "healthz", "livez", "readyz":
		writeHealth(w, r, parts)
	case "openapi":
		s.serveOpenAPI(w, r, parts)
	default:
		http.NotFound(w, r)
	}
}

// serverVersion says which Kubernetes this is meant to be.
func serverVersion() *version.Info {
	return &version.Info{
		Major:                 "1",
		Minor:                 "37",
		EmulationMajor:        "1",
		EmulationMinor:        "37",
		MinCompatibilityMajor: "1",
		MinCompatibilityMinor: "36",
		GitVersion:            "v1.37.2",
		BuildDate:             "1970-01-01T00:00:00Z",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// writeHealth says that all is well: a server in memory is never half up.
func writeHealth(w http.ResponseWriter, r *http.Request, parts []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case len(parts) > 2 || len(parts) == 2 && parts[1] != "ping":
		http.NotFound(w, r)
	case verbose:
		fmt.Fprintf(w, "[+]ping ok\n%s check passed\n", parts[0])
	default:
		fmt.Fprint(w, "ok")
	}
}

// writeIndex lists the paths of the server.
func (s *Server) writeIndex(w http.ResponseWriter) {
	all := s.kinds.All()
	paths := []string{"/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"}
	for _, group := range groupsOf(all) {
		root := "/api"
		if group != "" {
			root = "/apis/" + group
			paths = append(paths, root)
		}
		for _, v := range versionsOf(group, all) {
			paths = append(paths, root+"/"+v)
		}
	}
	slices.Sort(paths)
	writeIndented(w, metav1.RootPaths{Paths: paths})
}

func writeIndented(w http.ResponseWriter, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kruntime.ContentTypeJSON)
	_, _ = w.Write(body)
}

// writeValue answers with a value that is in no store and carries its kind, in a format that
// the client accepts. as is the kind that the client has asked for by name, if it has.
func (s *Server) writeValue(w http.ResponseWriter, r *http.Request, value kruntime.Object, as *schema.GroupVersionKind) {
	f, err := negotiateFor(r, func(f format) bool { return f.as.Empty() || as != nil && f.as == *as })
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	body, err := json.Marshal(value)
	if f.mediaType == kruntime.ContentTypeProtobuf {
		if body, err = message(value); err == nil {
			body = appendEnvelope(nil, value.GetObjectKind().GroupVersionKind(), body)
		}
	}
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	if as != nil {
		etag := fmt.Sprintf(`"%X"`, sha512.Sum512(body))
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		f.named = fmt.Sprintf(";g=%s;v=%s;as=%s", as.Group, as.Version, as.Kind)
	}
	writeBody(w, f, http.StatusOK, body)
}
