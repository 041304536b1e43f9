package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"governor/client"
)

const goodKubeconfig = `apiVersion: v1
kind: Config
current-context: there
contexts:
- name: there
  context: {cluster: c, user: u}
clusters:
- name: c
  cluster: {server: "https://HOST:6443"}
users:
- name: u
  user: {token: very-secret}
`

// The first that is given counts.
func TestGetConfigPrecedence(t *testing.T) {
	tests := []struct {
		name                  string
		flag, env, env2, home string // hosts in the files that exist
		want                  string
	}{
		{"the path before all", "flag", "env", "", "home", "flag"},
		{"KUBECONFIG before home", "", "env", "", "home", "env"},
		{"KUBECONFIG: the first of two", "", "env", "env2", "home", "env"},
		{"KUBECONFIG: the second, the first is missing", "", "", "env2", "home", "env2"},
		{"home", "", "", "", "home", "home"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := isolate(t)
			flag := ""
			if tt.flag != "" {
				flag = write(t, filepath.Join(dir, "flag"), kubeconfigFor(tt.flag))
			}
			var env []string
			if tt.env+tt.env2 != "" {
				env = []string{filepath.Join(dir, "env"), filepath.Join(dir, "env2")}
				t.Setenv("KUBECONFIG", strings.Join(env, string(filepath.ListSeparator)))
			}
			if tt.env != "" {
				write(t, env[0], kubeconfigFor(tt.env))
			}
			if tt.env2 != "" {
				write(t, env[1], kubeconfigFor(tt.env2))
			}
			if tt.home != "" {
				write(t, filepath.Join(dir, "home", ".kube", "config"), kubeconfigFor(tt.home))
			}
			cfg, err := client.GetConfig(flag)
			if err != nil {
				t.Fatal(err)
			}
			if want := "https://" + tt.want + ":6443"; cfg.Host != want {
				t.Errorf("the server is %s, want %s", cfg.Host, want)
			}
			if cfg.QPS != -1 || cfg.UserAgent == "" || cfg.BearerToken != "very-secret" {
				t.Errorf("QPS %v, user agent %q", cfg.QPS, cfg.UserAgent)
			}
		})
	}
}

// Each mistake is one line that names the file and what to do, and no later
// source takes the place of a broken one.
func TestGetConfigMistakes(t *testing.T) {
	const noContext = "contexts:\n- name: here\n  context: {cluster: c}\n"
	tests := []struct {
		name string
		file string // content; "" means that the file is missing
		want []string
	}{
		{"missing", "", []string{"does not exist", "correct"}},
		{"empty", "\n", []string{"has no contexts"}},
		{"no YAML", "{{{ token: very-secret", []string{"cannot be read"}},
		{"not a kubeconfig", "apiVersion: v1\nkind: Pod\n", []string{"cannot be read"}},
		{"no current context", noContext, []string{"no current-context", "here", "use-context"}},
		{"unknown current context", "current-context: there\n" + noContext, []string{`no context "there"`, "here"}},
		{"unknown cluster", "current-context: here\n" + noContext, []string{`no cluster "c"`}},
		{"unknown user", strings.Replace(goodKubeconfig, "name: u", "name: other", 1), []string{`no user "u"`}},
		{"certificate missing", strings.Replace(goodKubeconfig, "{token: very-secret}", "{client-certificate: nowhere.crt, client-key: nowhere.key}", 1), []string{"nowhere.crt"}},
		{"cluster without server", strings.Replace(goodKubeconfig, `server: "https://HOST:6443"`, `insecure-skip-tls-verify: true`, 1), []string{"no server"}},
	}
	for _, tt := range tests {
		for _, from := range []string{"path", "KUBECONFIG", "home"} {
			if from == "home" && tt.file == "" {
				continue // then there is no configuration at all, which is no fault of a file
			}
			t.Run(tt.name+"/"+from, func(t *testing.T) {
				dir := isolate(t)
				file := filepath.Join(dir, "given")
				home := filepath.Join(dir, "home", ".kube", "config")
				flag := ""
				switch from {
				case "path":
					flag = file
					write(t, home, kubeconfigFor("home"))
				case "KUBECONFIG":
					t.Setenv("KUBECONFIG", file)
					write(t, home, kubeconfigFor("home"))
				case "home":
					file = home
				}
				if tt.file != "" {
					write(t, file, tt.file)
				}
				cfg, err := client.GetConfig(flag)
				if err == nil {
					t.Fatalf("no error, but the server %s", cfg.Host)
				}
				for _, part := range append(tt.want, file) {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q does not say %q", err, part)
					}
				}
				if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "very-secret") {
					t.Errorf("error is more than a line, or tells a secret: %q", err)
				}
			})
		}
	}
}

func TestGetConfigDirectory(t *testing.T) {
	dir := isolate(t)
	if _, err := client.GetConfig(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("error is %v", err)
	}
}

func TestGetConfigNothingFound(t *testing.T) {
	isolate(t)
	_, err := client.GetConfig("")
	if err == nil || !strings.Contains(err.Error(), "KUBECONFIG") || !strings.Contains(err.Error(), "~/.kube/config") {
		t.Errorf("error is %v", err)
	}
}

// A Pod uses its service account's token; without one it says so, unless there
// is a file. Which Pod this is, if it is one, nobody can choose: the path is fixed.
func TestGetConfigInAPod(t *testing.T) {
	dir := isolate(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
		if cfg, err := client.GetConfig(""); err != nil || cfg.Host != "https://10.0.0.1:443" {
			t.Errorf("got %v, %v", cfg, err)
		}
		return
	}
	if _, err := client.GetConfig(""); err == nil || !strings.Contains(err.Error(), "automountServiceAccountToken") {
		t.Errorf("error is %v", err)
	}
	write(t, filepath.Join(dir, "home", ".kube", "config"), kubeconfigFor("home"))
	if cfg, err := client.GetConfig(""); err != nil || cfg.Host != "https://home:6443" {
		t.Errorf("got %v, %v", cfg, err)
	}
}

// isolate hides the machine's own configuration; it returns an empty directory.
func isolate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
	return dir
}

func kubeconfigFor(host string) string { return strings.Replace(goodKubeconfig, "HOST", host, 1) }

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
