package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"governor/client"
	"governor/envtest"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

var (
	podGK    = schema.GroupKind{Kind: "Pod"}
	widgetGK = schema.GroupKind{Group: "example.com", Kind: "Widget"}
	gearGK   = schema.GroupKind{Group: "example.com", Kind: "Gear"}
	laterGK  = schema.GroupKind{Group: "later.dev", Kind: "Later"}
)

// The same answers from both forms of discovery.
func TestMapperAnswers(t *testing.T) {
	tests := []struct {
		name     string
		gk       schema.GroupKind
		versions []string
		want     string // "group/version resource", empty for NoMatch
		scope    meta.RESTScopeName
	}{
		{"core", podGK, nil, "v1 pods", meta.RESTScopeNameNamespace},
		{"cluster-scoped", schema.GroupKind{Kind: "Namespace"}, nil, "v1 namespaces", meta.RESTScopeNameRoot},
		{"named group", schema.GroupKind{Group: "apps", Kind: "Deployment"}, []string{"v1"}, "apps/v1 deployments", meta.RESTScopeNameNamespace},
		{"the server's preferred version", widgetGK, nil, "example.com/v2 widgets", meta.RESTScopeNameNamespace},
		{"the version asked for", widgetGK, []string{"v1"}, "example.com/v1 widgets", meta.RESTScopeNameNamespace},
		{"the first version that is there", widgetGK, []string{"v7", "v1", "v2"}, "example.com/v1 widgets", meta.RESTScopeNameNamespace},
		{"empty and internal versions are none", widgetGK, []string{"", "__internal"}, "example.com/v2 widgets", meta.RESTScopeNameNamespace},
		{"kind of the second version only", gearGK, nil, "example.com/v1 gears", meta.RESTScopeNameRoot},
		{"kind that the version lacks", gearGK, []string{"v2"}, "", ""},
		{"unknown kind", schema.GroupKind{Group: "apps", Kind: "Nonsense"}, nil, "", ""},
		{"unknown group", schema.GroupKind{Group: "x.dev", Kind: "Pod"}, nil, "", ""},
		{"kind of a subresource", schema.GroupKind{Group: "policy", Kind: "Eviction"}, nil, "", ""},
		{"kind of a subresource, in its parent's group", schema.GroupKind{Kind: "Eviction"}, nil, "", ""},
		{"no kind", schema.GroupKind{}, nil, "", ""},
	}
	for _, form := range []string{"aggregated", "legacy"} {
		server := newDiscoveryServer()
		server.legacy = form == "legacy"
		m := newTestMapper(t, server)
		for _, tt := range tests {
			t.Run(form+"/"+tt.name, func(t *testing.T) {
				got, err := m.RESTMapping(tt.gk, tt.versions...)
				if tt.want == "" {
					if !meta.IsNoMatchError(err) {
						t.Fatalf("got %v and the error %v, want NoMatch", got, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if text := got.Resource.GroupVersion().String() + " " + got.Resource.Resource; text != tt.want {
					t.Errorf("got %s, want %s", text, tt.want)
				}
				if got.Scope.Name() != tt.scope {
					t.Errorf("scope is %s", got.Scope.Name())
				}
				if want := got.Resource.GroupVersion().WithKind(tt.gk.Kind); got.GroupVersionKind != want {
					t.Errorf("kind is %v, want %v", got.GroupVersionKind, want)
				}
			})
		}
		all, err := m.RESTMappings(widgetGK)
		if err != nil || len(all) != 2 || all[0].Resource.Version != "v2" || all[1].Resource.Version != "v1" {
			t.Errorf("%s: RESTMappings: %v, %v", form, all, err)
		}
	}
}

func TestMapperResources(t *testing.T) {
	gvr := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	tests := []struct {
		name string
		ask  schema.GroupVersionResource
		want []schema.GroupVersionResource
	}{
		{"whole", gvr("example.com", "v1", "widgets"), []schema.GroupVersionResource{gvr("example.com", "v1", "widgets")}},
		{"any version, best first", gvr("example.com", "", "widgets"), []schema.GroupVersionResource{gvr("example.com", "v2", "widgets"), gvr("example.com", "v1", "widgets")}},
		{"singular", gvr("", "", "deployment"), []schema.GroupVersionResource{gvr("apps", "v1", "deployments")}},
		{"upper case", gvr("", "", "Pods"), []schema.GroupVersionResource{gvr("", "v1", "pods")}},
		{"any group, core first", gvr("", "", "events"), []schema.GroupVersionResource{gvr("", "v1", "events"), gvr("events.k8s.io", "v1", "events")}},
		{"version only", gvr("", "v2", "widgets"), []schema.GroupVersionResource{gvr("example.com", "v2", "widgets")}},
		{"subresource", gvr("", "", "pods/status"), nil},
		{"unknown", gvr("", "", "nonsense"), nil},
		{"wrong group", gvr("apps", "", "pods"), nil},
	}
	m := newTestMapper(t, newDiscoveryServer())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := m.ResourcesFor(tt.ask)
			if tt.want == nil {
				if !meta.IsNoMatchError(err) {
					t.Fatalf("got %v, %v; want NoMatch", all, err)
				}
				return
			}
			if err != nil || !slices.Equal(all, tt.want) {
				t.Fatalf("got %v, %v", all, err)
			}
			if one, err := m.ResourceFor(tt.ask); one != tt.want[0] {
				t.Errorf("ResourceFor: %v, %v", one, err)
			}
			kinds, err := m.KindsFor(tt.ask)
			if err != nil || len(kinds) != len(tt.want) {
				t.Errorf("KindsFor: %v, %v", kinds, err)
			}
			if kind, err := m.KindFor(tt.ask); kind != kinds[0] {
				t.Errorf("KindFor: %v, %v", kind, err)
			}
		})
	}
	if got, err := m.ResourceSingularizer("widgets"); got != "widget" || err != nil {
		t.Errorf("singular is %q, %v", got, err)
	}
	if got, err := m.ResourceSingularizer("nonsense"); got != "nonsense" || !meta.IsNoMatchError(err) {
		t.Errorf("singular is %q, %v", got, err)
	}
	if _, err := m.ResourceFor(schema.GroupVersionResource{}); err == nil {
		t.Error("a resource without a name is no error")
	}
}

func TestMapperAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		m := newTestMapper(t, server)
		if n := server.count(); n != 0 {
			t.Fatalf("%d requests at construction", n)
		}
		server.gates["/api"] = make(chan struct{})
		var wg sync.WaitGroup
		for _, gk := range []schema.GroupKind{podGK, widgetGK, gearGK, podGK} {
			wg.Go(func() {
				if _, err := m.RESTMapping(gk); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(server.gates["/api"])
		wg.Wait()
		time.Sleep(time.Hour)
		if _, err := m.RESTMapping(widgetGK, "v1"); err != nil {
			t.Error(err)
		}
		if n := server.count(); n != 2 {
			t.Errorf("%d requests, want one for /api and one for /apis", n)
		}
	})
}

// An unknown kind is no discovery storm, and a kind that comes is found within
// a second.
func TestMapperNegativeCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		m := newTestMapper(t, server)
		if _, err := m.RESTMapping(podGK); err != nil {
			t.Fatal(err)
		}
		server.count()
		missed := func() {
			t.Helper()
			if _, err := m.RESTMapping(laterGK); !meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "Later") {
				t.Fatalf("error is %v, want NoMatch", err)
			}
		}
		time.Sleep(time.Minute)
		for range 10 { // 10 questions a second, for three seconds
			for range 3 {
				missed()
				time.Sleep(100 * time.Millisecond)
			}
		}
		if n := server.count(); n != 2*3 {
			t.Errorf("%d requests in three seconds, want two each second", n)
		}

		time.Sleep(time.Second)
		missed()
		server.change(func() {
			server.groups = append(server.groups, group("later.dev", version("v1", resource("laters", "Later", discoveryv2.ScopeCluster))))
		})
		server.count()
		time.Sleep(time.Second - time.Nanosecond)
		missed()
		if n := server.count(); n != 0 {
			t.Errorf("%d requests before the second was over", n)
		}
		// Another group is not held up by this one.
		if _, err := m.RESTMapping(schema.GroupKind{Group: "other.dev", Kind: "Later"}); !meta.IsNoMatchError(err) {
			t.Error(err)
		}
		if n := server.count(); n != 2 {
			t.Errorf("%d requests for another group", n)
		}
		if _, err := m.RESTMapping(laterGK); err != nil {
			t.Errorf("a discovery for another group brought no news: %v", err)
		}
	})
}

func TestMapperFindsWhatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		m := newTestMapper(t, server)
		if _, err := m.RESTMapping(laterGK); !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		server.change(func() {
			server.groups = append(server.groups, group("later.dev", version("v1", resource("laters", "Later", discoveryv2.ScopeCluster))))
		})
		time.Sleep(time.Second)
		if _, err := m.RESTMapping(laterGK); err != nil {
			t.Error(err)
		}
	})
}

// A question that joins a discovery begun before it does not take that one's
// No for an answer.
func TestMapperLateQuestionAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		m := newTestMapper(t, server)
		gate := make(chan struct{})
		server.gates["/apis"] = gate
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := m.RESTMapping(podGK); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the first answer is made up, and on its way
		server.change(func() {
			delete(server.gates, "/apis")
			server.groups = append(server.groups, group("later.dev", version("v1", resource("laters", "Later", discoveryv2.ScopeCluster))))
		})
		time.Sleep(time.Millisecond)
		wg.Go(func() {
			if _, err := m.RESTMapping(laterGK); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(gate)
		wg.Wait()
		if n := server.count(); n != 4 {
			t.Errorf("%d requests, want two discoveries", n)
		}
	})
}

func TestMapperForgetsVersionsThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		m := newTestMapper(t, server)
		if _, err := m.RESTMapping(widgetGK, "v1"); err != nil {
			t.Fatal(err)
		}
		server.change(func() {
			server.groups[3] = group("example.com", version("v3", resource("widgets", "Widget", discoveryv2.ScopeCluster)))
		})
		time.Sleep(time.Second)
		if got, err := m.RESTMapping(widgetGK, "v3"); err != nil || got.Scope.Name() != meta.RESTScopeNameRoot {
			t.Fatalf("the new version: %v, %v", got, err)
		}
		if got, err := m.RESTMapping(widgetGK); err != nil || got.Resource.Version != "v3" {
			t.Errorf("the preferred version: %v, %v", got, err)
		}
		if got, err := m.RESTMapping(widgetGK, "v1"); !meta.IsNoMatchError(err) {
			t.Errorf("the old version is still known: %v, %v", got, err)
		}
	})
}

// A broken aggregated API does not break the rest; what was known of it stays;
// what might be in it is an error that names it, and no NoMatch.
func TestMapperBrokenGroup(t *testing.T) {
	breakIt := map[string]func(*discoveryServer){
		"aggregated, stale and empty": func(s *discoveryServer) {
			s.groups[3].Versions[0].Resources, s.groups[3].Versions[0].Freshness = nil, discoveryv2.DiscoveryFreshnessStale
		},
		"legacy, 503": func(s *discoveryServer) {
			s.legacy = true
			s.fail["/apis/example.com/v2"] = http.StatusServiceUnavailable
		},
	}
	for name, broken := range breakIt {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newDiscoveryServer()
				m, fresh := newTestMapper(t, server), newTestMapper(t, server)
				if _, err := m.RESTMapping(widgetGK, "v2"); err != nil {
					t.Fatal(err)
				}
				server.change(func() { broken(server) })
				time.Sleep(time.Minute)
				for what, err := range map[string]error{
					"unknown kind":       errOf(m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "New"})),
					"kind of before":     errOf(fresh.RESTMapping(widgetGK, "v2")),
					"resource, no group": errOf(m.ResourcesFor(schema.GroupVersionResource{Resource: "news"})),
				} {
					failure, ok := errors.AsType[*client.DiscoveryError](err)
					if !ok || meta.IsNoMatchError(err) || failure.GroupVersion != (schema.GroupVersion{Group: "example.com", Version: "v2"}) {
						t.Errorf("%s: error is %v", what, err)
					} else if !strings.Contains(err.Error(), "example.com/v2") {
						t.Errorf("%s: error %q does not name the version", what, err)
					}
				}
				if _, err := m.RESTMapping(widgetGK, "v2"); err != nil {
					t.Errorf("what was known of the version has gone: %v", err)
				}
				for _, gk := range []schema.GroupKind{podGK, gearGK} {
					if _, err := fresh.RESTMapping(gk); err != nil {
						t.Errorf("the rest is broken too: %v", err)
					}
				}
				if _, err := m.RESTMapping(gearGK, "v9"); !meta.IsNoMatchError(err) {
					t.Errorf("a version that is not there: %v", err)
				}
				if _, err := m.RESTMapping(laterGK); !meta.IsNoMatchError(err) {
					t.Errorf("another group: %v", err)
				}
			})
		})
	}
}

func errOf[T any](_ T, err error) error { return err }

// A version that vanished between the list and the question is no failure.
func TestMapperLegacyVersionGone(t *testing.T) {
	server := newDiscoveryServer()
	server.legacy = true
	server.fail["/apis/example.com/v2"] = http.StatusNotFound
	m := newTestMapper(t, server)
	if got, err := m.RESTMapping(widgetGK); err != nil || got.Resource.Version != "v1" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := m.RESTMapping(widgetGK, "v2"); !meta.IsNoMatchError(err) {
		t.Errorf("the version that went: %v", err)
	}
}

// An answer that cannot be had is an error, never NoMatch and never NotFound,
// and does not last longer than a second.
func TestMapperServerFails(t *testing.T) {
	tests := []struct {
		name   string
		change func(*discoveryServer)
		want   string
	}{
		{"forbidden", func(s *discoveryServer) { s.fail["/apis"] = http.StatusForbidden }, "GET /apis"},
		{"500", func(s *discoveryServer) { s.fail["/api"] = http.StatusInternalServerError }, "GET /api"},
		{"no API server", func(s *discoveryServer) { s.fail["/api"], s.fail["/apis"] = 404, 404 }, "is its address right?"},
		{"no JSON", func(s *discoveryServer) { s.body["/apis"] = "<html>" }, "GET /apis"},
		{"another document", func(s *discoveryServer) { s.body["/apis"] = `{"kind":"Pod"}` }, `"Pod"`},
		{"null", func(s *discoveryServer) { s.body["/apis"] = `null` }, "no discovery document"},
		{"wrong type inside", func(s *discoveryServer) { s.body["/apis"] = `{"kind":"APIGroupDiscoveryList","items":7}` }, "GET /apis"},
		{"wrong type in the legacy form", func(s *discoveryServer) { s.body["/apis"] = `{"kind":"APIGroupList","groups":7}` }, "GET /apis"},
		{"wrong type in the legacy core form", func(s *discoveryServer) { s.body["/api"] = `{"kind":"APIVersions","versions":7}` }, "GET /api"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newDiscoveryServer()
				m := newTestMapper(t, server)
				tt.change(server)
				for range 3 {
					_, err := m.RESTMapping(podGK)
					if err == nil || meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), tt.want) {
						t.Fatalf("error is %v", err)
					}
				}
				if n := server.count(); n > 2 {
					t.Errorf("%d requests for three questions at once", n)
				}
				server.change(func() { clear(server.fail); clear(server.body) })
				time.Sleep(time.Second)
				if _, err := m.RESTMapping(podGK); err != nil {
					t.Errorf("a second later: %v", err)
				}
				// What is known stays known.
				tt.change(server)
				time.Sleep(time.Minute)
				if _, err := m.RESTMapping(laterGK); err == nil || meta.IsNoMatchError(err) {
					t.Errorf("unknown kind: %v", err)
				}
				if _, err := m.RESTMapping(podGK); err != nil {
					t.Errorf("known kind: %v", err)
				}
			})
		})
	}
}

// Only /api, or only /apis, is a server as well.
func TestMapperHalfAServer(t *testing.T) {
	server := newDiscoveryServer()
	server.fail["/api"] = http.StatusNotFound
	m := newTestMapper(t, server)
	if _, err := m.RESTMapping(widgetGK); err != nil {
		t.Error(err)
	}
	if _, err := m.RESTMapping(podGK); !meta.IsNoMatchError(err) {
		t.Error(err)
	}
}

// A context ends the wait of its own question only.
func TestMapperContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		server.gates["/api"] = make(chan struct{})
		m := newTestMapper(t, server)
		ask := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() { done <- errOf(m.RESTMappingWithContext(ctx, podGK)) }()
			synctest.Wait()
			return done
		}
		flying, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		first, second, third := ask(flying), ask(short), ask(t.Context())

		start := time.Now()
		if err := <-second; !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that flew: %v", err)
		}
		synctest.Wait()
		close(server.gates["/api"])
		if err := <-third; err != nil {
			t.Errorf("the one that waited on: %v", err)
		}
	})
}

func TestMapperTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		server.gates["/api"] = make(chan struct{})
		m := newTestMapper(t, server)
		start := time.Now()
		_, err := m.RESTMapping(podGK)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 32*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// The caller's limit is not spent on discovery.
func TestMapperIgnoresClientRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newDiscoveryServer()
		server.legacy = true
		cfg := &rest.Config{Host: "https://test", QPS: 0.1, Burst: 1}
		m, err := client.NewMapper(cfg, &http.Client{Transport: envtest.Transport(server)})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := m.RESTMapping(podGK); err != nil || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if cfg.QPS != 0.1 || cfg.NegotiatedSerializer != nil {
			t.Error("the caller's configuration was written to")
		}
	})
}

func TestNewMapperRefuses(t *testing.T) {
	if _, err := client.NewMapper(nil, nil); err == nil {
		t.Error("no configuration is no error")
	}
	if _, err := client.NewMapper(&rest.Config{Host: "https://a b"}, nil); err == nil {
		t.Error("a broken address is no error")
	}
}
