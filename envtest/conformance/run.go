package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Options tunes a Run. The zero value, and nil, compare.
type Options struct {
	// Update writes the answers into the scripts instead of comparing.
	Update bool
}

// Run asks a server all requests of the scripts in a directory and compares its
// answers with theirs. Each script is a subtest, and each case of it one below.
// newServer gives the server for a script, which may share it with others that have
// the same needs.
func Run(t *testing.T, dir string, newServer func(t *testing.T, n Needs) Target, o *Options) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	update := o != nil && o.Update
	for _, file := range files {
		s, err := readScript(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.name, func(t *testing.T) {
			target := newServer(t, s.needs)
			target.clients = &sync.Map{}
			s.webhook, s.ca = startWebhooks(t)
			t.Cleanup(func() { // after the parallel cases
				if update {
					if err := os.WriteFile(file, []byte(s.String()), 0o644); err != nil {
						t.Error(err)
					}
				}
			})
			for _, c := range s.cases {
				t.Run(c.title, func(t *testing.T) {
					t.Parallel()
					newRunner(t, target, s, c).run(update)
				})
			}
		})
	}
}

// runner runs one case.
type runner struct {
	t      *testing.T
	target Target
	script *script
	of     *scriptCase
	mask   *mask
	watch  *stream // what WATCH has opened last
}

func newRunner(t *testing.T, target Target, s *script, c *scriptCase) *runner {
	m := newMask(fmt.Sprintf("t%08x", rand.Uint32()))
	m.values["webhook"], m.values["ca"] = s.webhook, s.ca
	return &runner{t: t, target: target, script: s, of: c, mask: m}
}

func (r *runner) run(update bool) {
	patience := shortPatience
	if r.target.Reference {
		patience = longPatience
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	if err := r.namespace(ctx); err != nil {
		r.t.Fatal(err)
	}
	for _, c := range r.of.checks {
		got, err := r.ask(ctx, c)
		if err != nil {
			r.t.Fatalf("%s.txt:%d: %s: %v", r.script.name, c.line, c.request[0], err)
		}
		if update {
			c.answer = got
			continue
		}
		r.compare(c, got)
	}
}

// compare judges an answer.
func (r *runner) compare(c *check, got []string) {
	same := slices.Equal(got, c.answer)
	at := fmt.Sprintf("%s.txt:%d: %s", r.script.name, c.line, strings.Join(c.request, "\n"))
	switch mayDiffer := c.differs != "" && !r.target.Reference; {
	case !same && !mayDiffer:
		r.t.Errorf("%s\n%s", at, cmp.Diff(c.answer, got))
	case same && mayDiffer && c.marked:
		r.t.Errorf("%s\nthis differs no more: take its mark away", at)
	}
}

// namespace makes the case's namespace.
func (r *runner) namespace(ctx context.Context) error {
	create := &request{method: http.MethodPost, path: "/api/v1/namespaces", header: http.Header{}}
	if err := create.setBody("metadata: {name: " + r.mask.values["NS"] + "}"); err != nil {
		return err
	}
	resp, err := create.send(ctx, r.target)
	if err != nil {
		return err
	}
	text, err := readAll(resp)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("create namespace: %s: %s", resp.Status, text)
	}
	return err
}

// ask makes one request, again and again if it says "until", and returns what was answered.
func (r *runner) ask(ctx context.Context, c *check) ([]string, error) {
	text, err := r.mask.expand(strings.Join(c.request, "\n"))
	if err != nil {
		return nil, err
	}
	req, err := parseRequest(strings.Split(text, "\n"))
	if err != nil {
		return nil, err
	}
	if c.differs != "" && !r.target.Reference {
		req.show.until = "" // who knows
	}
	switch req.method {
	case "EVENTS":
		return r.events(req.show, req.path)
	case "COMPACT":
		return nil, r.target.Compact(ctx, req.path)
	}
	for {
		resp, err := req.send(ctx, r.target)
		if err != nil {
			return nil, err
		}
		if (req.show.stream || req.method == "WATCH") && resp.StatusCode == http.StatusOK {
			return r.stream(req, resp)
		}
		data, err := readAll(resp)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		if satisfied(req.show.until, resp, data) {
			return r.answer(req, resp, data)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("not %s in time: %s: %s", req.show.until, resp.Status, data)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// satisfied says whether an answer is what "until" waits for: a status code, or
// a field's value.
func satisfied(until string, resp *http.Response, data []byte) bool {
	path, want, isField := strings.Cut(until, "=")
	if i := strings.LastIndex(until, "="); isField {
		path, want = until[:i], until[i+1:]
	}
	if !isField {
		return until == "" || until == fmt.Sprint(resp.StatusCode)
	}
	var value any
	return json.Unmarshal(data, &value) == nil && fmt.Sprint(at(value, path)) == want
}

func (r *runner) answer(req *request, resp *http.Response, data []byte) ([]string, error) {
	lines := head(resp, req.show)
	for i := range lines {
		lines[i] = r.mask.text(lines[i])
	}
	body, err := r.mask.body(resp.Header.Get("Content-Type"), data, req.show)
	return append(lines, body...), err
}

// stream answers a watch: WATCH leaves it open for EVENTS, GET reads some events, or all.
func (r *runner) stream(req *request, resp *http.Response) ([]string, error) {
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := head(resp, req.show)
	s := newStream(resp)
	if req.method == "WATCH" {
		r.watch = s
		return lines, nil
	}
	events, err := r.read(s, req.show)
	return append(lines, events...), err
}

// events answers "EVENTS 3": that many from the open watch; "EVENTS": all to its end.
func (r *runner) events(s show, count string) ([]string, error) {
	if r.watch == nil {
		return nil, fmt.Errorf("no WATCH before it")
	}
	if _, err := fmt.Sscan(count, &s.events); err != nil && count != "" {
		return nil, fmt.Errorf("%q is no number", count)
	}
	return r.read(r.watch, s)
}

func (r *runner) read(s *stream, show show) ([]string, error) {
	var lines []string
	for n := 0; show.events == 0 || n < show.events; n++ {
		frame, err := s.next()
		if err == io.EOF && show.events == 0 {
			return append(lines, "end"), nil
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w; before: %s", n+1, err, strings.Join(lines, "\n"))
		}
		event, err := r.mask.event(frame, show)
		if err != nil {
			return nil, err
		}
		lines = append(lines, event...)
	}
	return lines, nil
}
