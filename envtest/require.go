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
	requireStart(t, c.Start, c.Stop)
	return c
}

// requireStart starts something for as long as a test runs.
func requireStart(t TB, start func(context.Context) error, stop func() error) {
	t.Helper()
	// Before the start, since the test may end in it: by a panic, or Goexit.
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("%v", err)
		}
	})
	switch err := start(t.Context()); {
	case errors.Is(err, ErrBinariesMissing):
		t.Skipf("end-to-end test: %v", err)
	case err != nil:
		t.Fatalf("%v", err)
	}
}
