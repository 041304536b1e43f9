package envtest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"governor/envtest"
)

// checkNothingLeft fails the test unless nothing is left of the control planes whose
// data directories were in dirs.
func checkNothingLeft(t *testing.T, dirs func() []string) {
	t.Helper()
	if left := dirs(); len(left) != 0 {
		t.Errorf("data directories left: %v", left)
	}
	if left := processesWith(t, os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}

// Contract 6, 9. Case 58: a start and two stops, and what can be asked when.
func TestControlPlaneLife(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir: fakeBinaries(t, map[string]string{"etcd": leaves, "kube-apiserver": serves}),
	})
	if err := c.Stop(); err != nil {
		t.Errorf("Stop before Start: %v", err)
	}
	if c.Config() != nil || c.KubeconfigPath() != "" {
		t.Error("has a config before Start")
	}
	for name, f := range map[string]func() error{
		"KillAPIServer":  c.KillAPIServer,
		"StartAPIServer": func() error { return c.StartAPIServer(t.Context()) },
		"AddUser":        func() error { _, err := c.AddUser("jane"); return err },
	} {
		if f() == nil {
			t.Errorf("%s before Start worked", name)
		}
	}

	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a second Start worked")
	}
	if _, err := os.Stat(c.KubeconfigPath()); err != nil {
		t.Error(err)
	}
	one := c.Config()
	one.Host, one.CAData = "http://elsewhere", nil
	if two := c.Config(); two.Host == one.Host || two.CAData == nil || two.QPS != -1 {
		t.Errorf("Config is no copy, or has a rate limit: %v", two)
	}
	if _, err := c.AddUser(""); err == nil {
		t.Error("a user without name was added")
	}
	if err := c.StartAPIServer(t.Context()); err == nil {
		t.Error("StartAPIServer worked while one was running")
	}
	host := strings.TrimPrefix(c.Config().Host, "https://")
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", host); err == nil {
		conn.Close()
		t.Error("somebody listens although the API server was killed")
	}
	if err := c.KillAPIServer(); err == nil {
		t.Error("killed twice")
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimPrefix(c.Config().Host, "https://"); got != host {
		t.Errorf("came back at %s, was at %s", got, host)
	}

	groups := groupsWith(t, dirs()[0])
	for i := range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("Stop %d: %v", i+1, err)
		}
	}
	checkGroupsEnd(t, groups)
	if c.KubeconfigPath() != "" {
		t.Error("has a kubeconfig after Stop")
	}
	if err := c.StartAPIServer(t.Context()); err == nil {
		t.Error("StartAPIServer after Stop worked")
	}
	checkNothingLeft(t, dirs)
}

// Contract 8. Case 58: a Start that fails says why and leaves nothing.
func TestControlPlaneStartFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scripts map[string]string
		options envtest.ControlPlaneOptions
		is      error
		says    []string // parts of the error's text
		tries   int      // of etcd, if it counts them
	}{
		{name: "no binaries", is: envtest.ErrBinariesMissing,
			says: []string{"etcd, kube-apiserver", "make controlplane"}},
		{name: "no API server", scripts: map[string]string{"etcd": serves}, is: envtest.ErrBinariesMissing,
			says: []string{"no kube-apiserver in", "make controlplane"}},
		{name: "no controller manager", scripts: map[string]string{"etcd": serves, "kube-apiserver": serves},
			options: envtest.ControlPlaneOptions{ControllerManager: true}, is: envtest.ErrBinariesMissing,
			says: []string{"build.sh kube-controller-manager"}},
		{name: "etcd fails", scripts: map[string]string{"etcd": fails, "kube-apiserver": serves},
			says: []string{"etcd: ended before it was ready", "exit status 7", "flux compensator"}},
		{name: "API server fails", scripts: map[string]string{"etcd": serves, "kube-apiserver": fails},
			says: []string{"kube-apiserver: ended before it was ready", "flux compensator"}},
		{name: "controller manager fails", scripts: map[string]string{"etcd": serves, "kube-apiserver": serves, "kube-controller-manager": fails},
			options: envtest.ControlPlaneOptions{ControllerManager: true},
			says:    []string{"kube-controller-manager: ended"}},
		{name: "never ready", scripts: map[string]string{"etcd": hangs, "kube-apiserver": serves},
			options: envtest.ControlPlaneOptions{StartTimeout: time.Second}, is: context.DeadlineExceeded,
			says: []string{"etcd: not ready", "StartTimeout of 1s", "contemplating"}},
		{name: "port taken", scripts: map[string]string{"etcd": portTaken, "kube-apiserver": serves},
			says: []string{"etcd: port taken"}, tries: 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dirs := dataDirs(t)
			tt.options.BinaryDir = fakeBinaries(t, tt.scripts)
			c := envtest.NewControlPlane(&tt.options)
			err := c.Start(t.Context())
			if err == nil {
				t.Fatal("Start worked")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if strings.Count(err.Error(), "its last output") > 1 {
				t.Errorf("error says it twice: %v", err)
			}
			if tt.tries != 0 {
				tried, _ := os.ReadFile(filepath.Join(tt.options.BinaryDir, "etcd.tried"))
				if got := strings.Count(string(tried), "try"); got != tt.tries {
					t.Errorf("tried %d times, want %d", got, tt.tries)
				}
			}
			if c.Config() != nil {
				t.Error("has a config after a Start that failed")
			}
			checkNothingLeft(t, dirs) // even before Stop
			if err := c.Stop(); err != nil {
				t.Errorf("Stop after a Start that failed: %v", err)
			}
		})
	}
}

// Contract 8: Start ends with its context.
func TestControlPlaneStartCancelled(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir: fakeBinaries(t, map[string]string{"etcd": hangs, "kube-apiserver": serves}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for len(dirs()) == 0 {
			<-time.After(time.Millisecond)
		}
	}()
	if err := c.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v, want %v", err, context.Canceled)
	}
	checkNothingLeft(t, dirs)
}

// Contract 6. Case 58: a port that someone else was given in between.
func TestControlPlanePortTaken(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir: fakeBinaries(t, map[string]string{"etcd": portTakenOnce, "kube-apiserver": portTakenOnce}),
	})
	if err := c.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, dirs)
}

// Contract 9. Case 58: a process that does not end is killed, with its
// children, and Stop says so.
func TestControlPlaneStopKills(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir:   fakeBinaries(t, map[string]string{"etcd": serves, "kube-apiserver": stubborn}),
		StopTimeout: 100 * time.Millisecond,
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	groups := groupsWith(t, dirs()[0])
	err := c.Stop()
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver did not end within 100ms of SIGTERM and was killed") {
		t.Errorf("Stop: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	checkGroupsEnd(t, groups)
	checkNothingLeft(t, dirs)
}

// Contract 9: Stop tells of a process that has ended by itself, which explains
// much else.
func TestControlPlaneStopTellsOfACrash(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		BinaryDir: fakeBinaries(t, map[string]string{"etcd": serves, "kube-apiserver": serves}),
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range processesWith(t, filepath.Join(dirs()[0], "etcd")+" ") {
		pid, _, _ := strings.Cut(p, " ")
		if out, err := exec.Command("kill", "-9", pid).CombinedOutput(); err != nil {
			t.Fatalf("kill: %v: %s", err, out)
		}
	}
	eventually(t, "etcd is gone", func() bool { return len(processesWith(t, filepath.Join(dirs()[0], "etcd")+" ")) == 0 })
	if err := c.KillAPIServer(); err != nil { // which is no crash
		t.Fatal(err)
	}
	err := c.Stop()
	if err == nil || !strings.Contains(err.Error(), "etcd had ended by itself (signal: killed)") || strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("Stop: %v", err)
	}
	checkNothingLeft(t, dirs)
}

// Contract 7: a flag of the caller's replaces the control plane's.
func TestControlPlaneFlags(t *testing.T) {
	dir := fakeBinaries(t, map[string]string{"etcd": serves, "kube-apiserver": `printf '%s\n' "$@" > "$0.args"; ` + serves})
	flags := []string{"--authorization-mode=Node,RBAC", "--v=4"}
	c := envtest.RequireControlPlane(t, &envtest.ControlPlaneOptions{BinaryDir: dir, APIServerFlags: flags})
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kube-apiserver.args"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(text))
	var modes []string
	for _, f := range got {
		if strings.HasPrefix(f, "--authorization-mode") {
			modes = append(modes, f)
		}
	}
	if len(modes) != 1 || modes[0] != flags[0] || got[len(got)-1] != flags[1] {
		t.Errorf("flags %v, want %v instead of the control plane's", got, flags)
	}
}
