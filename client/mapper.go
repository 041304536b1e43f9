package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	// discoveryTimeout bounds one discovery.
	discoveryTimeout = 32 * time.Second
	// missTTL is for how long a group is not asked for again after a kind was not
	// found in it.
	missTTL = time.Second
)

var (
	_ meta.RESTMapper            = (*Mapper)(nil)
	_ meta.RESTMapperWithContext = (*Mapper)(nil)
)

// Mapper knows which resource serves a kind, and whether it is namespaced. It
// asks the server at the first question, and again when a question finds no
// answer:
//
//	question ──► known? ──► answer
//	               │ no
//	               ▼
//	      missed < 1 s ago? ──► NoMatch, without a request
//	               │ no
//	               ▼
//	      discovery, one at a time, for all who wait ──► known? ──► NoMatch
//
// So a kind that is installed later is found within a second, and a kind that
// does not exist costs one discovery (two requests) a second at most per group.
// Each discovery replaces what was known: versions that went are forgotten.
// Where one version cannot be discovered, the rest is answered, what was known
// of it stays, and a question that it might have answered gets a
// *DiscoveryError instead of NoMatch. Other errors satisfy meta.IsNoMatchError or
// are those of the requests.
//
// The methods WithContext end with their context; all end after 32 seconds. A
// Mapper is safe for concurrent use. Upstream: apiutil.NewDynamicRESTMapper.
type Mapper struct {
	discovery *discovery
	known     atomic.Pointer[mappings] // nil before the first discovery

	mu     sync.Mutex
	flight *flight              // the discovery that runs, or nil; +checklocks:mu
	missed map[question]failure // of the last missTTL; +checklocks:mu
}

// question is what a miss is remembered by: a group or, where the group is not
// known, the name of a resource.
type question struct{ group, resource string }

// failure is a question that found no answer.
type failure struct {
	at  time.Time
	err error
}

// flight is a discovery in progress.
type flight struct {
	done chan struct{}
	// err and abandoned may be read once done is closed. abandoned says that the
	// goroutine that did it gave up, so that the others have to do it themselves.
	err       error
	abandoned bool
}

// NewMapper returns a Mapper for the server that cfg names. It makes no request.
// A nil httpClient means one made from cfg.
func NewMapper(cfg *rest.Config, httpClient *http.Client) (*Mapper, error) {
	if cfg == nil {
		return nil, errors.New("REST mapper: the configuration is nil: use GetConfig")
	}
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(cfg); err != nil {
			return nil, fmt.Errorf("REST mapper: %w", err)
		}
	}
	d, err := newDiscovery(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("REST mapper: %w", err)
	}
	return &Mapper{discovery: d, missed: map[question]failure{}}, nil
}

// find looks up an answer, and discovers anew if there is none.
func (m *Mapper) find(ctx context.Context, q question, look func(*mappings) ([]mapping, error)) ([]mapping, error) {
	asked := time.Now()
	for {
		var miss error
		if known := m.known.Load(); known != nil {
			var found []mapping
			if found, miss = look(known); miss == nil {
				return found, nil
			}
			if !known.started.Before(asked) { // it is from after the question
				m.remember(q, failure{at: known.started, err: miss})
				return nil, miss
			}
		}
		if last, ok := m.recent(q); ok {
			if miss != nil {
				return nil, miss
			}
			return nil, last.err
		}
		started := time.Now()
		if err := m.discover(ctx); err != nil {
			if ctx.Err() == nil {
				m.remember(q, failure{at: started, err: err})
			}
			return nil, err
		}
	}
}

// recent returns the failure of a question that is too young to ask again.
func (m *Mapper) recent(q question) (failure, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.missed[q]
	return f, ok && time.Since(f.at) < missTTL
}

func (m *Mapper) remember(q question, f failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for old, f := range m.missed {
		if time.Since(f.at) >= missTTL {
			delete(m.missed, old)
		}
	}
	m.missed[q] = f
}

// discover asks the server, or waits for the goroutine that does it already. Nil
// means to look again, not that there is news.
func (m *Mapper) discover(ctx context.Context) error {
	m.mu.Lock()
	f := m.flight
	if f == nil {
		f = &flight{done: make(chan struct{})}
		m.flight = f
		m.mu.Unlock()
		m.fly(ctx, f)
		return f.err
	}
	m.mu.Unlock()
	select {
	case <-ctx.Done():
		return fmt.Errorf("discovery: %w", context.Cause(ctx))
	case <-f.done:
		if f.abandoned {
			return nil
		}
		return f.err
	}
}

// fly does one discovery in the goroutine of the question that needs it.
func (m *Mapper) fly(ctx context.Context, f *flight) {
	defer func() {
		m.mu.Lock()
		m.flight = nil
		m.mu.Unlock()
		close(f.done)
	}()
	started := time.Now()
	bounded, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	versions, err := m.discovery.load(bounded)
	if err != nil {
		f.err, f.abandoned = err, ctx.Err() != nil
		return
	}
	known := newMappings(started, versions, m.known.Load())
	m.known.Store(known)
	klog.FromContext(ctx).V(4).Info("Discovered the server's kinds",
		"versions", len(versions), "broken", len(known.broken), "took", time.Since(started))
}

func (m *Mapper) kinds(ctx context.Context, gk schema.GroupKind, versions []string) ([]mapping, error) {
	if gk.Kind == "" {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return m.find(ctx, question{group: gk.Group}, func(known *mappings) ([]mapping, error) {
		return known.kinds(gk, versions)
	})
}

func (m *Mapper) resources(ctx context.Context, partial schema.GroupVersionResource) ([]mapping, error) {
	if partial.Resource == "" {
		return nil, fmt.Errorf("REST mapper: no resource named in %v", partial)
	}
	q := question{group: partial.Group}
	if q.group == "" {
		q.resource = partial.Resource
	}
	return m.find(ctx, q, func(known *mappings) ([]mapping, error) { return known.byName(partial) })
}
