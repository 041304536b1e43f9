package manager

import (
	"context"

	"governor/cache"
	"governor/client"
	"governor/scheme"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Runnable is anything that a Manager runs: it blocks until ctx ends or it is done.
type Runnable interface {
	Start(ctx context.Context) error
}

// Options tunes a Manager. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// Cache tunes the cache that the client reads from.
	Cache cache.Options
	// HealthProbeBindAddress serves /healthz and /readyz; empty means not at all.
	HealthProbeBindAddress string
	// MetricsBindAddress serves /metrics; empty means not at all.
	MetricsBindAddress string
}

// Manager starts everything in order, and stops it in the other.
type Manager struct{}

// New returns a Manager of the API server that cfg names. It makes no request.
func New(cfg *rest.Config, o *Options) (*Manager, error) { panic("skeleton") }

// Add has the manager run r: now if it runs already, or when it starts.
func (m *Manager) Add(r Runnable) (*Handle, error) { panic("skeleton") }

// Start runs everything until ctx ends or a runnable fails.
func (m *Manager) Start(ctx context.Context) error { panic("skeleton") }

// GetClient reads from the cache and writes to the server.
func (m *Manager) GetClient() client.Client { panic("skeleton") }

// GetAPIReader reads from the server.
func (m *Manager) GetAPIReader() client.Reader { panic("skeleton") }

// GetCache is the cache.
func (m *Manager) GetCache() *cache.Cache { panic("skeleton") }

// GetScheme is the scheme.
func (m *Manager) GetScheme() *scheme.Scheme { panic("skeleton") }

// GetRESTMapper maps kinds to resources.
func (m *Manager) GetRESTMapper() meta.RESTMapper { panic("skeleton") }

// GetConfig is the server's address and credentials.
func (m *Manager) GetConfig() *rest.Config { panic("skeleton") }

// GetFieldIndexer declares indexes of the cache.
func (m *Manager) GetFieldIndexer() client.FieldIndexer { panic("skeleton") }

// GetLogger is the manager's logger.
func (m *Manager) GetLogger() klog.Logger { panic("skeleton") }

// GetEventRecorder returns a recorder that emits events under a reporting controller's name.
func (m *Manager) GetEventRecorder(name string) *EventRecorder { panic("skeleton") }

// Handle is a Runnable's place at a Manager.
type Handle struct{}

// Stop ends the runnable and waits for it, at most until ctx ends.
func (h *Handle) Stop(ctx context.Context) error { panic("skeleton") }

// Done is closed when the runnable has ended.
func (h *Handle) Done() <-chan struct{} { panic("skeleton") }

// Err is what the runnable returned; nil while it runs.
func (h *Handle) Err() error { panic("skeleton") }

// EventRecorder emits events.
type EventRecorder struct{}

// Event emits an event about an object. It never blocks.
func (r *EventRecorder) Event(obj client.Object, eventtype, reason, message string) { panic("skeleton") }

// Eventf is Event with a format.
func (r *EventRecorder) Eventf(obj client.Object, eventtype, reason, format string, args ...any) {
	panic("skeleton")
}
