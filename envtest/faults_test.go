package envtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// newServer returns a server and an administrator's client of it.
func newServer(t *testing.T, o *envtest.Options) (*envtest.Server, *client.Direct) {
	t.Helper()
	s := envtest.NewServer(o)
	return s, newClient(t, s.Config())
}

func newClient(t *testing.T, cfg *rest.Config) *client.Direct {
	t.Helper()
	c, err := client.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newMap(name string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	m.Namespace, m.Name = "default", name
	return m
}

func mapKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "default", Name: name}
}

// create makes ConfigMaps.
func create(t *testing.T, c client.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Create(t.Context(), newMap(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// get makes a plain request, as the administrator.
func get(ctx context.Context, t *testing.T, s *envtest.Server, path string, header ...string) (*http.Response, error) {
	t.Helper()
	c, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, "GET", "https://in.memory"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return c.Do(req)
}

var mapsOnly = envtest.Match{Resource: "configmaps"}

// Contract 21: which requests a fault is for.
func TestMatch(t *testing.T) {
	broken := apierrors.NewServiceUnavailable("broken")
	tests := []struct {
		match envtest.Match
		hit   bool
	}{
		{envtest.Match{}, true},
		{envtest.Match{Verb: "get"}, true},
		{envtest.Match{Verb: "list"}, false},
		{envtest.Match{Resource: "configmaps"}, true},
		{envtest.Match{Resource: "configmaps/status"}, false},
		{envtest.Match{Group: "apps"}, false},
		{envtest.Match{Namespace: "default", Name: "a"}, true},
		{envtest.Match{Namespace: "other"}, false},
		{envtest.Match{Name: "b"}, false},
		{envtest.Match{User: "admin"}, true},
		{envtest.Match{User: "jane"}, false},
		{envtest.Match{UserAgent: "probe"}, true},
		{envtest.Match{UserAgent: "kubectl"}, false},
		{envtest.Match{Func: func(r envtest.Request) bool { return r.Query.Get("pretty") == "true" }}, true},
		{envtest.Match{Func: func(r envtest.Request) bool { return r.Verb == "list" }}, false},
		{envtest.Match{Verb: "get", Resource: "configmaps", Namespace: "default", Name: "a", User: "jane"}, false},
	}
	for _, tt := range tests {
		s, c := newServer(t, nil)
		create(t, c, "a")
		s.Inject(tt.match, envtest.Fault{Err: broken})
		resp, err := get(t.Context(), t, s, "/api/v1/namespaces/default/configmaps/a?pretty=true", "User-Agent", "probe/1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if hit := resp.StatusCode == http.StatusServiceUnavailable; hit != tt.hit {
			t.Errorf("%+v: status %d, hit wanted: %v", tt.match, resp.StatusCode, tt.hit)
		}
	}
}

// Contract 21: errors are what apimachinery calls them, with their headers.
func TestFaultAnswers(t *testing.T) {
	tests := []struct {
		name       string
		err        error
		code       int
		retryAfter string
		is         func(error) bool
	}{
		{"429", apierrors.NewTooManyRequests("slow down", 7), 429, "7", apierrors.IsTooManyRequests},
		{"500", errors.New("out of order"), 500, "", func(err error) bool { return strings.Contains(err.Error(), "out of order") }},
		{"503", apierrors.NewServiceUnavailable("later"), 503, "", apierrors.IsServiceUnavailable},
		{"401", apierrors.NewUnauthorized("who?"), 401, "", apierrors.IsUnauthorized},
		{"410", apierrors.NewResourceExpired("too old"), 410, "", apierrors.IsResourceExpired},
		{"409", apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no")), 409, "", apierrors.IsConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := newServer(t, nil)
				s.Inject(mapsOnly, envtest.Fault{Err: tt.err, Times: 1, Header: http.Header{"X-Fault": {"yes"}}})
				resp, err := get(t.Context(), t, s, "/api/v1/configmaps")
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != tt.code || resp.Header.Get("Retry-After") != tt.retryAfter || resp.Header.Get("X-Fault") != "yes" {
					t.Errorf("status %d, header %v", resp.StatusCode, resp.Header)
				}
				s.Inject(mapsOnly, envtest.Fault{Err: tt.err})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := c.Create(ctx, newMap("a")); err == nil || ctx.Err() == nil && !tt.is(err) {
					t.Errorf("the client hears %v", err)
				}
			})
		})
	}
}

// Contract 21: for so many requests, or until it is removed; the first that fits.
func TestFaultsInTurn(t *testing.T) {
	s, c := newServer(t, nil)
	create(t, c, "a")
	s.Inject(mapsOnly, envtest.Fault{Err: apierrors.NewUnauthorized("one"), Times: 2})
	remove := s.Inject(mapsOnly, envtest.Fault{Err: apierrors.NewUnauthorized("two")})
	s.Inject(mapsOnly, envtest.Fault{Err: apierrors.NewUnauthorized("three"), Times: 1})
	var heard []string
	ask := func() {
		err := c.Get(t.Context(), mapKey("a"), &corev1.ConfigMap{})
		heard = append(heard, fmt.Sprint(err))
	}
	for range 4 {
		ask()
	}
	remove()
	remove()
	ask()
	ask()
	got := strings.ReplaceAll(strings.Join(heard, " "), "get ConfigMap default/a: ", "")
	if want := "one one two two three <nil>"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// Contract 21: a delayed request has not happened before.
func TestFaultDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		s.Inject(envtest.Match{Verb: "create"}, envtest.Fault{Delay: time.Hour})
		done := make(chan error)
		start := time.Now()
		go func() { done <- c.Create(t.Context(), newMap("a")) }()
		time.Sleep(time.Hour - 1)
		if err := c.Get(t.Context(), mapKey("a"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("before the delay is over: %v", err)
		}
		if err := <-done; err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		// A client that leaves leaves nothing behind: the bubble would see it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Create(ctx, newMap("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client with less time: %v", err)
		}
	})
}

// Contract 21: Reset comes before the verb, Cut after it.
func TestFaultsOfOneAnswer(t *testing.T) {
	tests := []struct {
		fault    envtest.Fault
		happened bool
		check    func(body []byte, err error) bool
	}{
		{envtest.Fault{Break: envtest.Reset}, false, func(_ []byte, err error) bool { return err != nil }},
		{envtest.Fault{Break: envtest.Cut}, true, func(b []byte, err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) && len(b) > 0 }},
		{envtest.Fault{Break: envtest.Close}, true, func(b []byte, err error) bool { return err == nil && len(b) == 0 }},
		{envtest.Fault{Break: envtest.Reset, After: 1}, true, func(b []byte, err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) && len(b) > 100 }},
		{envtest.Fault{Break: envtest.Stall}, true, func(b []byte, err error) bool { return errors.Is(err, context.DeadlineExceeded) && len(b) == 0 }},
		{envtest.Fault{Break: envtest.Garbage}, true, func(b []byte, err error) bool { return err == nil && strings.Contains(string(b), "garbage\n{") }},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.fault.Break, tt.fault.After), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := newServer(t, nil)
				remove := s.Inject(mapsOnly, tt.fault)
				httpClient, err := rest.HTTPClientFor(s.Config())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "POST", "https://in.memory/api/v1/namespaces/default/configmaps",
					strings.NewReader(`{"metadata":{"name":"a"}}`))
				resp, err := httpClient.Do(req)
				var body []byte
				if err == nil {
					body, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if !tt.check(body, err) {
					t.Errorf("%v, body %q", err, body)
				}
				remove()
				var list corev1.ConfigMapList
				if err := c.List(t.Context(), &list, client.InNamespace("default")); err != nil {
					t.Fatal(err)
				}
				if happened := len(list.Items) == 1; happened != tt.happened {
					t.Errorf("happened: %v, want %v", happened, tt.happened)
				}
			})
		})
	}
}

// frames reads a watch in JSON until it ends.
func frames(t *testing.T, s *envtest.Server, ctx context.Context, each func(line string)) error {
	t.Helper()
	resp, err := get(ctx, t, s, "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1", "Accept", "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			each(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Contract 21: a watch breaks between its events, or in one.
func TestFaultsOfWatches(t *testing.T) {
	const long = 24 * time.Hour
	tests := []struct {
		name  string
		fault envtest.Fault
		lines []string // what each begins with
		err   error
		after time.Duration
	}{
		{"close at once", envtest.Fault{Break: envtest.Close}, nil, nil, 0},
		{"close after one", envtest.Fault{Break: envtest.Close, After: 1}, []string{`{"type":"ADDED"`}, nil, 0},
		{"close after two", envtest.Fault{Break: envtest.Close, After: 2}, []string{`{"type":"ADDED"`, `{"type":"ADDED"`}, nil, 0},
		{"reset after one", envtest.Fault{Break: envtest.Reset, After: 1}, []string{`{"type":"ADDED"`}, io.ErrUnexpectedEOF, 0},
		{"close after the last", envtest.Fault{Break: envtest.Close, After: 3}, []string{`{"type":"ADDED"`, `{"type":"ADDED"`, `{"type":"ADDED"`}, nil, 0},
		{"reset after the last", envtest.Fault{Break: envtest.Reset, After: 3}, []string{`{"type":"ADDED"`, `{"type":"ADDED"`, `{"type":"ADDED"`}, io.ErrUnexpectedEOF, 0},
		{"cut in the second", envtest.Fault{Break: envtest.Cut, After: 1}, []string{`{"type":"ADDED"`, `{"type":"ADDED"`}, io.ErrUnexpectedEOF, 0},
		{"stall after one", envtest.Fault{Break: envtest.Stall, After: 1}, []string{`{"type":"ADDED"`}, context.DeadlineExceeded, long},
		{"stall", envtest.Fault{Break: envtest.Stall}, nil, context.DeadlineExceeded, long},
		{"late", envtest.Fault{Delay: time.Minute, Break: envtest.Close}, nil, nil, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := newServer(t, nil)
				create(t, c, "a", "b", "c")
				s.Inject(envtest.Match{Verb: "watch"}, tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), long)
				defer cancel()
				var lines []string
				start := time.Now()
				err := frames(t, s, ctx, func(line string) { lines = append(lines, line) })
				if !errors.Is(err, tt.err) || time.Since(start) != tt.after {
					t.Errorf("ended with %v after %v, want %v after %v", err, time.Since(start), tt.err, tt.after)
				}
				if len(lines) != len(tt.lines) {
					t.Fatalf("%d frames, want %d: %q", len(lines), len(tt.lines), lines)
				}
				for i, line := range lines {
					whole := strings.HasSuffix(line, "\n")
					if !strings.HasPrefix(line, tt.lines[i]) || whole == (tt.fault.Break == envtest.Cut && i == tt.fault.After) {
						t.Errorf("frame %d is %q", i, line)
					}
				}
			})
		})
	}
}

// Contract 21: our own client survives all of that, in JSON and in protobuf.
func TestClientsWatchThroughFaults(t *testing.T) {
	for _, how := range []envtest.Break{envtest.Reset, envtest.Cut, envtest.Close, envtest.Garbage} {
		for after := range 3 {
			synctest.Test(t, func(t *testing.T) {
				s, c := newServer(t, nil)
				s.Inject(envtest.Match{Verb: "watch"}, envtest.Fault{Break: how, After: after, Times: 3})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				created := make(chan struct{})
				go func() {
					defer close(created)
					for i := range 10 {
						time.Sleep(time.Second)
						if err := c.Create(ctx, newMap(fmt.Sprint(i))); err != nil {
							t.Error(err)
						}
					}
				}()
				if _, err := envtest.WaitFor(ctx, c, newMap("9"), func(m *corev1.ConfigMap) bool { return m != nil }); err != nil {
					t.Errorf("break %v after %d: %v", how, after, err)
				}
				<-created
			})
		}
	}
}

// Contract 22: nothing gets through until it thaws, or the client gives up.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		create(t, c, "first") // and the client knows what there is
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		ended := make(chan error)
		go func() { ended <- frames(t, s, ctx, func(line string) { seen = append(seen, line) }) }()
		synctest.Wait()

		thaw, thawToo := s.Freeze(), s.Freeze()
		short, cancelShort := context.WithTimeout(ctx, time.Minute)
		defer cancelShort()
		if err := c.Create(short, newMap("never")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a create while frozen: %v", err)
		}
		created := make(chan error)
		go func() { created <- c.Create(ctx, newMap("late")) }()
		time.Sleep(10 * time.Minute)
		thaw()
		thaw() // counts once
		time.Sleep(10 * time.Minute)
		select {
		case err := <-created:
			t.Errorf("a create came through: %v", err)
		default:
		}
		thawToo()
		if err := <-created; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := c.Get(ctx, mapKey("never"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("what was given up has happened: %v", err)
		}
		// A watch under way is held back, and then has everything.
		again := s.Freeze()
		writes := make(chan error)
		go func() { writes <- c.Create(ctx, newMap("more")) }()
		synctest.Wait()
		if len(seen) != 2 {
			t.Errorf("the watch has %d events, want 2", len(seen))
		}
		again()
		if err := <-writes; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(seen) != 3 {
			t.Errorf("the watch has %d events, want 3", len(seen))
		}
		cancel()
		<-ended
	})
}

// Contract 22: what has happened when the network breaks is not heard of, and a
// watch hears of nothing, until it thaws.
func TestFreezeHoldsAnswersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		create(t, c, "first")
		var seen []string
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- frames(t, s, ctx, func(line string) { seen = append(seen, line) }) }()
		synctest.Wait()
		// The webhook is asked in the middle of the request.
		var thaw func()
		s.HandleWebhook("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			thaw = s.Freeze()
			allow(w, r)
		}))
		installHook(t, c, "ValidatingWebhookConfiguration", "https://hook.example.com/", nil)
		created := make(chan error)
		go func() { created <- c.Create(ctx, newMap("second")) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait() // what the webhook wrote may be read now
		select {
		case err := <-created:
			t.Errorf("the client has heard: %v", err)
		default:
		}
		if len(seen) != 1 {
			t.Errorf("the watch has %d events while frozen, want 1", len(seen))
		}
		thaw()
		if err := <-created; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(seen) != 2 {
			t.Errorf("the watch has %d events, want 2", len(seen))
		}
		cancel()
		<-ended
	})
}

// Contract 20: what has been asked, whatever became of it.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, &envtest.Options{RBAC: true})
		s.ResetRequests()
		jane := newClient(t, s.AddUser("jane"))
		start := time.Now()
		time.Sleep(time.Second)
		create(t, c, "a")
		_ = jane.Get(t.Context(), mapKey("a"), &corev1.ConfigMap{})
		s.Inject(envtest.Match{Verb: "get"}, envtest.Fault{Break: envtest.Reset, Times: 1})
		if _, err := get(t.Context(), t, s, "/api/v1/namespaces/default/configmaps/a/status?x=1", "User-Agent", "probe/1"); err == nil {
			t.Error("no reset")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- frames(t, s, ctx, func(string) {}) }()
		synctest.Wait()
		var got []string
		for _, r := range s.Requests() {
			if !r.ResourceRequest {
				continue // discovery
			}
			got = append(got, fmt.Sprintf("%v %s %s %s %s/%s %q %s %d", r.Time.Sub(start), r.User.Name, r.Verb, r.Resource, r.Namespace, r.Name, r.Subresource, r.Query.Encode(), r.Code))
		}
		want := []string{
			`1s admin create configmaps default/ ""  201`,
			`1s jane get configmaps default/a ""  403`,
			`1s admin get configmaps default/a "status" x=1 0`,
			`1s admin watch configmaps default/ "" resourceVersion=1&watch=1 200`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		cancel()
		<-ended
		s.ResetRequests()
		if n := len(s.Requests()); n != 0 {
			t.Errorf("%d requests after the reset", n)
		}
	})
}

// Contract 20: it does not grow for ever.
func TestRequestsAreBounded(t *testing.T) {
	s := envtest.NewServer(nil)
	w := &nothing{}
	for i := range 10_005 {
		req, _ := http.NewRequest("GET", fmt.Sprintf("/healthz/%d", i), nil)
		s.ServeHTTP(w, req)
	}
	requests := s.Requests()
	if len(requests) != 10_000 || requests[0].Path != "/healthz/5" || requests[9999].Path != "/healthz/10004" {
		t.Errorf("%d requests, from %s", len(requests), requests[0].Path)
	}
}

// nothing is a response that nobody reads.
type nothing struct{ header http.Header }

func (n *nothing) Header() http.Header {
	if n.header == nil {
		n.header = http.Header{}
	}
	return n.header
}
func (*nothing) Write(p []byte) (int, error) { return len(p), nil }
func (*nothing) WriteHeader(int)             {}

// Contract 23: what is forgotten is a 410, and nothing else is.
func TestCompactTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(t, nil)
		create(t, c, "a", "b", "c")
		var page corev1.ConfigMapList
		if err := c.List(t.Context(), &page, client.InNamespace("default"), client.Limit(1)); err != nil {
			t.Fatal(err)
		}
		b := newMap("b")
		if err := c.Get(t.Context(), mapKey("b"), b); err != nil {
			t.Fatal(err)
		}
		watch := func(resourceVersion string) (int, string) {
			resp, err := get(t.Context(), t, s, "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&resourceVersion="+resourceVersion)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		if err := s.CompactTo(b.ResourceVersion); err != nil {
			t.Fatal(err)
		}
		if code, text := watch("2"); !strings.Contains(text, "410") {
			t.Errorf("a watch from before: %d %s", code, text)
		}
		if code, text := watch(b.ResourceVersion); code != 200 || !strings.Contains(text, `"name":"c"`) || strings.Contains(text, "410") {
			t.Errorf("a watch from then: %d %s", code, text)
		}
		if err := s.CompactTo(""); err != nil {
			t.Fatal(err)
		}
		create(t, c, "d")
		if err := s.CompactTo(""); err != nil {
			t.Fatal(err)
		}
		err := c.List(t.Context(), &page, client.InNamespace("default"), client.Limit(1), client.Continue(page.Continue))
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("an old continue token: %v", err)
		}
		for _, bad := range []string{"x", "-1", "99999999"} {
			if err := s.CompactTo(bad); err == nil {
				t.Errorf("CompactTo(%q): no error", bad)
			}
		}
	})
}
