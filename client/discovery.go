package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"governor/scheme"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// acceptDiscovery asks for the aggregated form, of which v2beta1 (servers before
// 1.30) has the same fields, and takes the legacy one.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
	"application/json"

// legacyRequests is how many versions are asked for at once in the legacy form.
const legacyRequests = 8

// DiscoveryError says that the server could not tell what one version of a
// group has: most often it is an aggregated API whose server is down. It is not
// a NoMatch error, since the kind may well exist: ask again later. Upstream:
// apiutil.ErrResourceDiscoveryFailed.
type DiscoveryError struct {
	// GroupVersion that could not be discovered.
	GroupVersion schema.GroupVersion
	// Err is why.
	Err error
}

// Error names the version and says why.
func (e *DiscoveryError) Error() string {
	return fmt.Sprintf("discovery of %s failed: %v", e.GroupVersion, e.Err)
}

// Unwrap returns Err.
func (e *DiscoveryError) Unwrap() error { return e.Err }

// servedVersion is what the server says about one version of a group.
type servedVersion struct {
	schema.GroupVersion
	resources []servedResource
	// broken is why resources may be missing or old; nil if all is well.
	broken error
}

// servedResource is a resource that has objects: subresources are none.
type servedResource struct {
	name, singular, kind string
	namespaced           bool
}

// discovery asks a server what it serves.
type discovery struct {
	client rest.Interface
}

func newDiscovery(cfg *rest.Config, httpClient *http.Client) (*discovery, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.New().Codecs()
	// Two requests, that others wait for: the caller's budget is not for them.
	cfg.QPS, cfg.RateLimiter = -1, nil
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, err
	}
	return &discovery{client: client}, nil
}

// load returns every version of every group: groups as the server orders them
// with the core group first, the versions of each best first.
func (d *discovery) load(ctx context.Context) ([]servedVersion, error) {
	core, coreErr := d.root(ctx, "/api")
	named, namedErr := d.root(ctx, "/apis")
	switch {
	case apierrors.IsNotFound(coreErr) && apierrors.IsNotFound(namedErr):
		// Not wrapped: a caller would take it for an object that is not there.
		return nil, errors.New("discovery: the server has neither /api nor /apis: is its address right?")
	case coreErr != nil && !apierrors.IsNotFound(coreErr):
		return nil, fmt.Errorf("discovery: %w", coreErr)
	case namedErr != nil && !apierrors.IsNotFound(namedErr):
		return nil, fmt.Errorf("discovery: %w", namedErr)
	}
	return append(core, named...), nil
}

// root reads /api or /apis in whichever form the server sends it.
func (d *discovery) root(ctx context.Context, path string) ([]servedVersion, error) {
	body, err := d.get(ctx, path, acceptDiscovery)
	if err != nil {
		return nil, err
	}
	var form metav1.TypeMeta
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	switch form.Kind {
	case "APIGroupDiscoveryList":
		var list discoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		return fromAggregated(&list), nil
	case "APIVersions":
		var list metav1.APIVersions
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		var versions []servedVersion
		for _, v := range list.Versions {
			versions = append(versions, servedVersion{GroupVersion: schema.GroupVersion{Version: v}})
		}
		return d.legacy(ctx, path, versions)
	case "APIGroupList":
		var list metav1.APIGroupList
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		return d.legacy(ctx, path, groupVersions(&list))
	default:
		return nil, fmt.Errorf("GET %s: the server sent a %q, which is no discovery document", path, form.Kind)
	}
}

func (d *discovery) get(ctx context.Context, path, accept string) ([]byte, error) {
	body, err := d.client.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return body, nil
}

// fromAggregated reads the one document that has everything.
func fromAggregated(list *discoveryv2.APIGroupDiscoveryList) []servedVersion {
	var result []servedVersion
	for _, group := range list.Items {
		for _, version := range group.Versions {
			served := servedVersion{GroupVersion: schema.GroupVersion{Group: group.Name, Version: version.Version}}
			if version.Freshness == discoveryv2.DiscoveryFreshnessStale {
				served.broken = errors.New("the server's copy is stale: its aggregated API server does not answer")
			}
			for _, r := range version.Resources {
				// A parent of subresources only has no kind, or an empty one.
				if r.ResponseKind != nil {
					served.add(r.Resource, r.SingularResource, r.ResponseKind.Kind, r.Scope == discoveryv2.ScopeNamespace)
				}
			}
			result = append(result, served)
		}
	}
	return result
}

// groupVersions lists the versions of each group, the preferred one first.
func groupVersions(list *metav1.APIGroupList) []servedVersion {
	var result []servedVersion
	for _, group := range list.Groups {
		preferred := group.PreferredVersion.Version
		var rest []servedVersion
		for _, v := range group.Versions {
			served := servedVersion{GroupVersion: schema.GroupVersion{Group: group.Name, Version: v.Version}}
			if v.Version == preferred {
				result = append(result, served)
			} else {
				rest = append(rest, served)
			}
		}
		result = append(result, rest...)
	}
	return result
}

// legacy fills in the resources of each version, a request for each. A version
// that is not found has gone since it was listed; any other failure concerns
// that version only.
func (d *discovery) legacy(ctx context.Context, root string, versions []servedVersion) ([]servedVersion, error) {
	gone := make([]bool, len(versions))
	places := make(chan struct{}, legacyRequests)
	var wg sync.WaitGroup
	for i := range versions {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			v := &versions[i]
			err := d.legacyVersion(ctx, root, v)
			gone[i] = apierrors.IsNotFound(err)
			v.broken = err
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var result []servedVersion
	for i, v := range versions {
		if !gone[i] {
			result = append(result, v)
		}
	}
	return result, nil
}

func (d *discovery) legacyVersion(ctx context.Context, root string, v *servedVersion) error {
	path := root + "/" + v.GroupVersion.String()
	body, err := d.get(ctx, path, "application/json")
	if err != nil {
		return err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	for _, r := range list.APIResources {
		v.add(r.Name, r.SingularName, r.Kind, r.Namespaced)
	}
	return nil
}

// add leaves out what has no objects of its own, above all subresources.
func (v *servedVersion) add(name, singular, kind string, namespaced bool) {
	if name == "" || kind == "" || strings.Contains(name, "/") {
		return
	}
	v.resources = append(v.resources, servedResource{
		name:       name,
		singular:   cmp.Or(singular, strings.ToLower(kind)),
		kind:       kind,
		namespaced: namespaced,
	})
}
