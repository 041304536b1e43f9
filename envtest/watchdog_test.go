package envtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"governor/envtest"
)

// Contract 10. Case 58: however the test process ends, nothing is left.
func TestControlPlaneOfADeadProcess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    string
		signal os.Signal
	}{
		{"panic", "panic", nil},
		{"exit", "exit", nil},
		{"interrupt", "signal", os.Interrupt},
		{"quit, as go test's time-out", "signal", syscall.SIGQUIT},
		{"kill", "signal", os.Kill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dirs := dataDirs(t)
			binaries := fakeBinaries(t, map[string]string{"etcd": serves, "kube-apiserver": stubborn})
			loseControlPlane(t, dirs, binaries, tt.end, tt.signal)
		})
	}
}

// Contract 10: in the middle of a start too.
func TestControlPlaneOfAProcessKilledInStart(t *testing.T) {
	dirs := dataDirs(t)
	binaries := fakeBinaries(t, map[string]string{"etcd": hangs, "kube-apiserver": serves})
	victim := victimCommand(t, binaries, "signal")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "etcd runs", func() bool { return len(dirs()) == 1 && hasLog(dirs()[0]) })
	groups := groupsWith(t, dirs()[0])
	victim.Process.Kill()
	victim.Wait()
	eventually(t, "the data directory is gone", func() bool { return len(dirs()) == 0 })
	checkGroupsEnd(t, groups)
}

// hasLog says whether the fake etcd has printed something.
func hasLog(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "etcd.log"))
	return err == nil && info.Size() > 0
}

// loseControlPlane lets another process start a control plane and end, and
// waits until all of it is gone.
func loseControlPlane(t *testing.T, dirs func() []string, binaries, end string, sig os.Signal) {
	t.Helper()
	victim := victimCommand(t, binaries, end)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !filepath.IsAbs(lines.Text()) {
		t.Fatalf("the other process did not start a control plane: %s", lines.Text())
	}
	groups := groupsWith(t, lines.Text())
	if sig != nil {
		victim.Process.Signal(sig)
	}
	fmt.Fprintln(in)
	if err := victim.Wait(); err == nil {
		t.Error("the other process ended well, which is not what this tests")
	}
	eventually(t, "the data directory is gone", func() bool { return len(dirs()) == 0 })
	checkGroupsEnd(t, groups)
	checkNothingLeft(t, dirs)
}

func victimCommand(t *testing.T, binaries, end string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-binaries="+binaries, "-end="+end)
	cmd.Env = append(os.Environ(), role+"=victim")
	return cmd
}

// Contract 9: without a watchdog, since someone has killed that, Stop does the
// same, and tells.
func TestControlPlaneWithoutWatchdog(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir: fakeBinaries(t, map[string]string{"etcd": serves, "kube-apiserver": serves}),
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range processesWith(t, "envtest-watchdog "+dirs()[0]) {
		pid, _, _ := strings.Cut(p, " ")
		if out, err := exec.Command("kill", "-9", pid).CombinedOutput(); err != nil {
			t.Fatalf("kill: %v: %s", err, out)
		}
	}
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "watchdog: signal: killed") {
		t.Errorf("Stop: %v", err)
	}
	checkNothingLeft(t, dirs)
}
