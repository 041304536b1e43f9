package envtest

import "context"

// startControllerManagerLocked starts kube-controller-manager and waits until
// its controllers do their work: the first that shows is the service account
// of the default namespace.
func (c *ControlPlane) startControllerManagerLocked(ctx context.Context) error {
	i := c.identity
	p, err := startProcess(c.watchdog, c.dataDir, c.binaries[controllerManagerName], []string{
		"--kubeconfig=" + c.kubeconfigPathLocked(),
		"--leader-elect=false", // there is only one
		"--secure-port=0",      // nobody asks it anything
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--root-ca-file=" + i.kubernetesCA,
		"--service-account-private-key-file=" + i.serviceAccountKey,
		"--cluster-signing-cert-file=" + i.kubernetesCA,
		"--cluster-signing-key-file=" + i.kubernetesCAKey,
		// There are no nodes, no cloud and no volumes to look after.
		"--controllers=*,-node-ipam-controller,-node-lifecycle-controller," +
			"-taint-eviction-controller,-persistentvolume-attach-detach-controller",
	})
	if err != nil {
		return err
	}
	c.manager = p
	return waitServing(ctx, p, c.admin.TLSClientConfig, c.admin.Host+"/api/v1/namespaces/default/serviceaccounts/default")
}
