package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"governor/client"
	"governor/envtest"
	"governor/scheme"

	"k8s.io/client-go/rest"
)

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
	say := &script{out: s.Out}
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
	if err == nil {
		if own != nil {
			say.line("story", "now you, in another terminal:   export KUBECONFIG="+own.KubeconfigPath())
		}
		say.line("story", "try: kubectl -n team-blue delete configmap settings;  kubectl label namespace default copies=wanted")
		say.line("story", "Ctrl-C ends it")
		<-ctx.Done()
	}
	say.line("story", "the end")
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
	mu  sync.Mutex // guards out
	out io.Writer
}

func (s *script) line(station, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%-10s %s\n", station, text)
}
