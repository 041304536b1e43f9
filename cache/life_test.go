package cache

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Contract 11: a kind that nobody reads is cached no more, and its memory goes; the
// next read lists it anew.
func TestIdleKindStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		watches := s.followWatches()
		c := newCache(t, s, &Options{IdleTimeout: time.Minute})
		start(t, c)
		get := func() {
			t.Helper()
			if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
				t.Error(err)
			}
		}
		state := func() KindState { return c.Status().Kinds[0].State }
		get()
		store := weak.Make(c.kinds[podGVK].scopes()[0].indexer)
		for range 10 { // it is read again in time
			time.Sleep(40 * time.Second)
			get()
		}
		if got := lists(s); len(got) != 1 || state() != KindSynced {
			t.Errorf("requests %v, %s, of a kind that is read", got, state())
		}
		time.Sleep(55 * time.Second)
		if state() != KindSynced {
			t.Error("it has stopped too early")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if state() != KindIdle || watches.count() != 0 {
			t.Errorf("%s, %d watches, of a kind that nobody reads", state(), watches.count())
		}
		runtime.GC()
		runtime.GC()
		if store.Value() != nil {
			t.Error("its store is still in memory")
		}
		get()
		if got := lists(s); len(got) != 2 || state() != KindSynced {
			t.Errorf("requests %v, %s, after another read", got, state())
		}
	})
}

// lists are the requests that were lists.
func lists(s *server) []string {
	return slices.DeleteFunc(s.seen(), func(line string) bool { return strings.HasPrefix(line, "WATCH") })
}

// watches are those of the caches that are made after it, which are not over.
type watches struct {
	mu   sync.Mutex
	open map[*http.Request]context.CancelFunc
}

func (s *server) followWatches() *watches {
	w := &watches{open: map[*http.Request]context.CancelFunc{}}
	s.config.Transport = envtest.Transport(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			r = r.WithContext(ctx)
			w.mu.Lock()
			w.open[r] = cancel
			w.mu.Unlock()
			defer func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.open, r)
			}()
		}
		s.ServeHTTP(answer, r)
	}))
	return w
}

func (w *watches) count() int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open)
}

func (w *watches) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.open {
		cancel()
	}
}

// Contract 11: what holds a lease, or was declared, does not become idle.
func TestKindsThatDoNotBecomeIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		options Options
		use     func(t *testing.T, c *Cache) (release func())
		idle    bool // without release
	}{
		"GetInformer": {use: func(t *testing.T, c *Cache) func() {
			if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
			return nil
		}},
		"GetInformer, and widened": {use: func(t *testing.T, c *Cache) func() {
			if err := c.RemoveInformer(t.Context(), &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
			follow(t, c, metadataFor(podGVK)).registration.Remove()
			if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
			return nil
		}},
		"an index": {use: func(t *testing.T, c *Cache) func() {
			if err := c.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", byNodeName); err != nil {
				t.Fatal(err)
			}
			return nil
		}},
		"ByObject": {options: Options{ByObject: map[client.Object]ByObject{&corev1.Pod{}: {}}}, use: func(*testing.T, *Cache) func() { return nil }},
		"never":    {options: Options{IdleTimeout: -1}, use: func(*testing.T, *Cache) func() { return nil }},
		"a read":   {use: func(*testing.T, *Cache) func() { return nil }, idle: true},
		"a handler": {use: func(t *testing.T, c *Cache) func() {
			r, err := c.AddHandler(t.Context(), &corev1.Pod{}, &story{t: t}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.Remove
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fourPods(t)
				c := newCache(t, s, &tt.options)
				start(t, c)
				if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
					t.Error(err)
				}
				release := tt.use(t, c)
				time.Sleep(time.Hour)
				if idle := c.Status().Kinds[0].State == KindIdle; idle != tt.idle {
					t.Errorf("idle: %v, want %v", idle, tt.idle)
				}
				if release == nil {
					return
				}
				release()
				time.Sleep(13 * time.Minute)
				if got := c.Status().Kinds[0].State; got != KindIdle {
					t.Errorf("%s after the lease was given back", got)
				}
			})
		})
	}
}

// A read that waits for a kind keeps it from being idle.
func TestWaitingReadIsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		permit := s.forbid(envtest.Match{Resource: "pods"})
		c := newCache(t, s, &Options{IdleTimeout: time.Second, DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		time.AfterFunc(10*time.Second, permit)
		if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
	})
}

// Trap 6: handlers go on with the kind's next informer, and hear of what went
// meanwhile; the KindInformer and the Registration are good for it.
func TestHandlersOutliveRemoveInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		watches := s.followWatches()
		c := newCache(t, s, nil)
		start(t, c)
		st := &story{t: t}
		r, err := c.AddHandler(t.Context(), &corev1.Pod{}, st, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.heard(); got != "add p0 true, add p1 true, add p2 true, add p3 true" {
			t.Errorf("at first: %s", got)
		}
		if err := c.RemoveInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		if got := st.heard(); got != "delete p0, delete p1, delete p2, delete p3" {
			t.Errorf("after removal: %s", got)
		}
		if n := watches.count(); n != 0 {
			t.Errorf("%d watches after removal", n)
		}
		if err := r.WaitForSync(within(t, time.Second)); !errors.Is(err, ErrStopped) {
			t.Errorf("WaitForSync: %v", err)
		}
		s.removePod("ns0", "p0")
		time.Sleep(time.Hour)
		if got := len(s.seen()); got != 1 {
			t.Errorf("%d requests, though nobody has asked", got)
		}
		// Metadata is asked for, but the handler is to get what it got before.
		if err := c.Get(t.Context(), key("ns1", "p1"), metadataFor(podGVK)); err != nil {
			t.Error(err)
		}
		if err := r.WaitForSync(within(t, time.Second)); err != nil {
			t.Error(err)
		}
		if got := st.heard(); got != "add p1 true, add p2 true, add p3 true" {
			t.Errorf("after it was asked for again: %s", got)
		}
		if form := c.Status().Kinds[0].Form; form != "typed" {
			t.Errorf("stored %s", form)
		}
		r.Remove()
		s.put(pod("ns0", "late", "x", "n"))
		if got := st.heard(); got != "" {
			t.Errorf("after Remove: %s", got)
		}
	})
}

// Contract 1: a kind that was stored metadata-only is listed anew, whole, for whoever asks
// for more; whoever waits for it, or follows it, goes on.
func TestKindIsWidened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		watches := s.followWatches()
		c := newCache(t, s, nil)
		start(t, c)
		st := follow(t, c, metadataFor(podGVK))
		st.heard()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				var obj client.Object = metadataFor(podGVK)
				if i%2 == 0 {
					obj = &corev1.Pod{}
				}
				if err := c.Get(t.Context(), key("ns1", "p1"), obj); err != nil {
					t.Errorf("Get %T: %v", obj, err)
				}
				if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName != "n1" {
					t.Errorf("without its spec: %v", p)
				}
			})
		}
		wg.Wait()
		if got := st.heard(); got != "add p0 true, add p1 true, add p2 true, add p3 true, delete p0, delete p1, delete p2, delete p3" {
			t.Errorf("heard %s", got)
		}
		if got := s.seen(); len(got) != 2 || watches.count() != 1 {
			t.Errorf("requests %v, %d watches", got, watches.count())
		}
	})
}

// Contract 3: who waits for the first list goes on waiting when the kind is widened.
func TestReadThatWaitsWhileTheKindIsWidened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		permit := s.forbid(envtest.Match{Resource: "pods"})
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		errs := make(chan error, 2)
		for _, obj := range []client.Object{metadataFor(podGVK), &corev1.Pod{}} {
			go func() { errs <- c.Get(t.Context(), key("ns1", "p1"), obj) }()
			time.Sleep(time.Second)
		}
		permit()
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// Case 12, in the cache.
func TestKindThatGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		create := func(names ...string) {
			t.Helper()
			for _, name := range names {
				w := unstructuredOf(widgetGVK)
				w.SetNamespace("ns1")
				w.SetName(name)
				s.put(w)
			}
		}
		install := func() {
			t.Helper()
			if err := envtest.InstallCRDs(t.Context(), s.admin, widgetCRD()); err != nil {
				t.Fatal(err)
			}
		}
		install()
		create("a", "b", "c")
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		st := follow(t, c, unstructuredOf(widgetGVK))
		st.heard()
		u := unstructuredOf(widgetGVK)
		if err := c.Get(t.Context(), key("ns1", "a"), u); err != nil {
			t.Fatal(err)
		}
		before := u.GetUID()
		if err := s.admin.Delete(t.Context(), widgetCRD()); err != nil {
			t.Fatal(err)
		}
		if got := st.heard(); strings.Count(got, "delete") != 3 {
			t.Errorf("after the definition was removed: %s", got)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), u); !apierrors.IsNotFound(err) {
			t.Errorf("Get, just after: %v", err)
		}
		requests := len(s.seen())
		time.Sleep(39 * time.Second)
		if n := len(s.seen()) - requests; n > 15 {
			t.Errorf("%d requests in 39 s: %v", n, s.seen()[requests:])
		}
		begin := time.Now()
		err := c.Get(t.Context(), key("ns1", "a"), u)
		if e, ok := errors.AsType[*NotSyncedError](err); !ok || !errors.Is(err, ErrNotInstalled) || e.Kind != widgetGVK || apierrors.IsNotFound(err) || time.Since(begin) > 0 {
			t.Errorf("Get, later: %v, after %v", err, time.Since(begin))
		}
		install()
		create("a")
		time.Sleep(time.Minute)
		if err := c.Get(t.Context(), key("ns1", "a"), u); err != nil || u.GetUID() == before {
			t.Errorf("Get after it came back: UID %s, before %s, %v", u.GetUID(), before, err)
		}
		if got := st.heard(); got != "add a true" {
			t.Errorf("after it came back: %s", got)
		}

		// Gone once more, and removed meanwhile, it is not asked for.
		if err := s.admin.Delete(t.Context(), widgetCRD()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := c.Get(t.Context(), key("ns1", "a"), u); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("Get, gone once more: %v", err)
		}
		if err := c.RemoveInformer(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		requests = len(s.seen())
		time.Sleep(time.Hour)
		if n := len(s.seen()) - requests; n != 0 {
			t.Errorf("%d requests after it was removed", n)
		}
		install()
		create("d")
		if err := c.Get(t.Context(), key("ns1", "d"), u); err != nil {
			t.Errorf("asked for again: %v", err)
		}
	})
}

// Deletes that nobody has seen, since the watch was down, are told when the kind
// turns out to be gone.
func TestKindThatGoesUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		watches := s.followWatches()
		if err := envtest.InstallCRDs(t.Context(), s.admin, widgetCRD()); err != nil {
			t.Fatal(err)
		}
		w := unstructuredOf(widgetGVK)
		w.SetNamespace("ns1")
		w.SetName("a")
		s.put(w)
		c := newCache(t, s, &Options{DefaultWatchErrorHandler: func(context.Context, error) {}})
		start(t, c)
		st := follow(t, c, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}})
		st.heard()
		// The server answers as if it knew no such thing.
		gone := apierrors.NewGenericServerResponse(404, "get", widgetGVK.GroupVersion().WithResource("widgets").GroupResource(), "", "", 0, true)
		back := s.Inject(envtest.Match{Resource: "widgets", User: "cache"}, envtest.Fault{Err: gone})
		watches.drop()
		time.Sleep(5 * time.Second) // a server that starts may say so for a moment
		if err := c.Get(t.Context(), key("ns1", "a"), w); err != nil {
			t.Errorf("Get, at once: %v", err)
		}
		time.Sleep(time.Minute)
		if got := st.heard(); got != "delete a" {
			t.Errorf("heard %s", got)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), w); !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "the last error was") {
			t.Errorf("Get: %v", err)
		}
		back()
		time.Sleep(time.Minute)
		if got := st.heard(); got != "add a true" {
			t.Errorf("heard %s", got)
		}
		if err := c.Get(t.Context(), key("ns1", "a"), w); err != nil {
			t.Errorf("Get: %v", err)
		}
		if got := slices.Compact(s.seen()); len(got) == 0 {
			t.Error("no requests")
		}
	})
}

// FEATURES wish 2: no informer by accident.
func TestUndeclaredKindsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fourPods(t)
		s.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: "c"}})
		c := newCache(t, s, &Options{ReaderFailOnMissingInformer: true, ByObject: map[client.Object]ByObject{&corev1.Pod{}: {}}})
		start(t, c)
		if err := c.Get(t.Context(), key("ns1", "p1"), &corev1.Pod{}); err != nil {
			t.Errorf("a kind that is declared: %v", err)
		}
		for range 2 {
			err := c.Get(t.Context(), key("ns1", "c"), &corev1.ConfigMap{})
			if !errors.Is(err, ErrResourceNotCached) || !strings.Contains(err.Error(), "v1/ConfigMap") || !strings.Contains(err.Error(), "Options.ByObject") {
				t.Errorf("a kind that is not: %v", err)
			}
		}
		r, err := c.AddHandler(t.Context(), &corev1.ConfigMap{}, &story{t: t}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), key("ns1", "c"), &corev1.ConfigMap{}); err != nil {
			t.Errorf("a kind that a controller watches: %v", err)
		}
		r.Remove()
		time.Sleep(time.Hour)
		if err := c.Get(t.Context(), key("ns1", "c"), &corev1.ConfigMap{}); !errors.Is(err, ErrResourceNotCached) {
			t.Errorf("a kind that nobody watches any more: %v", err)
		}
	})
}
