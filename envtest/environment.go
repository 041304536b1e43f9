package envtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"governor/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Cluster says what an Environment runs on.
type Cluster int

// What an Environment runs on. FromVariables comes first.
const (
	// FromVariables is ExistingCluster if $USE_EXISTING_CLUSTER is true, RealControlPlane if
	// $GOVERNOR_CONTROLPLANE is, InMemory otherwise.
	FromVariables Cluster = iota
	// InMemory is a Server.
	InMemory
	// RealControlPlane is a ControlPlane.
	RealControlPlane
	// ExistingCluster is the one of $KUBECONFIG, or ~/.kube/config, or of the Pod that we are in.
	ExistingCluster
)

// The variables that choose a cluster.
const (
	existingVariable     = "USE_EXISTING_CLUSTER"
	controlPlaneVariable = "GOVERNOR_CONTROLPLANE"
)

// EnvironmentOptions says what an Environment has. The zero value, and nil, are ready to use.
type EnvironmentOptions struct {
	// Cluster is what it runs on; zero leaves that to the environment's variables.
	Cluster Cluster
	// Server tunes the server in memory.
	Server *Options
	// ControlPlane tunes the real one.
	ControlPlane *ControlPlaneOptions
	// CRDs are installed at the start, and so are those in files or directories; see ReadCRDs.
	CRDs     []*unstructured.Unstructured
	CRDPaths []string
	// Webhooks are Mutating- and ValidatingWebhookConfigurations, installed
	// after the CRDs, and so are those in files or directories; see ReadWebhooks.
	Webhooks     []*unstructured.Unstructured
	WebhookPaths []string
	// WebhookHandler answers these webhooks and the conversion webhooks of the
	// CRDs, at their paths, wherever their manifests say they are: in process, or
	// for a real server on a port of this machine with a certificate of its own.
	// nil leaves the manifests as they are.
	WebhookHandler http.Handler
}

func (o *EnvironmentOptions) orZero() EnvironmentOptions {
	if o == nil {
		return EnvironmentOptions{}
	}
	return *o
}

// Environment is a cluster for tests, with their CRDs and webhooks: one that costs
// nothing by default, or else a real one.
type Environment struct {
	options EnvironmentOptions // a copy

	mu       sync.Mutex // guards all that follows, and that one starts or stops at a time
	begun    bool
	config   *rest.Config // not nil from Start to Stop
	server   *Server
	plane    *ControlPlane
	webhooks *secureServer                // where a real server finds the handler
	undo     []*unstructured.Unstructured // webhooks that point at it
}

// NewEnvironment returns an environment that is not running yet.
func NewEnvironment(o *EnvironmentOptions) *Environment { return &Environment{options: o.orZero()} }

// Start starts it, and returns when its CRDs are served and its webhooks are
// there. ctx limits the start. One that fails has stopped everything; an
// environment starts once. A real server may take a second to notice webhooks.
func (e *Environment) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		return errors.New("start environment: it has been started before: make a new one")
	}
	e.begun = true
	if err := e.startLocked(ctx); err != nil {
		return fmt.Errorf("start environment: %w", errors.Join(err, e.stopLocked(ctx)))
	}
	return nil
}

func (e *Environment) startLocked(ctx context.Context) error {
	crds, err := ReadCRDs(e.options.CRDPaths...)
	if err != nil {
		return err
	}
	webhooks, err := ReadWebhooks(e.options.WebhookPaths...)
	if err != nil {
		return err
	}
	if err := e.startClusterLocked(ctx); err != nil {
		return err
	}
	if err := e.serveWebhooksLocked(); err != nil {
		return err
	}
	c, err := client.New(e.config, nil)
	if err != nil {
		return err
	}
	crds = e.redirectLocked(slices.Concat(crds, e.options.CRDs))
	if err := InstallCRDs(ctx, c, crds...); err != nil {
		return err
	}
	webhooks = e.redirectLocked(slices.Concat(webhooks, e.options.Webhooks))
	if e.webhooks != nil {
		e.undo = webhooks
	}
	return installWebhooks(ctx, c, webhooks...)
}

// startClusterLocked sets config, and what it is of.
func (e *Environment) startClusterLocked(ctx context.Context) error {
	cluster, err := chosenCluster(e.options.Cluster)
	if err != nil {
		return err
	}
	switch cluster {
	case RealControlPlane:
		e.plane = NewControlPlane(e.options.ControlPlane)
		if err := e.plane.Start(ctx); err != nil {
			return err
		}
		e.config = e.plane.Config()
	case ExistingCluster:
		if e.config, err = client.GetConfig(""); err != nil {
			return fmt.Errorf("existing cluster: %w", err)
		}
	default:
		e.server = NewServer(e.options.Server)
		e.config = e.server.Config()
	}
	return nil
}

// chosenCluster asks the environment's variables if nobody else has said.
func chosenCluster(c Cluster) (Cluster, error) {
	if c != FromVariables {
		return c, nil
	}
	for _, v := range []struct {
		name    string
		cluster Cluster
	}{{existingVariable, ExistingCluster}, {controlPlaneVariable, RealControlPlane}} {
		value := os.Getenv(v.name)
		if value == "" {
			continue
		}
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return 0, fmt.Errorf("$%s is %q: it has to be true or false", v.name, value)
		}
		if yes {
			return v.cluster, nil
		}
	}
	return InMemory, nil
}

// Stop ends what Start has started, and returns when that is done. In an existing
// cluster it removes the webhooks that point at this process, and leaves the
// CRDs. Before Start and after Stop it does nothing.
func (e *Environment) Stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.stopLocked(context.Background()); err != nil {
		return fmt.Errorf("stop environment: %w", err)
	}
	return nil
}

func (e *Environment) stopLocked(ctx context.Context) error {
	var errs []error
	if e.plane == nil && e.server == nil && e.config != nil {
		errs = append(errs, e.uninstallLocked(ctx))
	}
	if e.plane != nil {
		errs = append(errs, e.plane.Stop())
	}
	if e.webhooks != nil {
		errs = append(errs, e.webhooks.close())
	}
	e.config, e.server, e.plane, e.webhooks, e.undo = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}

// Config returns a copy of the administrator's config; nil unless it is running.
func (e *Environment) Config() *rest.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.config == nil {
		return nil
	}
	return rest.CopyConfig(e.config)
}

// Server returns the server in memory, for faults and for what it has been asked; nil if it
// runs on something else.
func (e *Environment) Server() *Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.server
}

// AddUser returns a config for another user. In an existing cluster that is the
// administrator, impersonating.
func (e *Environment) AddUser(name string, groups ...string) (*rest.Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.config == nil:
		return nil, fmt.Errorf("add user %s: the environment is not running", name)
	case e.server != nil:
		return e.server.AddUser(name, groups...), nil
	case e.plane != nil:
		return e.plane.AddUser(name, groups...)
	}
	cfg := rest.CopyConfig(e.config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return cfg, nil
}

// RequireEnvironment starts an environment that stops when the test ends. It skips the test
// if the binaries of a real control plane are missing, and fails it if it does not start, or stop.
func RequireEnvironment(t TB, o *EnvironmentOptions) *Environment {
	t.Helper()
	e := NewEnvironment(o)
	requireStart(t, e.Start, e.Stop)
	return e
}
