package envtest_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"governor/envtest"
)

// role is the environment variable that makes this test binary play a part in
// a test instead of running tests.
const role = "GOVERNOR_ENVTEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "server":
		playServer(false)
	case "stubborn server":
		playServer(true)
	case "hanging server":
		fmt.Println("contemplating")
		<-time.After(time.Hour)
	case "victim":
		playVictim()
	default:
		os.Exit(m.Run())
	}
}

// playServer is an etcd or a kube-apiserver, as far as a start and a stop can
// tell: it serves TLS on the port that its flags say.
func playServer(stubborn bool) {
	flags := make(map[string]string)
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flags[name] = value
	}
	address, cert, key := "127.0.0.1:"+flags["secure-port"], flags["tls-cert-file"], flags["tls-private-key-file"]
	if u, err := url.Parse(flags["listen-client-urls"]); err == nil && u.Host != "" {
		address, cert, key = u.Host, flags["cert-file"], flags["key-file"]
	}
	if stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, http.ServeTLS(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "serviceaccounts") {
			http.NotFound(w, r) // there is no controller manager
		}
	}), cert, key))
	os.Exit(1)
}

// playVictim is a test process that ends badly, in a way that it is told, while
// it has a control plane.
func playVictim() {
	var o envtest.ControlPlaneOptions
	var end string
	flag.StringVar(&o.BinaryDir, "binaries", "", "")
	flag.StringVar(&end, "end", "", "")
	flag.Parse()
	c := envtest.NewControlPlane(&o)
	if err := c.Start(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(filepath.Dir(c.KubeconfigPath()))
	fmt.Scanln() // the test has had a look
	switch end {
	case "panic":
		panic("test panics")
	case "exit":
		os.Exit(3)
	case "signal":
		select {} // until the signal comes
	}
}

// The scripts that stand for binaries.
const (
	serves   = `exec env ` + role + `=server "$TEST_BINARY" "$@"`
	stubborn = `sleep 1000 & exec env ` + role + `="stubborn server" "$TEST_BINARY" "$@"`
	fails    = `echo "cannot read the flux compensator" >&2; exit 7`
	hangs    = `exec env ` + role + `="hanging server" "$TEST_BINARY" "$@"`
	// leaves has a child of its own, which does not end with it.
	leaves = `sleep 1000 & ` + serves
	// portTakenOnce fails the first time as Go programs do whose port is taken.
	portTakenOnce = `if [ ! -e "$0.tried" ]; then
	: > "$0.tried"
	echo "listen tcp 127.0.0.1:1: bind: address already in use" >&2
	exit 1
fi
` + serves
	portTaken = `echo try >> "$0.tried"; echo "bind: address already in use" >&2; exit 1`
)

// fakeBinaries writes scripts, by name, into a directory.
func fakeBinaries(t *testing.T, scripts map[string]string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, script := range scripts {
		text := "#!/bin/sh\nTEST_BINARY='" + self + "'\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dataDirs makes control planes put their data into a directory of the test's
// own, and returns a function that says which are there. It must be called
// before they start.
func dataDirs(t *testing.T) func() []string {
	t.Helper()
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	return func() []string {
		found, err := filepath.Glob(filepath.Join(parent, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// processesWith lists the processes in whose command line a text occurs.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=", "-o", "args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !yes() {
		select {
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		case <-ticker.C:
		}
	}
}

// groupsWith lists the process groups of the processes in whose command line a
// text occurs.
func groupsWith(t *testing.T, text string) []string {
	t.Helper()
	var groups []string
	for _, p := range processesWith(t, text) {
		pid, _, _ := strings.Cut(p, " ")
		out, err := exec.Command("ps", "-o", "pgid=", "-p", pid).Output()
		if err != nil {
			t.Fatalf("ps: %v", err)
		}
		groups = append(groups, strings.TrimSpace(string(out)))
	}
	return groups
}

// checkGroupsEnd waits until the groups have no living members. The kernel takes
// a moment to end what was killed.
func checkGroupsEnd(t *testing.T, groups []string) {
	t.Helper()
	if len(groups) == 0 {
		t.Error("there were no processes")
	}
	for _, group := range groups {
		eventually(t, fmt.Sprintf("process group %s ends", group), func() bool { return len(membersOf(t, group)) == 0 })
	}
}

// membersOf lists the living processes of a group.
func membersOf(t *testing.T, group string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pgid=", "-o", "stat=", "-o", "args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	var members []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == group && !strings.HasPrefix(f[1], "Z") {
			members = append(members, line)
		}
	}
	return members
}
