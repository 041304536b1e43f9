package envtest

import (
	"context"
	"path/filepath"
)

// startEtcdLocked starts etcd on a free port and waits until it serves.
func (c *ControlPlane) startEtcdLocked(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	i, url := c.identity, "https://"+loopback(port)
	p, err := startProcess(c.watchdog, c.dataDir, c.binaries[etcdName], []string{
		"--data-dir=" + filepath.Join(c.dataDir, "etcd"),
		"--unsafe-no-fsync", // the data does not outlive the test
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--cert-file=" + i.etcdCert,
		"--key-file=" + i.etcdKey,
		"--trusted-ca-file=" + i.etcdCA,
		"--client-cert-auth",
		"--listen-peer-urls=http://" + loopback(0), // there are no peers
		"--log-level=warn",
	})
	if err != nil {
		return err
	}
	c.etcd, c.etcdPort = p, port
	return waitServing(ctx, p, i.etcdClient, url+"/health")
}
