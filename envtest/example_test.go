package envtest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"governor/client"
	"governor/envtest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// A client of ours, or any other, on a handler instead of a server.
func ExampleTransport() {
	cfg := &rest.Config{
		Host: "http://in.memory",
		Transport: envtest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
		})),
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := c.Get(cfg.Host + "/api/v1/pods")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: GET /api/v1/pods <nil>
}

// A program that starts a control plane of its own. In a test, RequireControlPlane
// does the same with less.
func ExampleControlPlane() {
	ctx := context.Background()
	plane := envtest.NewControlPlane(&envtest.ControlPlaneOptions{
		APIServerFlags: []string{"--v=2"},
	})
	if err := plane.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer plane.Stop()

	c, err := client.New(plane.Config(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(namespaces.Items), "namespaces; kubectl --kubeconfig", plane.KubeconfigPath())
}
