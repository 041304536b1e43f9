package envtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrBinariesMissing means that etcd, kube-apiserver or, if it was asked for,
// kube-controller-manager was not found. The error says where they were looked
// for, and the command that builds them, "make controlplane" for the first two.
// Tests skip: see [RequireControlPlane].
var ErrBinariesMissing = errors.New("control plane binaries missing")

// assetsVariable names the directory in which upstream's tools put theirs.
const assetsVariable = "KUBEBUILDER_ASSETS"

// The programs of a control plane.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
)

// findBinaries returns the path of each name: all in the one directory that is
// given, or $KUBEBUILDER_ASSETS names, or this module's make has filled.
func findBinaries(dir string, names ...string) (map[string]string, error) {
	for _, f := range []func() string{assetsDir, moduleDir} {
		if dir == "" {
			dir = f()
		}
	}
	if dir == "" {
		return nil, fmt.Errorf(`%w: not inside the module governor, and neither BinaryDir nor $%s is set: `+
			`set one of them to what "make controlplane" has built`, ErrBinariesMissing, assetsVariable)
	}
	dir, err := filepath.Abs(dir) // children run elsewhere
	if err != nil {
		return nil, fmt.Errorf("control plane binaries: %w", err)
	}
	found := make(map[string]string)
	var missing []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			missing = append(missing, name)
			continue
		}
		found[name] = path
	}
	if missing != nil {
		build := "make controlplane"
		if slices.Contains(missing, controllerManagerName) {
			build = "sh hack/controlplane/build.sh " + controllerManagerName
		}
		return nil, fmt.Errorf("%w: no %s in %s: run %q", ErrBinariesMissing, strings.Join(missing, ", "), dir, build)
	}
	return found, nil
}

func assetsDir() string { return os.Getenv(assetsVariable) }

// moduleDir walks up from the working directory, which in a test is that of its
// package, to the root of this module.
func moduleDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := strings.Cut(string(text), "\n")
		if err == nil && strings.TrimSpace(first) == "module governor" {
			return filepath.Join(dir, "bin", "controlplane")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
