package informer_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/informer"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// realWorld is a world whose server is a real one; counted are the watcher's
// requests by kind of objects, streaming lists among the lists.
func realWorld(t *testing.T) (w *world, counted func(resource string) (lists, watches int)) {
	t.Helper()
	plane := envtest.RequireControlPlane(t, nil)
	w = &world{t: t}
	var mu sync.Mutex
	var requests []*http.Request
	cfg := plane.Config()
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			requests = append(requests, r)
			mu.Unlock()
			return rt.RoundTrip(r)
		})
	})
	var err error
	if w.admin, err = client.New(plane.Config(), &client.Options{Scheme: cronTabs(t)}); err != nil {
		t.Fatal(err)
	}
	if w.watcher, err = client.New(cfg, &client.Options{Scheme: cronTabs(t)}); err != nil {
		t.Fatal(err)
	}
	return w, func(resource string) (lists, watches int) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range requests {
			switch q := r.URL.Query(); {
			case !strings.HasSuffix(r.URL.Path, "/"+resource):
			case q.Get("watch") == "" || q.Get("sendInitialEvents") != "":
				lists++
			default:
				watches++
			}
		}
		return lists, watches
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// TestE2EInformer runs informers on a real API server, one for all of it.
func TestE2EInformer(t *testing.T) {
	w, counted := realWorld(t)
	installCronTabs(t, w.admin)
	e2eUndecodable(t, w, counted)
	e2eKindRemovedAndInstalledAgain(t, w, counted)
}

// Case 7: from the start, and while watching.
func e2eUndecodable(t *testing.T, w *world, counted func(string) (int, int)) {
	w.put(newCronTab("a", 1))
	w.put(newCronTab("b", "two"))
	x, other := w.informer(cronTabKind, client.Typed), w.informer(configMapKind, client.Typed)
	loose, metadata := w.informer(cronTabKind, client.Unstructured), w.informer(cronTabKind, client.MetadataOnly)
	for _, i := range []*watching{x, other, loose, metadata} {
		stop := i.run()
		defer stop()
	}
	eventually(t, 30*time.Second, "all have synced", func() bool {
		return x.HasSynced() && other.HasSynced() && loose.HasSynced() && metadata.HasSynced()
	})
	bad := newCronTab("c", "three")
	version := w.put(bad)
	w.put(newConfigMap("elsewhere"))
	eventually(t, 30*time.Second, "the events have come", func() bool {
		return x.Status().UnreadObjects == 2 && strings.Contains(other.names(), "elsewhere") && loose.names() == "a b c" && metadata.names() == "a b c"
	})
	s := x.Status()
	if x.names() != "a" || s.State != informer.Watching || s.LastError != nil || s.Unread[1].ResourceVersion != version || s.Unread[1].UID != bad.GetUID() {
		t.Errorf("the store has %q, status %+v", x.names(), s)
	}
	if errs := x.reported(); len(errs) != 2 || !strings.Contains(errs[1].Error(), "CronTab") || !strings.Contains(errs[1].Error(), "default/c") {
		t.Errorf("errors %v", errs)
	}
	if s.StreamingLists != 1 || s.Lists != 0 || s.Bytes == 0 {
		t.Errorf("status %+v, want one streaming list", s)
	}
	w.put(newCronTab("b", 2))
	w.remove(bad)
	eventually(t, 30*time.Second, "b is mended, c is gone", func() bool { return x.names() == "a b" && x.Status().UnreadObjects == 0 })
	if lists, watches := counted("crontabs"); lists != 3 || watches != 0 { // one for each form
		t.Errorf("%d lists and %d watches, want no request for the mending", lists, watches)
	}
}

// Case 12: the informer's part. Three deletes, few requests, and the new
// generation of objects arrives.
func e2eKindRemovedAndInstalledAgain(t *testing.T, w *world, counted func(string) (int, int)) {
	w.put(newCronTab("c", 3))
	x := w.informer(cronTabKind, client.Unstructured)
	stop := x.run()
	defer stop()
	eventually(t, 30*time.Second, "a, b and c are there", func() bool { return x.names() == "a b c" })
	var before client.Object
	for _, o := range x.store.List() {
		if o.GetName() == "a" {
			before = o
		}
	}

	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crd.SetName("crontabs.stable.example.com")
	listsBefore, _ := counted("crontabs")
	w.remove(crd)
	eventually(t, 60*time.Second, "all are gone", func() bool { return x.names() == "" })
	gap := time.NewTimer(40 * time.Second) // that is the case
	defer gap.Stop()
	<-gap.C
	if lists, _ := counted("crontabs"); lists-listsBefore > 15 {
		t.Errorf("%d lists in the 40 s without the kind", lists-listsBefore)
	}

	installCronTabs(t, w.admin)
	w.put(newCronTab("a", 4))
	eventually(t, 60*time.Second, "the new a is there", func() bool { return x.names() == "a" })
	if now := x.store.List()[0]; now.GetUID() == before.GetUID() {
		t.Errorf("a is the old one: %v", now)
	}
	x.heard.mu.Lock()
	defer x.heard.mu.Unlock()
	deletes := 0
	for _, what := range x.heard.all {
		if strings.HasPrefix(what, "delete") || strings.HasPrefix(what, "missed delete") {
			deletes++
		}
	}
	if deletes != 3 || x.heard.all[len(x.heard.all)-1] != "add a" {
		t.Errorf("the handler heard %q", x.heard.all)
	}
}
