package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	// a control plane of the play's own.
	Kubeconfig string
	// Out gets the lines.
	Out io.Writer
	// Replicator runs the replicator until ctx ends, and tells what happens.
	Replicator func(ctx context.Context, cfg *rest.Config, tell func(station, text string)) error
}

// Run plays until ctx ends, cleans up, and returns what broke, if anything did.
func Run(ctx context.Context, s *Stage) error {
	say := &script{out: s.Out, written: make(chan struct{}, 1)}
	cfg, own, err := s.server(ctx, say)
	if err != nil {
		return err
	}
	if own != nil {
		defer own.Stop()
	}
	c, err := client.New(cfg, &client.Options{Scheme: s.Scheme})
	if err != nil {
		return err
	}
	a := &actor{client: c, script: say, foreign: own == nil}
	// Whatever happens, the actor leaves another's cluster as it was; a
	// control plane of our own is thrown away.
	defer a.leave(context.WithoutCancel(ctx))
	if err := a.setStage(ctx); err != nil {
		return unlessDone(ctx, err)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	replicator, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := s.Replicator(replicator, cfg, say.line)
		if err != nil {
			cancel(fmt.Errorf("the replicator ended: %w", err))
		}
		ended <- err
	}()
	err = unlessDone(ctx, a.play(ctx))
	if err == nil && ctx.Err() == nil {
		say.act(ctx, "now you, in another terminal (Ctrl-C ends it):")
		if own != nil {
			say.line("", "export KUBECONFIG="+own.KubeconfigPath())
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

// server returns the API server to play on, and the control plane if it is the play's own.
func (s *Stage) server(ctx context.Context, say *script) (*rest.Config, *envtest.ControlPlane, error) {
	if s.Kubeconfig != "" || os.Getenv("KUBECONFIG") != "" {
		cfg, err := client.GetConfig(s.Kubeconfig)
		if err != nil {
			return nil, nil, err
		}
		say.line("story", "playing on the cluster at "+cfg.Host)
		return cfg, nil, nil
	}
	say.line("story", "starting an etcd and a kube-apiserver")
	own := envtest.NewControlPlane(nil)
	if err := own.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, own.Stop())
	}
	say.line("story", "they serve at "+own.Config().Host)
	return own.Config(), own, nil
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
