package envtest_test

import (
	"testing"

	"governor/client"
	"governor/cmd/demo/v1alpha1"
	"governor/envtest"
	"governor/scheme"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A custom kind is held unstructured, also when the server's scheme has a Go
// type for it: every verb takes it all the same.
func TestCustomKindThatTheSchemeKnows(t *testing.T) {
	known := scheme.Builtin()
	if err := known.Install(v1alpha1.AddToScheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(envtest.NewServer(&envtest.Options{Scheme: known}).Config(), &client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	crds, err := envtest.ReadCRDs("../cmd/demo/config/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
		t.Fatal(err)
	}
	r := &v1alpha1.Replica{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"},
		Spec:       v1alpha1.ReplicaSpec{Source: v1alpha1.Source{Kind: v1alpha1.KindConfigMap, Name: "x"}},
	}
	if err := c.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	before := r.DeepCopy()
	r.Finalizers = []string{"example.com/hold"}
	if err := c.Patch(t.Context(), r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}
	r.Status.Wanted = 3
	if err := c.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Finalizers = nil
	if err := c.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.Status.Wanted != 3 || r.Generation != 1 {
		t.Errorf("status %+v, generation %d", r.Status, r.Generation)
	}
	if err := c.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}
