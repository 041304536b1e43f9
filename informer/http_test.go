package informer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// api is a server that answers each list and each watch with the next of its
// scripts, and keeps the last.
type api struct {
	lists, watches []http.HandlerFunc

	mu       sync.Mutex
	requests []string
	times    []time.Time
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb, script := "list", &a.lists
	if r.URL.Query().Get("sendInitialEvents") != "" {
		fail(status(422, "Invalid", "sendInitialEvents is forbidden"))(w, r)
		return
	}
	if r.URL.Query().Get("watch") != "" {
		verb, script = "watch", &a.watches
	}
	a.mu.Lock()
	a.requests = append(a.requests, fmt.Sprintf("%s %q", verb, r.URL.Query().Get("resourceVersion")))
	a.times = append(a.times, time.Now())
	answer := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	a.mu.Unlock()
	answer(w, r)
}

func (a *api) want(t *testing.T, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.requests, want) {
		t.Errorf("the server got %q, want %q", a.requests, want)
	}
}

func (a *api) gap(n int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times[n].Sub(a.times[n-1])
}

func configMap(name, rv string) corev1.ConfigMap {
	return corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "1", ResourceVersion: rv},
	}
}

func listOf(rv string, items ...corev1.ConfigMap) http.HandlerFunc {
	return answer(200, &corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: rv}, Items: items,
	})
}

func answer(code int, body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(body)
	}
}

func status(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Causes: causes},
	}
}

func fail(s metav1.Status) http.HandlerFunc { return answer(int(s.Code), &s) }

// throttled answers as API priority and fairness does: no Status, but a header.
func throttled(seconds string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", seconds)
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}
}

// frame is one line of a watch.
type frame struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// frames writes a stream and ends it as told.
func frames(end func(http.ResponseWriter, *http.Request), all ...frame) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(200)
		for _, f := range all {
			json.NewEncoder(w).Encode(f)
		}
		w.(http.Flusher).Flush()
		end(w, r)
	}
}

func open(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func cutAfter(d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(d)
		fmt.Fprint(w, `{"type":"ADD`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// heard collects what a handler hears.
type heard struct {
	informer.HandlerFuncs
	mu  sync.Mutex
	all []string
}

func newHeard() *heard {
	h := &heard{}
	note := func(format string, args ...any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, fmt.Sprintf(format, args...))
	}
	h.AddFunc = func(o client.Object, _ bool) { note("add %s/%s", o.GetName(), o.GetResourceVersion()) }
	h.UpdateFunc = func(_, o client.Object) { note("update %s/%s", o.GetName(), o.GetResourceVersion()) }
	h.DeleteFunc = func(o client.Object, unknown bool) {
		if _, typed := o.(*corev1.ConfigMap); !typed {
			note("a %T", o)
		}
		note("delete %s/%s %v", o.GetName(), o.GetResourceVersion(), unknown)
	}
	return h
}

func (h *heard) want(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.all, want) {
		t.Errorf("the handler heard %q, want %q", h.all, want)
	}
}

// listWatch is the real client over a handler.
func listWatch(t *testing.T, h http.Handler) *client.ListWatch {
	t.Helper()
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(gvk, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server", Transport: envtest.Transport(h), QPS: -1}, &client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resource(t.Context(), gvk, client.Typed)
	if err != nil {
		t.Fatal(err)
	}
	return &client.ListWatch{Resource: r}
}

// story runs an Informer over a server for a while.
func story(t *testing.T, a *api, while time.Duration, check func(i *informer.Informer, h *heard)) {
	t.Helper()
	i := informer.New(listWatch(t, a), newStore(), &informer.Options{Name: "v1/ConfigMap", WatchErrorHandler: func(context.Context, error) {}})
	h := newHeard()
	if _, err := i.AddHandler(h, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	time.Sleep(while)
	synctest.Wait()
	check(i, h)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Case 1, over HTTP: by a frame, by the answer's status, and the list as well.
func TestHTTPGone(t *testing.T) {
	first := listOf("100", configMap("a", "90"), configMap("b", "91"))
	then := listOf("200", configMap("b", "91"))
	live := frames(open, frame{"ADDED", configMap("c", "201")})
	for name, tt := range map[string]struct {
		a    *api
		want []string
	}{
		"a frame": {
			&api{lists: []http.HandlerFunc{first, then}, watches: []http.HandlerFunc{
				frames(func(http.ResponseWriter, *http.Request) {}, frame{"ERROR", status(410, "Expired", "too old")}), live}},
			[]string{`list "0"`, `watch "100"`, `list "100"`, `watch "200"`},
		},
		"the status": {
			&api{lists: []http.HandlerFunc{first, then}, watches: []http.HandlerFunc{fail(status(410, "Gone", "too old")), live}},
			[]string{`list "0"`, `watch "100"`, `list "100"`, `watch "200"`},
		},
		"the list too": {
			&api{lists: []http.HandlerFunc{first, fail(status(410, "Expired", "too old")), then},
				watches: []http.HandlerFunc{fail(status(410, "Expired", "too old")), live}},
			[]string{`list "0"`, `watch "100"`, `list "100"`, `list ""`, `watch "200"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				story(t, tt.a, 3*time.Second, func(_ *informer.Informer, h *heard) {
					tt.a.want(t, tt.want...)
					// Case 18: the object is a typed one, its final state unknown.
					h.want(t, "add a/90", "add b/91", "delete a/90 true", "add c/201")
				})
			})
		})
	}
}

// Case 2, over HTTP.
func TestHTTPTooLarge(t *testing.T) {
	for name, tooLarge := range map[string]metav1.Status{
		"cause type": status(504, "Timeout", "x", metav1.StatusCause{Type: "ResourceVersionTooLarge"}),
		"cause text": status(504, "Timeout", "x", metav1.StatusCause{Message: "Too large resource version"}),
		"message":    status(504, "Timeout", "Timeout: Too large resource version: 5000, current: 4200"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &api{
					lists:   []http.HandlerFunc{listOf("5000", configMap("a", "4999")), fail(tooLarge), listOf("4200", configMap("a", "4100"))},
					watches: []http.HandlerFunc{fail(status(410, "Expired", "too old")), frames(open)},
				}
				story(t, a, 3*time.Second, func(i *informer.Informer, _ *heard) {
					a.want(t, `list "0"`, `watch "5000"`, `list "5000"`, `list ""`, `watch "4200"`)
					if rv := i.Status().ResourceVersion; rv != "4200" {
						t.Errorf("the store is at %s, want 4200", rv)
					}
				})
			})
		})
	}
}

// Case 5, over HTTP: Retry-After in a header, and in a Status.
func TestHTTPTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := status(429, "TooManyRequests", "later")
		later := status(429, "TooManyRequests", "later")
		later.Details.RetryAfterSeconds = 20
		a := &api{
			lists:   []http.HandlerFunc{throttled("10"), listOf("10", configMap("a", "3"))},
			watches: []http.HandlerFunc{fail(busy), fail(later), frames(open, frame{"ADDED", configMap("b", "11")})},
		}
		story(t, a, time.Minute, func(_ *informer.Informer, h *heard) {
			a.want(t, `list "0"`, `list "0"`, `watch "10"`, `watch "10"`, `watch "10"`)
			if list, watch := a.gap(1), a.gap(4); list < 10*time.Second || watch < 20*time.Second {
				t.Errorf("the waits are %v and %v, want 10 s and 20 s at least", list, watch)
			}
			h.want(t, "add a/3", "add b/11")
		})
	})
}

// Case 10 (a), over HTTP; and a connection that breaks in the middle of a frame.
func TestHTTPBookmarkThenCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mark := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5000"}}
		a := &api{
			lists: []http.HandlerFunc{listOf("10", configMap("a", "3"))},
			watches: []http.HandlerFunc{
				frames(cutAfter(time.Minute), frame{"BOOKMARK", mark}),
				frames(open, frame{"MODIFIED", configMap("a", "5001")}, frame{"DELETED", configMap("a", "5002")}),
			},
		}
		story(t, a, 2*time.Minute, func(i *informer.Informer, h *heard) {
			a.want(t, `list "0"`, `watch "10"`, `watch "5000"`)
			h.want(t, "add a/3", "update a/5001", "delete a/5002 false")
			if err := i.WaitFor(t.Context(), "5002"); err != nil {
				t.Error(err)
			}
		})
	})
}

// Case 7, over HTTP.
func TestHTTPUndecodableObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": "two",
			"metadata": map[string]any{"namespace": "ns", "name": "b", "uid": "2", "resourceVersion": "11"},
		}
		a := &api{
			lists: []http.HandlerFunc{
				answer(200, map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "11"}, "items": []any{bad, configMap("a", "3")}}),
			},
			watches: []http.HandlerFunc{frames(open, frame{"MODIFIED", bad}, frame{"ADDED", configMap("c", "12")})},
		}
		story(t, a, time.Minute, func(i *informer.Informer, h *heard) {
			a.want(t, `list "0"`, `watch "11"`)
			h.want(t, "add a/3", "add c/12")
			s := i.Status()
			if s.UnreadObjects != 1 || !strings.Contains(s.Unread[0].Err.Error(), "decode ConfigMap ns/b") {
				t.Errorf("status %+v", s)
			}
		})
	})
}

// The error that people read says which kind, what, and why.
func TestHTTPErrorText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{lists: []http.HandlerFunc{fail(status(403, "Forbidden", `configmaps is forbidden: User "x" cannot list`))}}
		story(t, a, time.Second, func(i *informer.Informer, _ *heard) {
			err := i.Status().LastError
			for _, part := range []string{"v1/ConfigMap", "list", "cannot list"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the error %v does not say %q", err, part)
				}
			}
		})
	})
}

// Contract 10, over HTTP: a list whose bytes trickle in.
func TestHTTPRunEndsInTheMiddleOfADribbledList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{lists: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"10"},"items":[`)
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		}}}
		story(t, a, time.Hour, func(i *informer.Informer, _ *heard) {
			if s := i.Status(); s.State != informer.Listing || i.HasSynced() {
				t.Errorf("status %+v", s)
			}
		})
	})
}
