package client

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// GetConfig finds the API server to talk to. It takes the first of these that is
// given, and no later one if that is broken:
//
//  1. the file kubeconfig, mostly the value of a flag --kubeconfig;
//  2. the files that $KUBECONFIG lists, merged as kubectl does;
//  3. the service account of the Pod that this process runs in;
//  4. ~/.kube/config.
//
// The result has QPS -1, no limit on the client's side: the server's priority
// and fairness does better. Every error is one sentence for the user that names
// the file and what to do. Upstream: client/config.GetConfig, which declares the
// flag itself.
func GetConfig(kubeconfig string) (*rest.Config, error) {
	cfg, err := findConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	if cfg.QPS == 0 {
		cfg.QPS = -1
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return cfg, nil
}

func findConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		if !exists(kubeconfig) {
			return nil, fmt.Errorf("kubeconfig %q does not exist: correct the path given", kubeconfig)
		}
		return fromFiles(kubeconfig)
	}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
		files := filepath.SplitList(env)
		if !slices.ContainsFunc(files, exists) {
			return nil, fmt.Errorf("kubeconfig %q, from $KUBECONFIG, does not exist: correct or unset KUBECONFIG", env)
		}
		return fromFiles(files...)
	}
	cfg, inCluster := rest.InClusterConfig()
	if inCluster == nil {
		return cfg, nil
	}
	if home := homeConfig(); exists(home) {
		return fromFiles(home)
	}
	if !errors.Is(inCluster, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("this Pod has no usable service account (%w): set automountServiceAccountToken, or give a kubeconfig file", inCluster)
	}
	return nil, errors.New("no cluster configured: give a kubeconfig file, set KUBECONFIG, create ~/.kube/config, or run in a Pod")
}

// homeConfig is the path of ~/.kube/config; empty if there is no home. Some
// Pods have no $HOME, but an entry in /etc/passwd.
func homeConfig() string {
	home, err := os.UserHomeDir()
	if err != nil {
		u, err := user.Current()
		if err != nil || u.HomeDir == "" {
			return ""
		}
		home = u.HomeDir
	}
	return filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
}

// fromFiles reads kubeconfig files; of several, those that do not exist are
// passed over, as kubectl does.
func fromFiles(paths ...string) (*rest.Config, error) {
	named := strings.Join(paths, string(filepath.ListSeparator))
	merged, err := (&clientcmd.ClientConfigLoadingRules{Precedence: paths}).Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q cannot be read: %w", named, err)
	}
	if problem := missingContext(merged); problem != "" {
		return nil, fmt.Errorf("kubeconfig %q %s", named, problem)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*merged, "", &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", named, err)
	}
	return cfg, nil
}

// exists is also true of what cannot be looked at: reading it will say why.
func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && !errors.Is(err, fs.ErrNotExist)
}

// missingContext says why no context of a kubeconfig can be used; clientcmd
// would go on with an empty one and complain about localhost.
func missingContext(c *api.Config) string {
	names := strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", ")
	context, ok := c.Contexts[c.CurrentContext]
	switch {
	case len(c.Contexts) == 0:
		return "has no contexts: write it anew, for instance with `kind export kubeconfig`"
	case c.CurrentContext == "":
		return "has no current-context: choose one of " + names + " with `kubectl config use-context`"
	case !ok:
		return fmt.Sprintf("has no context %q, which its current-context names: choose one of %s with `kubectl config use-context`", c.CurrentContext, names)
	case c.Clusters[context.Cluster] == nil:
		return fmt.Sprintf("has no cluster %q, which its context %q names", context.Cluster, c.CurrentContext)
	case context.AuthInfo != "" && c.AuthInfos[context.AuthInfo] == nil:
		return fmt.Sprintf("has no user %q, which its context %q names", context.AuthInfo, c.CurrentContext)
	}
	return ""
}
