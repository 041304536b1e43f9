package envtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// KillAPIServer kills kube-apiserver with SIGKILL, as a crash would, and returns
// when it is gone: connections break, and new ones are refused until
// StartAPIServer. etcd keeps what was written.
func (c *ControlPlane) KillAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataDir == "" || c.apiServer == nil || !c.apiServer.running() {
		return errors.New("kill kube-apiserver: it is not running")
	}
	c.apiServer.kill()
	return nil
}

// StartAPIServer starts kube-apiserver again after KillAPIServer, on the same
// port, with the same certificates and data, and returns when it is ready. ctx and
// StartTimeout limit that. When it fails, the control plane still has to be stopped.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataDir == "" || c.admin == nil {
		return errors.New("start kube-apiserver: the control plane is not running")
	}
	if c.apiServer.running() {
		return errors.New("start kube-apiserver: it is running")
	}
	ctx, cancel := c.startContext(ctx)
	defer cancel()
	// Should someone have our port, to try again is all we can do: clients know it.
	if err := c.onFreePorts(func() error { return c.startAPIServerLocked(ctx) }); err != nil {
		return fmt.Errorf("start kube-apiserver: %w", err)
	}
	return nil
}

// startAPIServerLocked starts kube-apiserver on c.apiPort and waits until it is
// ready and has made the default namespace.
func (c *ControlPlane) startAPIServerLocked(ctx context.Context) error {
	flags := mergeFlags(c.apiServerFlagsLocked(), c.options.APIServerFlags)
	p, err := startProcess(c.watchdog, c.dataDir, c.binaries[apiServerName], flags)
	if err != nil {
		return err
	}
	c.apiServer = p
	admin := c.identity.config(c.apiPort, c.identity.admin)
	return waitServing(ctx, p, admin.TLSClientConfig,
		admin.Host+"/readyz", admin.Host+"/api/v1/namespaces/default")
}

func (c *ControlPlane) apiServerFlagsLocked() []string {
	i := c.identity
	flags := []string{
		"--etcd-servers=https://" + loopback(c.etcdPort),
		"--etcd-cafile=" + i.etcdCA,
		"--etcd-certfile=" + i.etcdClientCert,
		"--etcd-keyfile=" + i.etcdClientKey,

		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--tls-cert-file=" + i.serverCert,
		"--tls-private-key-file=" + i.serverKey,

		"--client-ca-file=" + i.kubernetesCA,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + i.serviceAccountKey,
		"--service-account-signing-key-file=" + i.serviceAccountKey,

		"--service-cluster-ip-range=10.96.0.0/16",
		"--endpoint-reconciler-type=none", // a loopback address cannot be an endpoint
		"--allow-privileged=true",

		// On SIGTERM, end the watches too. By default they may run to their end,
		// which is up to an hour, and a stop would have to kill.
		"--shutdown-watch-termination-grace-period=1s",
	}
	if !c.options.ControllerManager {
		// The plugin refuses Pods whose service account does not exist, and
		// nobody would make the default ones.
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	return flags
}

// mergeFlags is flags, with those left out that extra has too, and extra. They
// have to be left out because a list flag that is given twice adds up.
func mergeFlags(flags, extra []string) []string {
	replaced := make(map[string]bool)
	for _, f := range extra {
		replaced[flagName(f)] = true
	}
	var merged []string
	for _, f := range flags {
		if !replaced[flagName(f)] {
			merged = append(merged, f)
		}
	}
	return append(merged, extra...)
}

func flagName(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	return name
}
