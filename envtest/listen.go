package envtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// closeTimeout is how long Close waits for requests whose contexts have ended.
const closeTimeout = 10 * time.Second

// Listener serves a Server on a port, over TLS, with HTTP/2.
type Listener struct {
	config *rest.Config
	secure *secureServer
}

// Listen serves the server on an address: "127.0.0.1:0", say, for any free port of this
// machine. Its certificate is made for the address and for localhost, and signed by an authority that
// lives as long as the Listener. Close has to be called.
func (s *Server) Listen(address string) (*Listener, error) {
	secure, err := listenSecurely(address, s)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &Listener{
		secure: secure,
		config: &rest.Config{
			Host:            secure.url,
			QPS:             -1,
			BearerToken:     s.admin.BearerToken,
			TLSClientConfig: rest.TLSClientConfig{CAData: secure.ca},
		},
	}, nil
}

// Config returns the administrator's config for the port. With the BearerToken of another
// config (AddUser) it is that user's.
func (l *Listener) Config() *rest.Config { return rest.CopyConfig(l.config) }

// WriteKubeconfig writes the administrator's kubeconfig into a file that only we may
// read: for kubectl, and for programs under test.
func (l *Listener) WriteKubeconfig(path string) error { return writeKubeconfig(path, l.config) }

// Close ends all requests, watches too, closes the port, and returns when both are done. The
// server itself goes on.
func (l *Listener) Close() error {
	if err := l.secure.close(); err != nil {
		return fmt.Errorf("close listener: %w", err)
	}
	return nil
}

// secureServer serves a handler over TLS, with a certificate of its own.
type secureServer struct {
	url    string
	ca     []byte
	server *http.Server
	cancel context.CancelFunc // ends the requests
	served chan error         // what Serve has returned

	once sync.Once
	err  error // what close has returned; once guards it
}

func listenSecurely(address string, h http.Handler) (*secureServer, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s, err := newSecureServer(l, h)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() { s.served <- s.server.ServeTLS(l, "", "") }()
	return s, nil
}

func newSecureServer(l net.Listener, h http.Handler) (*secureServer, error) {
	bound := l.Addr().(*net.TCPAddr)
	host := bound.IP.String()
	if bound.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	authority, err := newAuthority("governor-envtest")
	if err != nil {
		return nil, err
	}
	pair, err := authority.server("governor-envtest", host)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &secureServer{
		url:    "https://" + net.JoinHostPort(host, fmt.Sprint(bound.Port)),
		ca:     authority.pem(),
		cancel: cancel,
		served: make(chan error, 1),
		server: &http.Server{
			Handler:           h,
			TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: time.Minute,
			ErrorLog:          log.New(io.Discard, "", 0), // of clients that go away
		},
	}, nil
}

// close may be called again, and then says the same.
func (s *secureServer) close() error {
	s.once.Do(func() {
		s.cancel()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		s.err = s.server.Shutdown(ctx)
		if s.err != nil {
			s.err = errors.Join(s.err, s.server.Close())
		}
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
			s.err = errors.Join(s.err, err)
		}
	})
	return s.err
}
