package envtest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"governor/client"
	"governor/envtest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const thingCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// webhookManifests is what generators write.
const webhookManifests = `
apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: validate.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE]}]
`

func environmentOptions(t *testing.T, dir string) *envtest.EnvironmentOptions {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return &envtest.EnvironmentOptions{
		CRDPaths:     []string{write("crd.yaml", thingCRD)},
		WebhookPaths: []string{write("webhooks.yaml", webhookManifests)},
		WebhookHandler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/validate" {
				http.NotFound(w, r)
				return
			}
			deny(w, r)
		}),
	}
}

func newThing() *unstructured.Unstructured {
	thing := &unstructured.Unstructured{}
	thing.SetAPIVersion("example.com/v1")
	thing.SetKind("Thing")
	thing.SetNamespace("default")
	thing.SetName("a")
	return thing
}

// checkEnvironment checks that its CRDs are served and its webhooks asked.
func checkEnvironment(t *testing.T, e *envtest.Environment) {
	t.Helper()
	c := newClient(t, e.Config())
	things := &unstructured.UnstructuredList{}
	things.SetAPIVersion("example.com/v1")
	things.SetKind("ThingList")
	if err := c.List(t.Context(), things); err != nil {
		t.Errorf("the CRD is not served: %v", err)
	}
	denied := func() bool {
		err := c.Create(t.Context(), newThing(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), `admission webhook "validate.example.com" denied the request`)
	}
	if e.Server() == nil {
		eventually(t, "the webhook is asked", denied)
	} else if !denied() {
		t.Error("the webhook is not asked")
	}
}

// Contract 26: in memory, without a socket or a goroutine.
func TestEnvironment(t *testing.T) {
	o := environmentOptions(t, t.TempDir())
	o.Cluster, o.Server = envtest.InMemory, &envtest.Options{RBAC: true}
	synctest.Test(t, func(t *testing.T) {
		e := envtest.RequireEnvironment(t, o)
		checkEnvironment(t, e)
		jane, err := e.AddUser("jane")
		if err != nil {
			t.Fatal(err)
		}
		if err := newClient(t, jane).Create(t.Context(), newMap("a")); !apierrors.IsForbidden(err) {
			t.Errorf("a user: %v", err)
		}
		if err := e.Start(t.Context()); err == nil {
			t.Error("a second start: no error")
		}
		for range 2 {
			if err := e.Stop(); err != nil {
				t.Error(err)
			}
		}
		if e.Config() != nil || e.Server() != nil {
			t.Error("there is something after Stop")
		}
		if _, err := e.AddUser("jane"); err == nil {
			t.Error("a user after Stop: no error")
		}
	})
}

// Contract 26: an existing cluster; it keeps the CRDs, and loses the webhooks that
// nobody answers any more.
func TestEnvironmentOnAnExistingCluster(t *testing.T) {
	s, c := newServer(t, nil)
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := l.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	t.Setenv("USE_EXISTING_CLUSTER", "true")
	e := envtest.NewEnvironment(environmentOptions(t, t.TempDir()))
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEnvironment(t, e)
	if _, err := e.AddUser("jane"); err != nil {
		t.Error(err)
	}
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
	left := &unstructured.Unstructured{}
	left.SetAPIVersion("admissionregistration.k8s.io/v1")
	left.SetKind("ValidatingWebhookConfiguration")
	if err := c.Get(t.Context(), client.ObjectKey{Name: "validating"}, left); !apierrors.IsNotFound(err) {
		t.Errorf("the webhook afterwards: %v", err)
	}
	if err := c.Create(t.Context(), newThing()); err != nil {
		t.Errorf("the CRD afterwards: %v", err)
	}
}

func TestE2EEnvironment(t *testing.T) {
	t.Setenv("GOVERNOR_CONTROLPLANE", "1")
	checkEnvironment(t, envtest.RequireEnvironment(t, environmentOptions(t, t.TempDir())))
}

// Contract 26: bad input is one sentence, and leaves nothing.
func TestEnvironmentErrors(t *testing.T) {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(thingCRD), &crd.Object); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    envtest.EnvironmentOptions
		env  [2]string
		want string
	}{
		{"no such path", envtest.EnvironmentOptions{CRDPaths: []string{"/nowhere"}}, [2]string{}, "/nowhere"},
		{"no webhooks there", envtest.EnvironmentOptions{WebhookPaths: []string{"testdata"}}, [2]string{}, "there is no webhook configuration"},
		{"no webhook", envtest.EnvironmentOptions{Webhooks: []*unstructured.Unstructured{&crd}}, [2]string{}, "is no webhook configuration"},
		{"a strange variable", envtest.EnvironmentOptions{}, [2]string{"GOVERNOR_CONTROLPLANE", "maybe"}, "$GOVERNOR_CONTROLPLANE"},
		{"no such kubeconfig", envtest.EnvironmentOptions{Cluster: envtest.ExistingCluster}, [2]string{"KUBECONFIG", "/nowhere/config"}, "/nowhere/config"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env[0] != "" {
				t.Setenv(tt.env[0], tt.env[1])
			}
			e := envtest.NewEnvironment(&tt.o)
			if err := e.Start(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			if e.Config() != nil {
				t.Error("it has a config")
			}
			if err := e.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
