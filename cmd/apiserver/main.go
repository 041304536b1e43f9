// Command apiserver serves an API server in memory, for kubectl and for play. What
// is in it is gone when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"governor/client"
	"governor/envtest"
	"governor/manager"

	"k8s.io/klog/v2"
)

// flags are what the command line says.
type flags struct {
	listen, kubeconfig string
	crds               paths
	rbac               bool
}

// paths is a flag that may be given several times.
type paths []string

func (p *paths) String() string         { return fmt.Sprint([]string(*p)) }
func (p *paths) Set(value string) error { *p = append(*p, value); return nil }

func main() {
	ctx, stop := manager.SignalContext(context.Background())
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

// run is the program. It returns when ctx has ended and the port is closed.
func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	f, err := parse(args, errOut)
	if err != nil {
		return err
	}
	server := envtest.NewServer(&envtest.Options{RBAC: f.rbac})
	if err := install(ctx, server, f.crds); err != nil {
		return err
	}
	listener, err := server.Listen(f.listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	kubeconfig, err := writeKubeconfig(listener, f.kubeconfig)
	if err != nil {
		return err
	}
	if f.kubeconfig == "" {
		defer os.RemoveAll(filepath.Dir(kubeconfig))
	} else {
		defer os.Remove(kubeconfig)
	}
	fmt.Fprintf(out, `An API server in memory, at %s.

  export KUBECONFIG=%s
  kubectl get namespaces

Ctrl-C ends it; nothing is kept.
`, listener.Config().Host, kubeconfig)
	<-ctx.Done()
	return nil
}

func parse(args []string, errOut io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error is printed by main, in one line
	set.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to serve at; port 0 is any that is free")
	set.StringVar(&f.kubeconfig, "kubeconfig-out", "", "`file` for the administrator's kubeconfig, removed at the end; default: one in a new directory")
	set.Var(&f.crds, "crd", "file or directory of CustomResourceDefinitions to install; may be given several times")
	set.BoolVar(&f.rbac, "rbac", false, "refuse what no Role allows")
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	set.Var(logging.Lookup("v").Value, "v", "log verbosity `level`: 1 tells of each request")
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(errOut)
		set.Usage()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: see apiserver -h", err)
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: see apiserver -h", set.Arg(0))
	}
	return f, nil
}

// install installs CRDs before anybody can ask.
func install(ctx context.Context, server *envtest.Server, paths []string) error {
	crds, err := envtest.ReadCRDs(paths...)
	if err != nil || len(crds) == 0 {
		return err
	}
	c, err := client.New(server.Config(), nil)
	if err != nil {
		return err
	}
	return envtest.InstallCRDs(ctx, c, crds...)
}

// writeKubeconfig returns where it has written it.
func writeKubeconfig(l *envtest.Listener, path string) (string, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "governor-apiserver-")
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, "kubeconfig")
	}
	return path, l.WriteKubeconfig(path)
}
