package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"governor/client"
	"governor/cmd/demo/v1alpha1"
	"governor/envtest"
	"governor/scheme"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// `make demo-real` shows the story on a real etcd and kube-apiserver.
func TestE2EPlayOnItsOwnControlPlane(t *testing.T) {
	envtest.RequireControlPlane(t, nil) // skips where there are no binaries
	t.Setenv("KUBECONFIG", "")
	checkStory(t, "starting an etcd and a kube-apiserver", show(t, "now you", "--play", "--real"))
}

// On another's cluster the play starts nothing, and leaves things as they were.
func TestE2EPlayOnAnothersCluster(t *testing.T) {
	plane := envtest.RequireControlPlane(t, &envtest.ControlPlaneOptions{ControllerManager: true})
	c, err := client.New(plane.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := show(t, "now you", "--play", "--kubeconfig", plane.KubeconfigPath())
	if strings.Contains(got, "starting an etcd") || !strings.Contains(got, "playing on the cluster at "+plane.Config().Host) {
		t.Errorf("it did not play on the given cluster:\n%s", got)
	}
	for _, name := range []string{"team-source", "team-blue", "team-green"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := envtest.WaitFor(ctx, c, ns, func(ns *corev1.Namespace) bool { return ns == nil }); err != nil {
			t.Errorf("namespace %s is left: %v", name, err)
		}
		cancel()
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReplicaList"))
	if err := c.List(t.Context(), list); !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		t.Errorf("the CRD is left: %v", err)
	}

	t.Log("a namespace of somebody's own is not taken, and not removed")
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-blue"}}); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	err = run(t.Context(), []string{"--play", "--kubeconfig", plane.KubeconfigPath()}, out, out)
	if err == nil || !strings.Contains(err.Error(), "team-blue") {
		t.Errorf("error %v, want one that names team-blue", err)
	}
	ns := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "team-blue"}, ns); err != nil || !ns.DeletionTimestamp.IsZero() {
		t.Errorf("team-blue: %v, deleted at %v", err, ns.DeletionTimestamp)
	}
}

// The flags of the replicator itself: addresses, and one namespace only.
func TestE2EFlags(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	known := scheme.Builtin()
	if err := known.Install(v1alpha1.AddToScheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config(), &client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	crds, err := envtest.ReadCRDs("config/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
		t.Fatal(err)
	}
	// The one that is not to be served is there first.
	wish := func(namespace string) *v1alpha1.Replica {
		return &v1alpha1.Replica{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wish"},
			Spec:       v1alpha1.ReplicaSpec{Source: v1alpha1.Source{Kind: v1alpha1.KindConfigMap, Name: "nothing"}},
		}
	}
	for _, namespace := range []string{"other", "served"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), wish(namespace)); err != nil {
			t.Fatal(err)
		}
	}

	health, metrics := freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--kubeconfig", plane.KubeconfigPath(), "--namespace", "served", "--health", health, "--metrics", metrics}, &bytes.Buffer{}, &bytes.Buffer{})
	}()
	_, err = envtest.WaitFor(ctx, c, wish("served"), func(r *v1alpha1.Replica) bool {
		return r != nil && len(r.Status.Conditions) > 0
	})
	if err != nil {
		t.Error(err)
	}
	other := wish("other")
	if err := c.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil || len(other.Finalizers)+len(other.Status.Conditions) > 0 {
		t.Errorf("the Replica of another namespace was served: %v, %+v", err, other)
	}
	for _, path := range []string{health + "/healthz", health + "/readyz", metrics + "/metrics"} {
		if err := getOK(ctx, "http://"+path, ended); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// getOK asks until the answer is 200, for half a minute at most.
func getOK(ctx context.Context, url string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case <-time.After(50 * time.Millisecond): // a poll of a real socket, bounded above
		}
	}
}
