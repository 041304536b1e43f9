// Command demo is the replicator: it keeps copies of ConfigMaps and Secrets in
// the namespaces that Replicas choose.
//
// With --play it tells a story on an API server of its own, in memory, or on the
// cluster that KUBECONFIG or --kubeconfig names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"governor/cache"
	"governor/client"
	"governor/cmd/demo/play"
	"governor/cmd/demo/replicator"
	"governor/cmd/demo/v1alpha1"
	"governor/manager"
	"governor/scheme"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// flags are what the command line says.
type flags struct {
	kubeconfig, namespace, metrics, health string
	play, real                             bool
}

func main() {
	ctx, stop := manager.SignalContext(context.Background())
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run is the program. It returns when ctx has ended and everything has stopped.
func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	f, err := parse(args, errOut)
	if err != nil {
		return err
	}
	s := scheme.Builtin()
	if err := s.Install(v1alpha1.AddToScheme); err != nil {
		return err
	}
	if f.play {
		return play.Run(ctx, &play.Stage{
			Scheme: s, Kubeconfig: f.kubeconfig, Real: f.real, Out: out,
			Replicator: func(ctx context.Context, cfg *rest.Config, tell func(station, text string)) error {
				return replicate(ctx, cfg, s, f, &replicator.Options{Tell: tell})
			},
		})
	}
	cfg, err := client.GetConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	return replicate(ctx, cfg, s, f, nil)
}

func parse(args []string, errOut io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("demo", flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error is printed by main, in one line
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file`; default: $KUBECONFIG, the pod's own account, ~/.kube/config")
	set.StringVar(&f.namespace, "namespace", "", "serve only the Replicas of this `namespace`; default: of all")
	set.StringVar(&f.metrics, "metrics", "", "`address` of /metrics, such as 127.0.0.1:8080; default: none")
	set.StringVar(&f.health, "health", "", "`address` of /healthz and /readyz, such as 127.0.0.1:8081; default: none")
	set.BoolVar(&f.play, "play", false, "tell a story: set the stage, act on it, and print what happens")
	set.BoolVar(&f.real, "real", false, "play on a real etcd and kube-apiserver, which 'make controlplane' builds, not on a server in memory")
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	set.Var(logging.Lookup("v").Value, "v", "log verbosity `level`: 1 tells of each event, reconcile and write")
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(errOut)
		set.Usage()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: see demo -h", err)
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: see demo -h", set.Arg(0))
	}
	return f, nil
}

// replicate runs the replicator until ctx ends.
func replicate(ctx context.Context, cfg *rest.Config, s *scheme.Scheme, f *flags, o *replicator.Options) error {
	options := &manager.Options{Scheme: s, HealthProbeBindAddress: f.health, MetricsBindAddress: f.metrics}
	if f.namespace != "" {
		options.Cache.ByObject = map[client.Object]cache.ByObject{
			&v1alpha1.Replica{}: {Namespaces: map[string]cache.Config{f.namespace: {}}},
		}
	}
	mgr, err := manager.New(cfg, options)
	if err != nil {
		return err
	}
	if err := replicator.Setup(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
