package manager

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	// Limits against clients that are slow, idle or greedy. Upstream's.
	readHeaderTimeout = 32 * time.Second
	idleTimeout       = 90 * time.Second
	maxHeaderBytes    = 1 << 20

	// drain is how long the requests that are being answered may take when the
	// server stops.
	drain = 2 * time.Second
)

// Server is a Runnable that serves HTTP, in every replica, from before the
// caches sync until after the controllers have ended.
type Server struct {
	name   string
	http   *http.Server
	bound  chan struct{} // closed when listening
	ending chan struct{} // closed when Start has returned

	mu sync.Mutex
	// mu guards the fields below.
	started bool
	address string // as asked for, then as bound
}

// NewServer returns a Server of handler at address, as in ":8080". The port is
// bound by Start, whose error names the address if that cannot be; port 0 means any
// free one.
func NewServer(name, address string, handler http.Handler) *Server {
	return &Server{
		name: name, address: address,
		bound: make(chan struct{}), ending: make(chan struct{}),
		http: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
		},
	}
}

// Name is the name given to NewServer.
func (s *Server) Name() string { return s.name }

// Address is the host and port at which the server listens; empty before it does,
// and for a nil Server.
func (s *Server) Address() string {
	if s == nil {
		return ""
	}
	select {
	case <-s.bound:
	default:
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Start serves until ctx ends. Then no connection is accepted any more, and the
// requests that are being answered have 2 seconds. A Server starts once.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	again, address := s.started, s.address
	s.started = true
	s.mu.Unlock()
	if again {
		return errors.New("the server was started already: make a new one")
	}
	defer close(s.ending)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", address, err)
	}
	s.mu.Lock()
	s.address = listener.Addr().String()
	s.mu.Unlock()
	close(s.bound)

	logger := klog.FromContext(ctx)
	base := context.WithoutCancel(ctx)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	s.http.ErrorLog = log.New(logWriter{logger}, "", 0)
	logger.Info("Serving", "address", listener.Addr().String())
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	select {
	case err = <-served: // it broke, or was aborted
	case <-ctx.Done():
		ctx, cancel := context.WithTimeout(base, drain)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			s.abort()
		}
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve on %q: %w", address, err)
}

// abort closes the listener and every connection.
func (s *Server) abort() { _ = s.http.Close() }

// waitListening returns nil when the server listens.
func (s *Server) waitListening(ctx context.Context) error {
	select {
	case <-s.bound:
		return nil
	case <-s.ending:
		return errors.New("the server has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logWriter logs the lines that net/http writes.
type logWriter struct{ logger klog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.logger.Info("HTTP server", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
