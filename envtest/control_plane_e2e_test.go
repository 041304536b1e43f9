package envtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"governor/envtest"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// server talks to an API server in plain HTTP, so that these tests judge the
// control plane and not our client.
type server struct {
	t      *testing.T
	host   string
	client *http.Client
}

func serverOf(t *testing.T, cfg *rest.Config) server {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return server{t, cfg.Host, &http.Client{Transport: transport}}
}

// do makes one request and returns its status and what it answers.
func (s server) do(method, path, body string) (int, map[string]any) {
	s.t.Helper()
	req := newRequest(s.t.Context(), s.t, method, s.host+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer map[string]any
	_ = json.Unmarshal(text, &answer) // a text is no answer
	return resp.StatusCode, answer
}

// must makes a request that has to succeed.
func (s server) must(method, path, body string) map[string]any {
	s.t.Helper()
	status, answer := s.do(method, path, body)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d: %v", method, path, status, answer["message"])
	}
	return answer
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func configMap(name string) string {
	return `{"metadata":{"name":"` + name + `"},"data":{"k":"v"}}`
}

// Contract 6 to 9, from start to stop.
func TestE2EControlPlane(t *testing.T) {
	dirs := dataDirs(t)
	start := time.Now()
	c := envtest.RequireControlPlane(t, nil)
	t.Logf("ready after %v", time.Since(start).Round(time.Millisecond))

	fromFile, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*rest.Config{"config": c.Config(), "kubeconfig": fromFile} {
		if v := serverOf(t, cfg).must("GET", "/version", ""); v["gitVersion"] == "" || v["minor"] == "" {
			t.Errorf("%s: version %v", name, v)
		}
	}
	admin := serverOf(t, c.Config())
	admin.must("POST", configMaps, configMap("before"))

	jane, err := c.AddUser("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	readers := serverOf(t, jane)
	if status, _ := readers.do("GET", configMaps, ""); status != http.StatusForbidden {
		t.Errorf("a user without a role lists: %d, want 403", status)
	}
	admin.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"readers"},
		"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]}`)
	admin.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"readers"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"readers"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"readers"}]}`)
	eventually(t, "jane may list", func() bool {
		status, _ := readers.do("GET", configMaps, "")
		return status == http.StatusOK
	})
	if status, _ := readers.do("POST", configMaps, configMap("x")); status != http.StatusForbidden {
		t.Errorf("a reader creates: %d, want 403", status)
	}

	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	req := newRequest(t.Context(), t, "GET", c.Config().Host+configMaps, nil)
	if resp, err := admin.client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("the API server that was killed answers")
	}
	start = time.Now()
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("back after %v", time.Since(start).Round(time.Millisecond))
	admin.must("GET", configMaps+"/before", "")
	admin.must("POST", configMaps, configMap("after"))
	readers.must("GET", configMaps+"/after", "")

	start = time.Now()
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("stopped after %v", time.Since(start).Round(time.Millisecond))
	checkNothingLeft(t, dirs)
}

// Contract 6. Case 58: four at once, each with its own ports and data.
func TestE2EControlPlanesSideBySide(t *testing.T) {
	hosts := make(chan string, 4)
	t.Run("all", func(t *testing.T) {
		for i := range cap(hosts) {
			name := fmt.Sprintf("number-%d", i)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := envtest.RequireControlPlane(t, nil)
				s := serverOf(t, c.Config())
				s.must("POST", configMaps, configMap(name))
				for _, item := range s.must("GET", configMaps, "")["items"].([]any) {
					got := item.(map[string]any)["metadata"].(map[string]any)["name"]
					if got != name && got != "kube-root-ca.crt" {
						t.Errorf("%s sees %v", name, got)
					}
				}
				hosts <- c.Config().Host
			})
		}
	})
	seen := make(map[string]bool)
	for range len(hosts) {
		host := <-hosts
		if seen[host] {
			t.Errorf("%s was given out twice", host)
		}
		seen[host] = true
	}
}

// Contract 9. Case 58: ten watches are open, and Stop comes at once.
func TestE2EStopWithOpenWatches(t *testing.T) {
	dirs := dataDirs(t)
	c := envtest.RequireControlPlane(t, nil)
	ended := make(chan struct{})
	const watches = 10
	for range watches {
		s := serverOf(t, c.Config()) // a connection each
		req := newRequest(t.Context(), t, "GET", s.host+configMaps+"?watch=1", nil)
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			ended <- struct{}{}
		}()
	}
	start := time.Now()
	if err := c.Stop(); err != nil {
		t.Errorf("Stop had to kill: %v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("Stop took %v", took)
	}
	for range watches {
		<-ended
	}
	checkNothingLeft(t, dirs)
}

// Contract 10. Case 58: the test process is killed; another's control plane is
// not touched.
func TestE2EControlPlaneOfAKilledProcess(t *testing.T) {
	other := envtest.RequireControlPlane(t, nil)
	dirs := dataDirs(t) // of the one that is started next
	loseControlPlane(t, dirs, "", "signal", os.Kill)
	serverOf(t, other.Config()).must("GET", "/readyz", "")
}

// Contract 7: the controller manager makes it a cluster but for the nodes.
func TestE2EControllerManager(t *testing.T) {
	c := envtest.RequireControlPlane(t, &envtest.ControlPlaneOptions{ControllerManager: true})
	s := serverOf(t, c.Config())

	s.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"short-lived"}}`)
	s.must("POST", "/api/v1/namespaces/short-lived/configmaps", configMap("inside"))
	s.must("DELETE", "/api/v1/namespaces/short-lived", "")

	owner := s.must("POST", configMaps, configMap("owner"))
	uid := owner["metadata"].(map[string]any)["uid"].(string)
	s.must("POST", configMaps, `{"metadata":{"name":"owned","ownerReferences":[
		{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"`+uid+`"}]}}`)
	s.must("DELETE", configMaps+"/owner", "")

	s.must("POST", "/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"web"},"spec":{
		"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
		"spec":{"containers":[{"name":"web","image":"example/web"}]}}}}`)

	for what, path := range map[string]string{
		"the namespace empties itself and goes": "/api/v1/namespaces/short-lived",
		"what the owner owned is collected":     configMaps + "/owned",
	} {
		eventually(t, what, func() bool {
			status, _ := s.do("GET", path, "")
			return status == http.StatusNotFound
		})
	}
	eventually(t, "the Deployment makes Pods", func() bool {
		items, _ := s.must("GET", "/api/v1/namespaces/default/pods?labelSelector=app=web", "")["items"].([]any)
		return len(items) == 2
	})
}
