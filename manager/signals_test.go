package manager_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"governor/manager"
)

func TestFirstSignalEndsTheContext(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, stop := manager.SignalContext(t.Context())
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		wantError(t, context.Cause(ctx), s.String())
		stop()
		stop()
	}
}

func TestStopEndsTheContext(t *testing.T) {
	ctx, stop := manager.SignalContext(t.Context())
	if ctx.Err() != nil {
		t.Error("ended at once")
	}
	stop()
	if ctx.Err() == nil {
		t.Error("not ended")
	}
	parent, cancel := context.WithCancel(t.Context())
	ctx, stop = manager.SignalContext(parent)
	defer stop()
	cancel()
	<-ctx.Done()
}

// The second signal cannot be tried out in this process.
func TestSecondSignalExits(t *testing.T) {
	if os.Getenv("TEST_SIGNALS") != "" {
		ctx, _ := manager.SignalContext(context.Background())
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-ctx.Done()
		fmt.Println("ended well")
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondSignalExits$")
	cmd.Env = append(os.Environ(), "TEST_SIGNALS=1")
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "ended well") {
		t.Errorf("%v, want status 1; it said %q", err, out)
	}
}
