package conformance_test

import (
	"flag"
	"sync"
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
	conformance.Run(t, "testdata", func(t *testing.T, _ bool) conformance.Target {
		s := envtest.NewServer(&envtest.Options{RBAC: true})
		return conformance.Target{Config: s.Config()}
	}, nil)
}

// Against the real one, which is right.
func TestE2EConformance(t *testing.T) {
	var (
		mu     sync.Mutex
		planes = map[bool]*envtest.ControlPlane{}
	)
	conformance.Run(t, "testdata", func(_ *testing.T, controllers bool) conformance.Target {
		if *kubeconfig != "" {
			config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			config.QPS = -1
			return conformance.Target{Config: config, Reference: true}
		}
		mu.Lock()
		defer mu.Unlock()
		if planes[controllers] == nil {
			planes[controllers] = envtest.RequireControlPlane(t, &envtest.ControlPlaneOptions{ControllerManager: controllers})
		}
		return conformance.Target{Config: planes[controllers].Config(), Reference: true}
	}, &conformance.Options{Update: *update})
}
