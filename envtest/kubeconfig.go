package envtest

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigName names the one cluster, user and context of a kubeconfig.
const kubeconfigName = "envtest"

// writeKubeconfig writes a config of ours as a file that stands alone, readable
// by us only.
func writeKubeconfig(path string, cfg *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters[kubeconfigName] = &clientcmdapi.Cluster{
		Server:                   cfg.Host,
		CertificateAuthorityData: cfg.CAData,
	}
	k.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
	}
	k.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	k.CurrentContext = kubeconfigName
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
