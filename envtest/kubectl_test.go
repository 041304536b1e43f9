package envtest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"governor/envtest"
)

// kubectl runs kubectl against a server in memory.
type kubectl struct {
	*testing.T
	path, kubeconfig, home string
}

func newKubectl(t *testing.T, s *envtest.Server) *kubectl {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl here: apt-get install kubernetes-client provides it")
	}
	listener, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kubectl{T: t, path: path, home: t.TempDir()}
	k.kubeconfig = filepath.Join(k.home, "kubeconfig")
	if err := listener.WriteKubeconfig(k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kubectl) command(ctx context.Context, stdin string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, k.path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home)
	cmd.Stdin = strings.NewReader(stdin)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// run runs kubectl, which has to end well and to print what a pattern matches.
func (k *kubectl) run(want, stdin string, args ...string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	cmd, out := k.command(ctx, stdin, args...)
	if err := cmd.Run(); err != nil {
		k.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	} else if !regexp.MustCompile(want).MatchString(out.String()) {
		k.Errorf("kubectl %s printed\n%s\nwant a match of %s", strings.Join(args, " "), out, want)
	}
}

const kubectlManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {greeting: GREETING}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

// A client that nobody here wrote, over TLS and HTTP/2.
func TestKubectl(t *testing.T) {
	k := newKubectl(t, envtest.NewServer(nil))
	k.run(`(?m)^NAME +STATUS +AGE\n(.*\n)*default +Active +`, "", "get", "namespaces")
	k.run(`configmap/settings created\ndeployment.apps/web created`, strings.Replace(kubectlManifest, "GREETING", "hello", 1), "apply", "-f", "-")
	k.run(`configmap/settings configured\ndeployment.apps/web unchanged`, strings.Replace(kubectlManifest, "GREETING", "good day", 1), "apply", "-f", "-")
	k.run(`configmap/settings serverside-applied`, strings.Replace(kubectlManifest, "GREETING", "good night", 1), "apply", "--server-side", "--force-conflicts", "-f", "-")
	k.run(`^good night$`, "", "get", "configmap", "settings", "-o", "jsonpath={.data.greeting}")
	k.run(`(?m)^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0/2 `, "", "get", "deployments")
	k.run(`deployment.apps/web scaled`, "", "scale", "deployment", "web", "--replicas=3")
	k.run(`^3$`, "", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")
	k.run(`configmap/settings labeled`, "", "label", "configmap", "settings", "tier=front")
	k.run(`configmap/settings patched`, "", "patch", "configmap", "settings", "--type=json", "-p", `[{"op":"replace","path":"/data/greeting","value":"bye"}]`)
	k.run(`(?m)^settings +\d+ +`, "", "get", "configmaps", "-l", "tier=front")
	k.run(`Name: +settings\n(.*\n)*greeting:\n-+\nbye`, "", "describe", "configmap", "settings")
	k.run(`(?m)^configmaps +cm +v1 +true +ConfigMap$`, "", "api-resources")
	k.run(`(?m)^apps/v1$`, "", "api-versions")
	k.run(`containers\s+<\[\]Container>[\s\S]*List of containers belonging to the pod`, "", "explain", "pod.spec")
	k.run(`FIELD: matchLabels <map\[string\]string>`, "", "explain", "deployment.spec.selector.matchLabels")
	k.run(`yes`, "", "auth", "can-i", "create", "pods")
	k.run(`deployment.apps "web" deleted`, "", "delete", "deployment", "web")
	k.run(`namespace/made created`, "", "create", "namespace", "made")
	k.run(`namespace "made" deleted`, "", "delete", "namespace", "made")
}

// kubectl get --watch sees a change as it comes.
func TestKubectlWatch(t *testing.T) {
	k := newKubectl(t, envtest.NewServer(nil))
	k.run(`created`, "", "create", "configmap", "seen", "--from-literal=a=b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, out := k.command(ctx, "", "get", "configmap", "seen", "--watch", "-o", "name")
	pipe, err := os.CreateTemp(t.TempDir(), "watch")
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	cmd.Stdout = pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := func() int {
		data, _ := os.ReadFile(pipe.Name())
		return strings.Count(string(data), "configmap/seen")
	}
	await := func(n int) {
		t.Helper()
		for lines() < n {
			select {
			case <-ctx.Done():
				t.Fatalf("kubectl saw %d states, want %d\n%s", lines(), n, out)
			case <-time.After(20 * time.Millisecond): // a poll of another process, bounded by ctx
			}
		}
	}
	await(1)
	k.run(`labeled`, "", "label", "configmap", "seen", "more=one")
	await(2)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
