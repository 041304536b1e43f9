package envtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/cert"
)

// certificateLife is longer than any test, and short enough that a key found
// in a forgotten directory is worthless.
const certificateLife = 7 * 24 * time.Hour

// authority is a certificate authority that lives as long as one control plane.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// pair is a certificate and its key, in PEM.
type pair struct {
	cert, key []byte
}

// newAuthority makes a CA with a fresh key.
func newAuthority(name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	c, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	return &authority{certificate: c, key: key}, nil
}

// pem is the CA's own certificate.
func (a *authority) pem() []byte { return certificatePEM(a.certificate.Raw) }

// server issues a certificate for a server on this machine's loopback, and on more
// addresses or names.
func (a *authority) server(name string, hosts ...string) (pair, error) {
	c := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		// etcd's gateway talks to its own server with the server's certificate.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else if host != "" {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	return a.issue(c)
}

// client issues a certificate that the API server takes for this user.
func (a *authority) client(user string, groups ...string) (pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue fills in what all certificates share, and signs.
func (a *authority) issue(template *x509.Certificate) (pair, error) {
	name := template.Subject.CommonName
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return pair{}, fmt.Errorf("certificate for %s: %w", name, err)
	}
	template.SerialNumber = serial
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = time.Now().Add(certificateLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("certificate for %s: %w", name, err)
	}
	keyPEM, err := privateKeyPEM(key)
	if err != nil {
		return pair{}, fmt.Errorf("certificate for %s: %w", name, err)
	}
	return pair{cert: certificatePEM(raw), key: keyPEM}, nil
}

// write puts the pair into two files and returns their names.
func (p pair) write(base string) (certFile, keyFile string, err error) {
	certFile, keyFile = base+".crt", base+".key"
	if err := writeFile(certFile, p.cert); err != nil {
		return "", "", err
	}
	return certFile, keyFile, writeFile(keyFile, p.key)
}

// writeFile writes what only we may read.
func writeFile(path string, content []byte) error {
	return os.WriteFile(path, content, 0o600)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return key, nil
}

func certificatePEM(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func privateKeyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), nil
}
