package conformance_test

import (
	"context"
	"errors"
	"flag"
	"testing"

	"governor/envtest"
	"governor/envtest/conformance"

	"k8s.io/client-go/tools/clientcmd"
)

var (
	update     = flag.Bool("update", false, "write what the real server answers into testdata")
	kubeconfig = flag.String("kubeconfig", "", "ask this cluster, instead of control planes of the test's own")
)

// Against the server in memory.
func TestConformance(t *testing.T) {
	conformance.Run(t, "testdata", func(*testing.T, conformance.Needs) conformance.Target {
		s := envtest.NewServer(&envtest.Options{RBAC: true})
		return conformance.Target{
			Config:  s.Config(),
			Compact: func(_ context.Context, rv string) error { return s.CompactTo(rv) },
		}
	}, nil)
}

// Against the real one, which is right.
func TestE2EConformance(t *testing.T) {
	planes := map[conformance.Needs]conformance.Target{}
	conformance.Run(t, "testdata", func(_ *testing.T, n conformance.Needs) conformance.Target {
		if _, started := planes[n]; !started && (*kubeconfig == "" || n.Compaction) {
			planes[n] = startPlane(t, n)
		} else if !started {
			planes[n] = existing(t)
		}
		return planes[n]
	}, &conformance.Options{Update: *update})
}

func existing(t *testing.T) conformance.Target {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return conformance.Target{Config: config, Reference: true}
}

// startPlane starts a control plane that all scripts with the same needs share. One that
// has to forget lets etcd forget everything after two seconds, and its own cache
// with a new start.
func startPlane(t *testing.T, n conformance.Needs) conformance.Target {
	o := &envtest.ControlPlaneOptions{ControllerManager: n.Controllers}
	if n.Compaction {
		o.APIServerFlags = []string{"--etcd-compaction-interval=1s"}
	}
	plane := envtest.RequireControlPlane(t, o)
	return conformance.Target{
		Config:    plane.Config(),
		Reference: true,
		Compact: func(ctx context.Context, _ string) error {
			return errors.Join(plane.KillAPIServer(), plane.StartAPIServer(ctx))
		},
	}
}
