package client_test

import (
	"net/http"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// legacyDiscovery takes the aggregated forms out of what is asked for.
type legacyDiscovery struct{ next http.RoundTripper }

func (l legacyDiscovery) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", jsonType)
	return l.next.RoundTrip(r)
}

// On a real server: both forms of discovery give the same answers, and a kind
// that is installed while the mapper lives is found within its second.
func TestE2EMapper(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	aggregated, err := client.NewMapper(plane.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := plane.Config()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return legacyDiscovery{next} })
	legacy, err := client.NewMapper(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for gvk := range scheme.Builtin().AllKnownTypes() {
		one, err := aggregated.RESTMapping(gvk.GroupKind(), gvk.Version)
		two, err2 := legacy.RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case err == nil && err2 == nil && *one == *two:
			found++
		case !meta.IsNoMatchError(err) || !meta.IsNoMatchError(err2):
			t.Errorf("%v: aggregated %v, %v; legacy %v, %v", gvk, one, err, two, err2)
		}
	}
	if found < 50 {
		t.Errorf("only %d built-in kinds are served", found)
	}

	widget := schema.GroupKind{Group: "envtest.governor.dev", Kind: "Widget"}
	if _, err := aggregated.RESTMapping(widget); !meta.IsNoMatchError(err) {
		t.Fatalf("before its CRD: %v", err)
	}
	installWidgets(t, plane.Config())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); ; <-tick.C {
		mapping, err := aggregated.RESTMapping(widget)
		if err == nil {
			if mapping.Resource.Resource != "widgets" {
				t.Errorf("the resource is %v", mapping.Resource)
			}
			return
		}
		if !meta.IsNoMatchError(err) || time.Since(start) > 2*time.Second {
			t.Fatalf("after its CRD: %v", err)
		}
	}
}

func installWidgets(t *testing.T, cfg *rest.Config) {
	t.Helper()
	c, err := client.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := envtest.ReadCRDs("../envtest/testdata/crds")
	if err != nil {
		t.Fatal(err)
	}
	if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
		t.Fatal(err)
	}
}
