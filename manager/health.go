package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Checker says whether something is well: nil, or why not. It answers within the
// request's context. A panic counts as not well.
type Checker func(*http.Request) error

// Ping is a Checker that is always well: the process answers.
func Ping(*http.Request) error { return nil }

// checks are the checks under one path.
type checks struct {
	path string // "healthz" or "readyz"

	mu sync.Mutex
	// mu guards the fields below.
	builtin map[string]Checker // those that nobody has replaced
	added   map[string]Checker
}

func newChecks(path string, builtin map[string]Checker) *checks {
	return &checks{path: path, builtin: builtin, added: map[string]Checker{}}
}

func (c *checks) add(name string, check Checker) error {
	if name == "" || strings.ContainsAny(name, "/?#% ") {
		return fmt.Errorf("add %s check %q: a name must be one segment of a URL's path", c.path, name)
	}
	if check == nil {
		return fmt.Errorf("add %s check %q: the check is nil", c.path, name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.added[name] != nil {
		return fmt.Errorf("add %s check %q: there is one of that name", c.path, name)
	}
	delete(c.builtin, name)
	c.added[name] = check
	return nil
}

// all returns the checks as they are now.
func (c *checks) all() map[string]Checker {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.builtin)
	maps.Copy(all, c.added)
	return all
}

// healthHandler serves each of the checks under its path.
func healthHandler(all ...*checks) http.Handler {
	mux := http.NewServeMux()
	for _, c := range all {
		mux.HandleFunc("GET /"+c.path, c.serveAll)
		mux.HandleFunc("GET /"+c.path+"/{$}", c.serveAll)
		mux.HandleFunc("GET /"+c.path+"/{name}", c.serveOne)
	}
	return mux
}

// serveAll runs every check but the excluded ones.
func (c *checks) serveAll(w http.ResponseWriter, r *http.Request) {
	all := c.all()
	query := r.URL.Query()
	var unknown []string
	excluded := map[string]bool{}
	for _, name := range query["exclude"] {
		excluded[name] = true
		if all[name] == nil {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	failed := false
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if excluded[name] {
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", name)
			continue
		}
		line, ok := c.run(name, all[name], r)
		lines.WriteString(line)
		failed = failed || !ok
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&lines, "warn: nothing to exclude is called %s\n", strings.Join(unknown, ", "))
	}
	result := "passed"
	if failed {
		result = "failed"
	}
	fmt.Fprintf(&lines, "%s check %s\n", c.path, result)
	if !failed && !query.Has("verbose") {
		lines.Reset()
		lines.WriteString("ok")
	}
	reply(w, !failed, lines.String())
}

// serveOne runs one check.
func (c *checks) serveOne(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	check := c.all()[name]
	if check == nil {
		http.NotFound(w, r)
		return
	}
	line, ok := c.run(name, check, r)
	if ok {
		line = "ok"
	}
	reply(w, ok, line)
}

// run runs a check and returns a line about it. Why it failed is for those who ask
// with ?verbose, and for the log.
func (c *checks) run(name string, check Checker, r *http.Request) (line string, ok bool) {
	err := safely(check, r)
	if err == nil {
		return fmt.Sprintf("[+]%s ok\n", name), true
	}
	klog.FromContext(r.Context()).V(1).Info("Health check failed", "path", c.path, "check", name, "reason", err.Error())
	reason := "reason withheld"
	if r.URL.Query().Has("verbose") {
		reason = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return fmt.Sprintf("[-]%s failed: %s\n", name, reason), false
}

// safely runs a check. The stack of a panic is for the log only.
func safely(check Checker, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			klog.FromContext(r.Context()).Error(panicError(p), "Health check panicked", "path", r.URL.Path)
		}
	}()
	return check(r)
}

func reply(w http.ResponseWriter, ok bool, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.Write([]byte(body))
}

// syncProbe is how long a readiness check waits for a cache to say why it has not
// synced.
const syncProbe = 100 * time.Millisecond

// cachesReady is the built-in readiness check: every informer that anybody asked
// for so far has synced.
func (m *Manager) cachesReady(r *http.Request) error {
	m.mu.Lock()
	running := m.state == started && m.groups[cachesGroup].run != nil
	caches := slices.Clone(m.groups[cachesGroup].members)
	m.mu.Unlock()
	if !running {
		return errors.New("the caches do not run")
	}
	ctx, cancel := context.WithTimeout(r.Context(), syncProbe)
	defer cancel()
	for _, h := range caches {
		if err := readiness(h.runnable)(ctx); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return nil
}
