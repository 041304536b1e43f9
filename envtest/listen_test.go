package envtest_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Contract 24: the same server, for any program, over TLS with HTTP/2.
func TestListen(t *testing.T) {
	s, c := newServer(t, &envtest.Options{RBAC: true})
	create(t, c, "a")
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := l.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v %v", info.Mode(), err)
	}
	cfg, err := client.GetConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, cfg).Get(t.Context(), mapKey("a"), &corev1.ConfigMap{}); err != nil {
		t.Errorf("with the kubeconfig: %v", err)
	}
	jane := l.Config()
	jane.BearerToken = s.AddUser("jane").BearerToken
	if err := newClient(t, jane).Get(t.Context(), mapKey("a"), &corev1.ConfigMap{}); !apierrors.IsForbidden(err) {
		t.Errorf("with a user's token: %v", err)
	}
	httpClient, err := rest.HTTPClientFor(l.Config())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient.Get(l.Config().Host + "/version")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("spoke %s", resp.Proto)
	}
}

// Contract 24: Close ends watches, frozen requests and stalled ones, and the port.
func TestListenerCloses(t *testing.T) {
	s, c := newServer(t, nil)
	create(t, c, "a")
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	httpClient, err := rest.HTTPClientFor(l.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(envtest.Match{UserAgent: "stall"}, envtest.Fault{Break: envtest.Stall})
	s.Inject(envtest.Match{UserAgent: "delay"}, envtest.Fault{Delay: time.Hour})
	ended := make(chan string, 3)
	for _, agent := range []string{"plain", "stall", "delay"} {
		go func() {
			req, _ := http.NewRequest("GET", l.Config().Host+"/api/v1/configmaps?watch=1&resourceVersion=1", nil)
			req.Header.Set("User-Agent", agent)
			resp, err := httpClient.Do(req)
			if err != nil {
				ended <- agent + ": " + err.Error()
				return
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
			}
			ended <- agent
		}()
	}
	eventually(t, "three watches have come", func() bool {
		watches := 0
		for _, r := range s.Requests() {
			if r.Verb == "watch" {
				watches++
			}
		}
		return watches == 3
	})
	start := time.Now()
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for range 3 {
		<-ended
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(l.Config().Host, "https://")); err == nil {
		conn.Close()
		t.Error("the port is open")
	}
	create(t, c, "b") // the server goes on
	if _, err := s.Listen("nowhere"); err == nil {
		t.Error("a bad address: no error")
	}
}
