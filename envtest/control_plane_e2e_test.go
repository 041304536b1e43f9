package envtest_test

import (
	"testing"
	"time"

	"governor/envtest"
)

func TestE2EControlPlane(t *testing.T) {
	start := time.Now()
	c := envtest.RequireControlPlane(t, nil)
	t.Logf("ready after %v", time.Since(start))
	start = time.Now()
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("again after %v", time.Since(start))
	start = time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(start))
}
