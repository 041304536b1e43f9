package envtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// startAttempts is how often Start tries again when someone takes its ports.
const startAttempts = 5

// ControlPlaneOptions tunes a ControlPlane. The zero value, and nil, are ready
// to use.
type ControlPlaneOptions struct {
	// BinaryDir holds etcd, kube-apiserver and, if ControllerManager is set,
	// kube-controller-manager. Empty means $KUBEBUILDER_ASSETS, and if that is
	// empty too, bin/controlplane in the root of the module governor, which
	// "make controlplane" fills.
	BinaryDir string
	// APIServerFlags are flags for kube-apiserver, such as "--v=4". A flag that
	// the control plane sets as well replaces the control plane's.
	APIServerFlags []string
	// ControllerManager runs kube-controller-manager too: namespaces empty
	// themselves, owned objects are collected (those of a kind that has come
	// later, after up to half a minute), Deployments make Pods, service accounts
	// and their root CA appear. Without it none of that happens, the aggregated
	// ClusterRoles (admin, edit, view) have no rules, and the ServiceAccount
	// admission plugin is off.
	ControllerManager bool
	// StartTimeout limits Start and StartAPIServer. Zero means 2 minutes: it
	// takes 3 seconds on an idle machine, but tests share machines.
	StartTimeout time.Duration
	// StopTimeout is how long each process may take to end before it is killed.
	// Zero means 20 seconds.
	StopTimeout time.Duration
}

func (o *ControlPlaneOptions) orZero() ControlPlaneOptions {
	if o == nil {
		return ControlPlaneOptions{}
	}
	return *o
}

func (o *ControlPlaneOptions) startTimeout() time.Duration {
	return cmp.Or(o.StartTimeout, 2*time.Minute)
}

func (o *ControlPlaneOptions) stopTimeout() time.Duration {
	return cmp.Or(o.StopTimeout, 20*time.Second)
}

// ControlPlane is a real API server with its etcd, for tests: each has its own
// processes, ports, certificates and data, so that any number run side by side.
//
//	     Start                     KillAPIServer
//	new ───────► running ◄───────────────────────► no API server
//	 │             │          StartAPIServer           │
//	 └─────────────┴──────────── Stop ─────────────────┴──► stopped
//
// A Start that fails leaves it stopped. Its methods may be called from several
// goroutines; those that start and stop processes wait for each other.
type ControlPlane struct {
	options ControlPlaneOptions // a copy; its slice too

	mu        sync.Mutex        // guards all that follows, and that one starts or stops at a time
	begun     bool              // Start was called
	dataDir   string            // not empty from Start to Stop
	binaries  map[string]string // paths by name
	watchdog  *watchdog
	identity  *identity
	admin     *rest.Config // not nil once Start has succeeded
	etcd      *process
	apiServer *process // has ended after KillAPIServer
	manager   *process // nil unless asked for
	etcdPort  int
	apiPort   int
}

// NewControlPlane returns a control plane that is not running yet.
func NewControlPlane(o *ControlPlaneOptions) *ControlPlane {
	c := &ControlPlane{options: o.orZero()}
	c.options.APIServerFlags = slices.Clone(c.options.APIServerFlags)
	return c
}

// Start starts the processes and returns when the API server is ready and its
// default namespace exists. ctx limits the start, as StartTimeout does; it does
// not stop what has started: that is Stop's.
//
// A start that fails has stopped and removed everything; its error has the last
// output of the process that failed; it is ErrBinariesMissing if there was
// nothing to start, and says so if ctx or StartTimeout ended first. A ControlPlane starts once: for another, make another.
func (c *ControlPlane) Start(ctx context.Context) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun {
		return errors.New("start control plane: it has been started before: make a new one")
	}
	c.begun = true
	ctx, cancel := c.startContext(ctx)
	defer cancel()

	names := []string{etcdName, apiServerName}
	if c.options.ControllerManager {
		names = append(names, controllerManagerName)
	}
	if c.binaries, err = findBinaries(c.options.BinaryDir, names...); err != nil {
		return fmt.Errorf("start control plane: %w", err)
	}
	if err := c.startLocked(ctx); err != nil {
		c.admin = nil
		return fmt.Errorf("start control plane: %w", errors.Join(err, c.stopLocked()))
	}
	return nil
}

func (c *ControlPlane) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	t := c.options.startTimeout()
	return context.WithTimeoutCause(ctx, t, fmt.Errorf("StartTimeout of %v: %w", t, context.DeadlineExceeded))
}

// startLocked makes what the processes need, then starts them in order.
func (c *ControlPlane) startLocked(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "governor-envtest-")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	c.dataDir = dir
	if c.watchdog, err = newWatchdog(dir); err != nil {
		return err
	}
	if c.identity, err = newIdentity(dir); err != nil {
		return err
	}
	if err := c.onFreePorts(func() error { return c.startEtcdLocked(ctx) }); err != nil {
		return err
	}
	if err := c.onFreePorts(func() error {
		if c.apiPort, err = freePort(); err != nil {
			return err
		}
		return c.startAPIServerLocked(ctx)
	}); err != nil {
		return err
	}
	c.admin = c.identity.config(c.apiPort, c.identity.admin)
	if err := writeKubeconfig(c.kubeconfigPathLocked(), c.admin); err != nil {
		return err
	}
	if !c.options.ControllerManager {
		return nil
	}
	return c.startControllerManagerLocked(ctx)
}

// onFreePorts calls start again, which then takes other ports, for as long as
// others are quicker.
func (c *ControlPlane) onFreePorts(start func() error) error {
	for attempt := 1; ; attempt++ {
		err := start()
		if err == nil || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

// Stop ends the processes, in the reverse order of their start, removes their
// data, and returns when both are done. A process that does not end within
// StopTimeout is killed, with its children, and is in the error; so is one that
// had ended by itself. Before Start, after a Start that failed, and after Stop it
// does nothing.
func (c *ControlPlane) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stopLocked(); err != nil {
		return fmt.Errorf("stop control plane: %w", err)
	}
	return nil
}

func (c *ControlPlane) stopLocked() error {
	if c.dataDir == "" {
		return nil
	}
	var errs []error
	for _, p := range []*process{c.manager, c.apiServer, c.etcd} {
		errs = append(errs, p.stop(c.options.stopTimeout()))
	}
	errs = append(errs, os.RemoveAll(c.dataDir))
	if c.watchdog != nil {
		errs = append(errs, c.watchdog.release())
	}
	c.dataDir, c.watchdog = "", nil
	return errors.Join(errs...)
}

// Config returns a copy of the administrator's config, without client-side rate
// limit. It is nil unless Start has succeeded.
func (c *ControlPlane) Config() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return nil
	}
	return rest.CopyConfig(c.admin)
}

// KubeconfigPath is a kubeconfig file of the administrator, for kubectl and for
// programs under test. It exists while the control plane runs; it is empty
// otherwise.
func (c *ControlPlane) KubeconfigPath() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil || c.dataDir == "" {
		return ""
	}
	return c.kubeconfigPathLocked()
}

func (c *ControlPlane) kubeconfigPathLocked() string {
	return filepath.Join(c.dataDir, "kubeconfig")
}
