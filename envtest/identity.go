package envtest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"
)

// administrators is the group that RBAC lets do everything.
const administrators = "system:masters"

// identity is who trusts whom in one control plane:
//
//	CA "etcd"        signs  etcd's server certificate, the API server's client certificate
//	CA "kubernetes"  signs  the API server's server certificate, a client certificate per user
//	service accounts        a key of its own
//
// So nothing but this API server talks to this etcd, and nobody takes a server
// on a port that was ours for ours.
type identity struct {
	kubernetes *authority
	admin      pair

	// Files in the data directory.
	etcdCA, etcdCert, etcdKey           string
	etcdClientCert, etcdClientKey       string
	kubernetesCA, serverCert, serverKey string
	kubernetesCAKey, serviceAccountKey  string
	etcdClient                          rest.TLSClientConfig // for the readiness check
}

// newIdentity makes all keys and certificates, and writes them into dir.
func newIdentity(dir string) (*identity, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	etcd, err := newAuthority("etcd")
	if err != nil {
		return nil, err
	}
	kubernetes, err := newAuthority("kubernetes")
	if err != nil {
		return nil, err
	}
	i := &identity{
		kubernetes:        kubernetes,
		etcdCA:            in("etcd-ca.crt"),
		kubernetesCA:      in("ca.crt"),
		kubernetesCAKey:   in("ca.key"),
		serviceAccountKey: in("service-accounts.key"),
	}
	etcdServer, err1 := etcd.server("etcd")
	etcdClient, err2 := etcd.client(apiServerName)
	apiServer, err3 := kubernetes.server(apiServerName)
	admin, err4 := kubernetes.client("admin", administrators)
	accounts, err5 := newKey()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	accountsKey, err1 := privateKeyPEM(accounts)
	caKey, err2 := privateKeyPEM(kubernetes.key)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	i.admin = admin
	i.etcdClient = rest.TLSClientConfig{CAData: etcd.pem(), CertData: etcdClient.cert, KeyData: etcdClient.key}

	i.etcdCert, i.etcdKey, err1 = etcdServer.write(in("etcd-server"))
	i.etcdClientCert, i.etcdClientKey, err2 = etcdClient.write(in("etcd-client"))
	i.serverCert, i.serverKey, err3 = apiServer.write(in("server"))
	return i, errors.Join(err1, err2, err3,
		writeFile(i.etcdCA, etcd.pem()),
		writeFile(i.kubernetesCA, kubernetes.pem()),
		writeFile(i.kubernetesCAKey, caKey),
		writeFile(i.serviceAccountKey, accountsKey))
}

// config is how the owner of a client certificate reaches the API server.
func (i *identity) config(port int, user pair) *rest.Config {
	return &rest.Config{
		Host: "https://" + loopback(port),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   i.kubernetes.pem(),
			CertData: slices.Clone(user.cert),
			KeyData:  slices.Clone(user.key),
		},
	}
}
