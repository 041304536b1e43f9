package manager

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"governor/cache"
	"governor/client"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Manager starts everything in order, and stops it in the other. It holds what
// controllers share: a client, a cache, a recorder of events, metrics. Upstream's
// Manager and Cluster in one.
type Manager struct {
	config *rest.Config
	scheme *scheme.Scheme
	direct *client.Direct
	client client.Client
	cache  *cache.Cache
	logger klog.Logger // zero: whatever Start's context has
	grace  time.Duration

	metrics       *Metrics
	events        *eventSink
	healthz       *checks
	readyz        *checks
	healthServer  *Server // nil if off
	metricsServer *Server // nil if off

	elected chan struct{} // closed when the leaders may run
	failed  chan struct{} // closed when the first runnable has failed

	mu sync.Mutex
	// mu guards the fields below, and every Handle's state.
	state    state
	groups   [groupCount]group
	names    map[string]*Handle // of the runnables that have not ended
	failures []error            // in the order in which they came
}

// state is how far a Manager has come. It only ever grows.
type state int

const (
	fresh state = iota
	started
	stopping
)

// New returns a Manager of the API server that cfg names. It makes no request
// and binds no port. An address or option that makes no sense is an error that
// names it.
func New(cfg *rest.Config, o *Options) (*Manager, error) {
	if cfg == nil {
		return nil, errors.New("new manager: no rest.Config given: client.GetConfig finds one")
	}
	m := &Manager{
		config:  rest.CopyConfig(cfg),
		scheme:  o.scheme(),
		logger:  o.orZero().Logger,
		grace:   o.gracePeriod(),
		elected: make(chan struct{}),
		failed:  make(chan struct{}),
		names:   map[string]*Handle{},
	}
	var err error
	if m.direct, err = client.New(m.config, &client.Options{Scheme: m.scheme}); err != nil {
		return nil, fmt.Errorf("new manager: %w", err)
	}
	options := *o.orZero()
	if m.cache, err = cache.New(m.direct, &options.Cache); err != nil {
		return nil, fmt.Errorf("new manager: %w", err)
	}
	if m.client, err = client.NewDelegating(m.direct, m.cache, &options.Client); err != nil {
		return nil, fmt.Errorf("new manager: %w", err)
	}
	m.metrics = newMetrics()
	m.events = newEventSink(m.direct, m.GetLogger(), m.metrics)
	if err := m.newServers(o); err != nil {
		return nil, fmt.Errorf("new manager: %w", err)
	}
	m.addOwn(eventsGroup, m.events, "event recorder")
	m.addOwn(cachesGroup, m.cache, "cache")
	return m, nil
}

// newServers makes the servers that the options ask for.
func (m *Manager) newServers(o *Options) error {
	m.healthz = newChecks("healthz", map[string]Checker{"ping": Ping})
	m.readyz = newChecks("readyz", map[string]Checker{"caches": m.cachesReady})
	address, err := o.healthAddress()
	if err != nil {
		return err
	}
	if address != "" {
		m.healthServer = NewServer("health server", address, healthHandler(m.healthz, m.readyz))
		m.addOwn(serversGroup, m.healthServer, m.healthServer.Name())
	}
	if address, err = o.metricsAddress(); err != nil {
		return err
	}
	if address != "" {
		m.metricsServer = NewServer("metrics server", address, m.metrics.handler())
		m.addOwn(serversGroup, m.metricsServer, m.metricsServer.Name())
	}
	return nil
}

// GetClient reads from the cache and writes to the server.
func (m *Manager) GetClient() client.Client { return m.client }

// GetAPIReader reads from the server.
func (m *Manager) GetAPIReader() client.Reader { return m.direct }

// GetCache is the cache that GetClient reads from. The manager starts it.
func (m *Manager) GetCache() *cache.Cache { return m.cache }

// GetScheme maps kinds to Go types.
func (m *Manager) GetScheme() *scheme.Scheme { return m.scheme }

// GetRESTMapper maps kinds to resources, as the server's discovery says.
func (m *Manager) GetRESTMapper() meta.RESTMapper { return m.direct.RESTMapper() }

// GetConfig is a copy of the server's address and credentials.
func (m *Manager) GetConfig() *rest.Config { return rest.CopyConfig(m.config) }

// GetFieldIndexer declares indexes of the cache.
func (m *Manager) GetFieldIndexer() client.FieldIndexer { return m.cache }

// GetLogger is Options.Logger, or klog's logger when none was given. Within a
// Runnable use klog.FromContext.
func (m *Manager) GetLogger() klog.Logger {
	if m.logger.GetSink() == nil {
		return klog.Background()
	}
	return m.logger
}

// GetEventRecorder returns a recorder whose events say that the controller name
// reported them. A name is a qualified name, as in "replicator" or
// "example.com/replicator"; with any other the events are refused and logged.
func (m *Manager) GetEventRecorder(name string) *EventRecorder {
	return newEventRecorder(name, m.events)
}

// Metrics is what the manager's controllers are measured with.
func (m *Manager) Metrics() *Metrics { return m.metrics }

// Elected is closed when the runnables that need leadership may run. Without
// leader election that is when all else has started.
func (m *Manager) Elected() <-chan struct{} { return m.elected }

// AddHealthzCheck adds a check to /healthz, and serves it as /healthz/name. It
// works before Start and later. A name that is taken is an error, except that
// "ping" replaces the built-in check.
func (m *Manager) AddHealthzCheck(name string, check Checker) error {
	return m.healthz.add(name, check)
}

// AddReadyzCheck adds a check to /readyz, and serves it as /readyz/name. It
// works before Start and later. A name that is taken is an error, except that
// "caches" replaces the built-in check.
func (m *Manager) AddReadyzCheck(name string, check Checker) error {
	return m.readyz.add(name, check)
}

// HealthAddress is the host and port on which the health checks are served.
// Empty if they are not, or not yet: runnables other than servers see it.
func (m *Manager) HealthAddress() string { return m.healthServer.Address() }

// MetricsAddress is the host and port on which /metrics is served. Empty if it
// is not, or not yet: runnables other than servers see it.
func (m *Manager) MetricsAddress() string { return m.metricsServer.Address() }
