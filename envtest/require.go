package envtest

import (
	"context"
	"errors"
)

// TB is the part of testing.TB that RequireControlPlane needs, so that programs
// that use this package do not link package testing.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// RequireControlPlane starts a control plane that stops when the test ends. It
// skips the test if the binaries are missing, and fails it if they do not start, or
// do not stop.
func RequireControlPlane(t TB, o *ControlPlaneOptions) *ControlPlane {
	t.Helper()
	c := NewControlPlane(o)
	// Before Start, since the test may end in it: by a panic, or Goexit.
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("%v", err)
		}
	})
	switch err := c.Start(t.Context()); {
	case errors.Is(err, ErrBinariesMissing):
		t.Skipf("end-to-end test: %v", err)
	case err != nil:
		t.Fatalf("%v", err)
	}
	return c
}
