package client_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/cache"
	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// guarded is an API server with the pods a and b, of which a goes when the first
// token does. Who has no valid token is refused.
type guarded struct {
	t *testing.T

	mu       sync.Mutex
	token    string        // +checklocks:mu
	revoked  chan struct{} // closed when the first token is
	refused  int           // +checklocks:mu
	accepted []string      // +checklocks:mu; "verb token"
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb := "list"
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	} else if r.URL.Path != "/api/v1/pods" {
		verb = "get"
	}
	token := r.Header.Get("Authorization")
	g.mu.Lock()
	ok := token == "Bearer "+g.token
	if ok {
		g.accepted = append(g.accepted, verb+" "+g.token)
	} else {
		g.refused++
	}
	g.mu.Unlock()
	if !ok {
		answerJSON(401, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)(w, r)
		return
	}
	g.answer(w, r, verb)
}

func (g *guarded) answer(w http.ResponseWriter, r *http.Request, verb string) {
	gone := closed(g.revoked)
	switch verb {
	case "get":
		answer(g.t, jsonType, served("b", "1"))(w, r)
	case "list":
		list := podList("1", "", served("a", "1"), served("b", "1"))
		if gone {
			list = podList("2", "", served("b", "1"))
		}
		answer(g.t, jsonType, list)(w, r)
	case "watch":
		w.(http.Flusher).Flush()
		if !gone {
			select {
			case <-g.revoked: // it closes the streams of those whom it no longer knows
			case <-r.Context().Done():
			}
			return
		}
		if r.URL.Query().Get("resourceVersion") == "1" {
			_, _ = w.Write(frame(g.t, jsonType, "DELETED", served("a", "2")))
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// accept changes which token is valid.
func (g *guarded) accept(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.token = token
}

func (g *guarded) seen() (refused int, accepted []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused, slices.Clone(g.accepted)
}

// Case 11: credentials expire under a running informer.
func TestCredentialsExpireUnderARunningInformer(t *testing.T) {
	tests := []struct {
		name   string
		config func(file string) *rest.Config
		heals  bool
	}{
		{"a token file", func(file string) *rest.Config { return &rest.Config{BearerTokenFile: file} }, true},
		// What rest.InClusterConfig returns: the file, and what it held.
		{"in the cluster", func(file string) *rest.Config {
			return &rest.Config{BearerToken: "t1", BearerTokenFile: file}
		}, true},
		{"an inline token", func(string) *rest.Config { return &rest.Config{BearerToken: "t1"} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), "token"), "t1\n")
			synctest.Test(t, func(t *testing.T) { expire(t, tt.config(file), file, tt.heals) })
		})
	}
}

func expire(t *testing.T, cfg *rest.Config, file string, heals bool) {
	g := &guarded{t: t, token: "t1", revoked: make(chan struct{})}
	cfg.Host, cfg.Transport = "http://server", envtest.Transport(g)
	lw := podsAt(t, cfg)
	c, err := client.New(cfg, &client.Options{Mapper: testMapper()})
	if err != nil {
		t.Fatal(err)
	}
	deleted := make(chan string, 10)
	var errs []error // of the informer's goroutine, read when it has ended
	i := informer.New(lw, cache.NewIndexer(), &informer.Options{Name: "v1/Pod", WatchErrorHandler: func(_ context.Context, err error) { errs = append(errs, err) }})
	if _, err := i.AddHandler(informer.HandlerFuncs{DeleteFunc: func(obj client.Object, _ bool) { deleted <- obj.GetName() }}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- i.Run(ctx) }()
	<-i.Synced()
	time.Sleep(10 * time.Second)

	g.accept("t2")
	close(g.revoked)
	time.Sleep(5 * time.Second)
	write(t, file, "t2\n")
	select {
	case name := <-deleted:
		if !heals || name != "a" {
			t.Errorf("%s was deleted", name)
		}
	case <-time.After(90 * time.Second):
		if heals {
			t.Error("the delete of a is not seen after 90 s")
		}
	}
	afterwards(t, c, lw, g, heals)

	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(errs) == 0 || !apierrors.IsUnauthorized(errs[len(errs)-1]) {
		t.Errorf("the error handler heard %v", errs)
	}
}

// afterwards checks what each verb does with the new token, and how often the
// old one was tried.
func afterwards(t *testing.T, c *client.Direct, lw *client.ListWatch, g *guarded, heals bool) {
	t.Helper()
	refused, accepted := g.seen()
	if refused == 0 || refused > 15 {
		t.Errorf("refused %d times", refused)
	}
	if slices.Contains(accepted, "watch t2") != heals {
		t.Errorf("accepted %q", accepted)
	}
	_, err := lw.List(t.Context(), metav1.ListOptions{}, func(_ client.Object, err error) bool { return err == nil })
	if heals != (err == nil) || !heals && !apierrors.IsUnauthorized(err) {
		t.Errorf("list: %v", err)
	}
	err = c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "b"}, &corev1.Pod{})
	if heals != (err == nil) || !heals && !apierrors.IsUnauthorized(err) {
		t.Errorf("get: %v", err)
	}
}
