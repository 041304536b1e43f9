package server

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// trusting is a client that trusts what ca signed.
func trusting(ca []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
	}}
}
