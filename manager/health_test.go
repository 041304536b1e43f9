package manager_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"governor/manager"
)

// Case 41. Contract 8: probes are answered while the caches sync, and say so.
func TestReadyMeansThatTheCachesHaveSynced(t *testing.T) {
	m := newManager(t, &manager.Options{HealthProbeBindAddress: "127.0.0.1:0"})
	pods := &syncing{work{name: "pods", trace: new(trace)}, make(chan struct{})}
	add(t, m, pods)
	add(t, m, manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		if code, body := get(t, "http://"+m.HealthAddress()+"/readyz/caches?verbose"); code == http.StatusOK {
			t.Errorf("ready while stopping: %q", body)
		}
		return nil
	}))
	stop := start(t, m)
	url := "http://" + waitForHealth(t, m)
	if code, body := get(t, url+"/healthz"); code != http.StatusOK || body != "ok" {
		t.Errorf("healthz: %d %q", code, body)
	}
	code, body := get(t, url+"/readyz")
	if code != http.StatusInternalServerError || !strings.Contains(body, "[-]caches failed: reason withheld") || strings.Contains(body, "forbidden") {
		t.Errorf("readyz: %d %q", code, body)
	}
	code, body = get(t, url+"/readyz?verbose")
	if code != http.StatusInternalServerError || !strings.Contains(body, "pods is forbidden") {
		t.Errorf("readyz?verbose: %d %q", code, body)
	}
	if code, body := get(t, url+"/readyz?exclude=caches"); code != http.StatusOK || body != "ok" {
		t.Errorf("readyz?exclude=caches: %d %q", code, body)
	}
	close(pods.synced)
	<-m.Elected()
	if code, body := get(t, url+"/readyz"); code != http.StatusOK || body != "ok" {
		t.Errorf("readyz: %d %q", code, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// waitForHealth returns the address of the health server, although the caches
// do not sync: a server that is added late starts after it.
func waitForHealth(t *testing.T, m *manager.Manager) string {
	t.Helper()
	probe := make(chan struct{})
	add(t, m, &probing{work: work{name: "probe", trace: new(trace)}, began: probe})
	<-probe
	return m.HealthAddress()
}

// probing is a cache: caches start when the servers listen.
type probing struct {
	work
	began chan struct{}
	once  sync.Once
}

func (p *probing) WaitForCacheSync(ctx context.Context) error {
	p.once.Do(func() { close(p.began) })
	return nil
}

func TestHealthChecks(t *testing.T) {
	m := newManager(t, &manager.Options{HealthProbeBindAddress: "127.0.0.1:0"})
	well := func(*http.Request) error { return nil }
	sick := func(*http.Request) error { return errors.New("no\ndisk") }
	if err := m.AddHealthzCheck("early", well); err != nil {
		t.Fatal(err)
	}
	if err := m.AddHealthzCheck("ping", manager.Ping); err != nil {
		t.Errorf("replacing the built-in check: %v", err)
	}
	wantError(t, m.AddHealthzCheck("ping", manager.Ping), "ping", "one of that name")
	wantError(t, m.AddHealthzCheck("", well), "name")
	wantError(t, m.AddHealthzCheck("a/b", well), "a/b")
	wantError(t, m.AddReadyzCheck("x", nil), "nil")
	stop := start(t, m)
	<-m.Elected()
	url := "http://" + m.HealthAddress()

	if code, body := get(t, url+"/healthz?verbose"); code != 200 || body != "[+]early ok\n[+]ping ok\nhealthz check passed\n" {
		t.Errorf("%d %q", code, body)
	}
	// After Start too.
	if err := m.AddHealthzCheck("disk", sick); err != nil {
		t.Fatal(err)
	}
	if err := m.AddReadyzCheck("panics", func(*http.Request) error { panic("oh") }); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		code int
		body string
	}{
		{"/healthz", 500, "[-]disk failed: reason withheld\n[+]early ok\n[+]ping ok\nhealthz check failed\n"},
		{"/healthz/", 500, "[-]disk failed: reason withheld\n[+]early ok\n[+]ping ok\nhealthz check failed\n"},
		{"/healthz?verbose", 500, "[-]disk failed: no; disk\n[+]early ok\n[+]ping ok\nhealthz check failed\n"},
		{"/healthz?exclude=disk", 200, "ok"},
		{"/healthz?exclude=disk&exclude=tape&verbose", 200, "[+]disk excluded: ok\n[+]early ok\n[+]ping ok\nwarn: nothing to exclude is called \"tape\"\nhealthz check passed\n"},
		{"/healthz/ping", 200, "ok"},
		{"/healthz/disk", 500, "[-]disk failed: reason withheld\n"},
		{"/healthz/disk?verbose", 500, "[-]disk failed: no; disk\n"},
		{"/healthz/none", 404, "404 page not found\n"},
		{"/readyz/caches", 200, "ok"},
		{"/readyz/panics?verbose", 500, "[-]panics failed: panic: oh\n"},
	}
	for _, tt := range tests {
		if code, body := get(t, url+tt.path); code != tt.code || body != tt.body {
			t.Errorf("%s: got %d %q, want %d %q", tt.path, code, body, tt.code, tt.body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
