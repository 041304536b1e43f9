package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Options tunes a Direct client. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// Mapper; nil means a lazy one over the server's discovery.
	Mapper meta.RESTMapper
}

func (o *Options) scheme() *scheme.Scheme {
	if o == nil || o.Scheme == nil {
		return scheme.Builtin()
	}
	return o.Scheme
}

func (o *Options) mapper(cfg *rest.Config, hc *http.Client) (meta.RESTMapper, error) {
	if o == nil || o.Mapper == nil {
		return NewMapper(cfg, hc)
	}
	return o.Mapper, nil
}

// Direct is a Client whose every call is a request to the API server. Any
// number of goroutines may use it.
type Direct struct {
	cfg     *rest.Config
	http    *http.Client
	scheme  *scheme.Scheme
	mapper  meta.RESTMapper
	formats *formats
	timeout time.Duration

	mu sync.Mutex
	// clients has one for each group and version: the path and the error
	// decoding depend on nothing else.
	clients map[schema.GroupVersion]rest.Interface // +checklocks:mu

	observe func(context.Context, *Reply) // hears of each write; nil: nobody does
}

var _ Client = &Direct{}

// New returns a client of the API server that cfg names. It makes no request,
// and does not change cfg. Where cfg sets no QPS there is no limit on this
// side: the server's own fairness does better. cfg.Timeout bounds each request
// but a watch.
func New(cfg *rest.Config, o *Options) (*Direct, error) {
	if cfg == nil {
		return nil, errors.New("client: the configuration is nil: use GetConfig")
	}
	cfg = rest.CopyConfig(cfg)
	timeout := cfg.Timeout
	cfg.Timeout = 0 // it would end watches too
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandlerWithContext = &warnings{}
	}
	if cfg.RateLimiter == nil && cfg.QPS > 0 {
		// One for all kinds: each RESTClient would make its own.
		burst := cfg.Burst
		if burst == 0 {
			burst = rest.DefaultBurst
		}
		cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(cfg.QPS, burst)
	} else if cfg.QPS == 0 {
		cfg.QPS = -1
	}
	if err := pinged(cfg); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	cfg.Wrap(func(base http.RoundTripper) http.RoundTripper { return &retryAfterTransport{base} })
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	mapper, err := o.mapper(cfg, hc)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	s := o.scheme()
	formats, err := newFormats(s, cfg.ContentType == "" || cfg.ContentType == mediaProtobuf)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	cfg.NegotiatedSerializer = s.Codecs()
	cfg.ContentType, cfg.AcceptContentTypes = "", "" // set on each request
	return &Direct{
		cfg:     cfg,
		http:    hc,
		scheme:  s,
		mapper:  mapper,
		formats: formats,
		timeout: timeout,
		clients: map[schema.GroupVersion]rest.Interface{},
	}, nil
}

// Scheme is what the client knows Go types by.
func (d *Direct) Scheme() *scheme.Scheme { return d.scheme }

// RESTMapper is what the client finds resources and scopes by.
func (d *Direct) RESTMapper() meta.RESTMapper { return d.mapper }

// GroupVersionKindFor returns an object's kind, whatever its TypeMeta says.
// Unstructured and metadata-only objects must carry theirs.
func (d *Direct) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return d.scheme.GVKForObject(obj)
}

// IsObjectNamespaced says whether obj's kind lives in namespaces.
func (d *Direct) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	gvk, err := d.GroupVersionKindFor(obj)
	if err != nil {
		return false, err
	}
	mapping, err := d.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// Resource returns what lists and watches one kind in one form. The kind is
// that of an object, not of a list.
func (d *Direct) Resource(ctx context.Context, gvk schema.GroupVersionKind, form Form) (*Resource, error) {
	var example runtime.Object
	if form == Typed {
		var err error
		if example, err = d.scheme.New(gvk); err != nil {
			return nil, err
		}
	}
	return d.resource(ctx, gvk, form, example)
}

// resource returns the Resource of a kind; example is a value of its Go type or
// of its list's. The mapper is asked each time: a kind may be installed, go, and
// come back under another path.
func (d *Direct) resource(ctx context.Context, gvk schema.GroupVersionKind, form Form, example runtime.Object) (*Resource, error) {
	mapping, err := meta.ToRESTMapperWithContext(d.mapper).RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	c, err := d.client(mapping.Resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	return &Resource{
		gvk:     gvk,
		form:    form,
		mapping: mapping,
		client:  c,
		scheme:  d.scheme,
		format:  d.formats.of(form, example),
		timeout: d.timeout,
	}, nil
}

// resourceOf returns the Resource of an object's kind and form.
func (d *Direct) resourceOf(ctx context.Context, obj Object) (*Resource, error) {
	gvk, err := d.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	return d.resource(ctx, gvk, FormOf(obj), obj)
}

// resourceOfList returns the Resource of a list's items.
func (d *Direct) resourceOfList(ctx context.Context, list ObjectList) (*Resource, error) {
	gvk, err := d.GroupVersionKindFor(list)
	if err != nil {
		return nil, err
	}
	if !meta.IsListType(list) {
		return nil, fmt.Errorf("%T is one object: pass a pointer to its list type", list)
	}
	return d.resource(ctx, itemKind(gvk), FormOf(list), list)
}

// client returns the memoised RESTClient of a group and version.
func (d *Direct) client(gv schema.GroupVersion) (rest.Interface, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.clients[gv]; c != nil {
		return c, nil
	}
	cfg := rest.CopyConfig(d.cfg)
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	c, err := rest.RESTClientForConfigAndClient(cfg, d.http)
	if err != nil {
		return nil, err
	}
	d.clients[gv] = c
	return c, nil
}

// pinged makes every HTTP/2 connection be pinged when nothing comes, so that a
// watch on a dead one ends: after 30 s of silence, and 15 s without an answer.
// The transports that client-go makes have that. But for a server whose
// certificate the system's roots vouch for it takes http.DefaultTransport, which
// has not. To name a proxy, here the usual one, is what makes it take its own.
func pinged(cfg *rest.Config) error {
	if cfg.Transport != nil || cfg.Dial != nil || cfg.Proxy != nil || !strings.HasPrefix(cfg.Host, "https:") {
		return nil
	}
	tls, err := rest.TLSConfigFor(cfg)
	if tls == nil && err == nil {
		cfg.Proxy = http.ProxyFromEnvironment
	}
	return err
}
