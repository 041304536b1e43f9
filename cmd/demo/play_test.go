package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// transcript collects what a program prints, and tells of words that it has.
type transcript struct {
	mu      sync.Mutex
	buf     bytes.Buffer // +checklocks:mu
	changed chan struct{}
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return w.buf.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// show runs the demo until it has printed words, then ends it, and returns all
// that it printed.
func show(t *testing.T, words string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &transcript{changed: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, out, out) }()
	limit := time.After(2 * time.Minute)
	for !strings.Contains(out.String(), words) {
		select {
		case <-out.changed:
		case err := <-ended:
			t.Fatalf("the demo ended with %v:\n%s", err, out)
		case <-limit:
			t.Fatalf("the demo did not come to %q:\n%s", words, out)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	return out.String()
}

// `make demo` shows the story: each act, and after it event, reconcile, write.
func TestPlayInMemory(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	checkStory(t, "an API server in memory serves at", show(t, "now you", "--play"))
}

func checkStory(t *testing.T, server, got string) {
	t.Helper()
	for _, want := range []string{
		server,
		`story +team-blue is given the label copies=wanted\n(.*\n)*?event +Namespace team-blue → key team-source/settings\nreconcile +Replica team-source/settings\n(.*\n)*?write +create ConfigMap team-blue/settings`,
		`story +the source changes\n(.*\n)*?event +ConfigMap team-source/settings → key team-source/settings\n(.*\n)*?write +apply ConfigMap team-(blue|green)/settings`,
		`story +somebody edits team-blue's copy by hand\n(.*\n)*?write +apply ConfigMap team-blue/settings`,
		`story +team-green loses the label\n(.*\n)*?write +delete ConfigMap team-green/settings`,
		`export KUBECONFIG=`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the story lacks %s:\n%s", want, got)
		}
	}
}
