package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"governor/client"
	"governor/envtest"
	"governor/scheme"

	"k8s.io/client-go/rest"
)

// settleTime is how long nothing is told before the next act begins.
const settleTime = 400 * time.Millisecond

// Stage is what the play needs.
type Stage struct {
	// Scheme knows v1alpha1 and the built-in kinds.
	Scheme *scheme.Scheme
	// Kubeconfig is a file; empty means $KUBECONFIG, and if that is empty too,
	// an API server of the play's own, in memory.
	Kubeconfig string
	// Real makes the play's own server a real etcd and kube-apiserver.
	Real bool
	// Out gets the lines.
	Out io.Writer
	// Replicator runs the replicator until ctx ends, and tells what happens.
	Replicator func(ctx context.Context, cfg *rest.Config, tell func(station, text string)) error
}

// Run plays until ctx ends, cleans up, and returns what broke, if anything did.
func Run(ctx context.Context, s *Stage) error {
	say := &script{out: s.Out, written: make(chan struct{}, 1)}
	server, err := s.server(ctx, say)
	if err != nil {
		return err
	}
	defer server.stop()
	c, err := client.New(server.config, &client.Options{Scheme: s.Scheme})
	if err != nil {
		return err
	}
	a := &actor{client: c, script: say, foreign: server.kubeconfig == ""}
	// Whatever happens, the actor leaves another's cluster as it was; a
	// server of our own is thrown away.
	defer a.leave(context.WithoutCancel(ctx))
	if err := a.setStage(ctx); err != nil {
		return unlessDone(ctx, err)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	replicator, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := s.Replicator(replicator, server.config, say.line)
		if err != nil {
			cancel(fmt.Errorf("the replicator ended: %w", err))
		}
		ended <- err
	}()
	err = unlessDone(ctx, a.play(ctx))
	if err == nil && ctx.Err() == nil {
		say.act(ctx, "now you, in another terminal (Ctrl-C ends it):")
		if server.kubeconfig != "" {
			say.line("", "export KUBECONFIG="+server.kubeconfig)
		}
		say.line("", "kubectl -n team-blue delete configmap settings")
		say.line("", "kubectl label namespace default copies=wanted")
		say.line("", "kubectl -n team-source describe replica settings")
		<-ctx.Done()
	}
	a.leave(context.WithoutCancel(ctx)) // while the replicator can still remove its copies
	stop()
	return errors.Join(err, <-ended)
}

// unlessDone leaves out an error that only says that ctx has ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// server is an API server to play on.
type server struct {
	config     *rest.Config
	kubeconfig string // of a server of the play's own; empty for another's
	stop       func() error
}

func (s *Stage) server(ctx context.Context, say *script) (*server, error) {
	switch {
	case s.Kubeconfig != "" || os.Getenv("KUBECONFIG") != "":
		cfg, err := client.GetConfig(s.Kubeconfig)
		if err != nil {
			return nil, err
		}
		say.line("story", "playing on the cluster at "+cfg.Host)
		return &server{config: cfg, stop: func() error { return nil }}, nil
	case s.Real:
		say.line("story", "starting an etcd and a kube-apiserver")
		plane := envtest.NewControlPlane(nil)
		if err := plane.Start(ctx); err != nil {
			return nil, errors.Join(err, plane.Stop())
		}
		say.line("story", "they serve at "+plane.Config().Host)
		return &server{config: plane.Config(), kubeconfig: plane.KubeconfigPath(), stop: plane.Stop}, nil
	}
	own, err := inMemory(s.Scheme)
	if err == nil {
		say.line("story", "an API server in memory serves at "+own.config.Host)
	}
	return own, err
}

// inMemory starts a server in memory on a port, so that kubectl can join in.
func inMemory(known *scheme.Scheme) (*server, error) {
	dir, err := os.MkdirTemp("", "governor-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the kubeconfig: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	listener, err := envtest.NewServer(&envtest.Options{Scheme: known}).Listen("127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	stop := func() error { return errors.Join(listener.Close(), remove()) }
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := listener.WriteKubeconfig(kubeconfig); err != nil {
		return nil, errors.Join(err, stop())
	}
	return &server{config: listener.Config(), kubeconfig: kubeconfig, stop: stop}, nil
}

// script prints lines from any goroutine.
type script struct {
	written chan struct{} // holds a token when a line was written since it was taken

	mu   sync.Mutex
	out  io.Writer // +checklocks:mu
	last string    // +checklocks:mu
}

// line prints a line, unless it is the last one again: an update is mapped to
// keys by its old and its new side, and both often lead to the same.
func (s *script) line(station, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("%-10s %s\n", station, text)
	if line == s.last {
		return
	}
	s.last = line
	fmt.Fprint(s.out, line)
	select {
	case s.written <- struct{}{}:
	default:
	}
}

// act begins the next act: when the echo of the one before has died away, so
// that a reader sees which line belongs to which.
func (s *script) act(ctx context.Context, text string) {
	quiet := time.NewTimer(settleTime)
	defer quiet.Stop()
	for settled := false; !settled; {
		select {
		case <-s.written:
			quiet.Reset(settleTime)
		case <-quiet.C:
			settled = true
		case <-ctx.Done():
			return
		}
	}
	s.mu.Lock()
	fmt.Fprintln(s.out)
	s.mu.Unlock()
	s.line("story", text)
}
