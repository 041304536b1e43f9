package manager

import (
	"cmp"
	"fmt"
	"net"
	"time"

	"governor/cache"
	"governor/client"
	"governor/scheme"

	"k8s.io/klog/v2"
)

// Options tunes a Manager. The zero value, and nil, are ready to use.
type Options struct {
	// Scheme maps kinds to Go types; nil means scheme.Builtin().
	Scheme *scheme.Scheme
	// Cache tunes the cache that the client reads from.
	Cache cache.Options
	// Client tunes the client that reads from the cache.
	Client client.DelegatingOptions
	// Logger is what the manager and its runnables log to. The zero Logger means
	// the one in the context that Start is given.
	Logger klog.Logger
	// HealthProbeBindAddress serves /healthz and /readyz, as in ":8081". Empty, or
	// "0", means not at all; port 0 means any free one, see Manager.HealthAddress.
	HealthProbeBindAddress string
	// MetricsBindAddress serves /metrics over plain HTTP, as in ":8080". Empty, or
	// "0", means not at all; port 0 means any free one, see Manager.MetricsAddress.
	MetricsBindAddress string
	// GracefulShutdownTimeout is how long the runnables may take to stop, all
	// together. Nil means 30 seconds; zero means that nobody is waited for;
	// negative means for ever.
	GracefulShutdownTimeout *time.Duration
}

// defaultGracePeriod fits into the 30 seconds that a pod has by default.
const defaultGracePeriod = 30 * time.Second

func (o *Options) orZero() *Options { return cmp.Or(o, &Options{}) }

func (o *Options) scheme() *scheme.Scheme {
	if s := o.orZero().Scheme; s != nil {
		return s
	}
	return scheme.Builtin()
}

func (o *Options) gracePeriod() time.Duration {
	if d := o.orZero().GracefulShutdownTimeout; d != nil {
		return *d
	}
	return defaultGracePeriod
}

func (o *Options) healthAddress() (string, error) {
	return bindAddress("HealthProbeBindAddress", o.orZero().HealthProbeBindAddress)
}

func (o *Options) metricsAddress() (string, error) {
	return bindAddress("MetricsBindAddress", o.orZero().MetricsBindAddress)
}

// bindAddress finds mistakes in an address before anything is started. It does
// not resolve the host: that may ask a name server.
func bindAddress(field, address string) (string, error) {
	if address == "" || address == "0" {
		return "", nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", fmt.Errorf("%s %q is no address to listen on, use host:port or :port: %w", field, address, err)
	}
	return address, nil
}
