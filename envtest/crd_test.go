package envtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"governor/client"
	"governor/envtest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestReadCRDs(t *testing.T) {
	for _, paths := range [][]string{
		{"testdata/crds"},
		{"testdata/crds/gadgets.json", "testdata/crds/widgets.yaml"},
	} {
		crds, err := envtest.ReadCRDs(paths...)
		if err != nil {
			t.Errorf("%v: %v", paths, err)
		}
		var names []string
		for _, crd := range crds {
			name, _, _ := strings.Cut(crd.GetName(), ".")
			names = append(names, name)
		}
		if want := []string{"gadgets", "widgets", "factories"}; !slices.Equal(names, want) {
			t.Errorf("%v: read %v, want %v", paths, names, want)
		}
	}
}

// Contract 11: bad input is an error that names the file.
func TestReadCRDsRefuses(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"
	for _, tt := range []struct{ name, text, says string }{
		{"another kind", crd + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", "document 2 is a v1 Namespace"},
		{"another version", strings.Replace(crd, "/v1", "/v1beta1", 1), "not a CustomResourceDefinition of apiextensions.k8s.io/v1"},
		{"no kind", "metadata: {name: x}\n", "'Kind' is missing"},
		{"no name", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", "has no name"},
		{"not YAML", "a: [", "document 1"},
		{"not an object", "- a\n- b\n", "document 1"},
		{"empty", "# nothing here\n", "there is no CustomResourceDefinition"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{file, filepath.Dir(file)} {
				crds, err := envtest.ReadCRDs("testdata/crds", path)
				if err == nil || crds != nil {
					t.Fatalf("read %d CRDs, error %v", len(crds), err)
				}
				if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Errorf("error %q, want one that says %q and names %s", err, tt.says, path)
				}
			}
		})
	}
	for _, path := range []string{"testdata/none", t.TempDir()} {
		if _, err := envtest.ReadCRDs(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Contract 11. Case 58: what InstallCRDs has installed is served.
func TestE2ECRDs(t *testing.T) {
	plane := envtest.RequireControlPlane(t, nil)
	c, err := client.New(plane.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := envtest.ReadCRDs("testdata/crds")
	if err != nil {
		t.Fatal(err)
	}
	widget := func(version, name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("envtest.governor.dev/" + version)
		u.SetKind("Widget")
		u.SetNamespace("default")
		u.SetName(name)
		return u
	}
	// Several times, for what is served a moment too late is not always late;
	// and what was uninstalled can be installed again.
	for range 3 {
		before := crds[1].DeepCopy()
		if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, crds[1]); diff != "" {
			t.Errorf("InstallCRDs wrote into the caller's object:\n%s", diff)
		}
		// A client that has never seen the kinds, and plain HTTP.
		fresh, err := client.New(plane.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Create(t.Context(), widget("v1", "first")); err != nil {
			t.Errorf("first request after the installation: %v", err)
		}
		s := serverOf(t, plane.Config())
		for _, path := range []string{"widgets", "gadgets", "factories"} {
			s.must("GET", "/apis/envtest.governor.dev/v1/"+path, "")
		}
		s.must("GET", "/apis/envtest.governor.dev/v1", "")
		if err := envtest.UninstallCRDs(t.Context(), c, crds...); err != nil {
			t.Fatal(err)
		}
		if status, _ := s.do("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.envtest.governor.dev", ""); status != 404 {
			t.Errorf("after UninstallCRDs the CRD is there: %d", status)
		}
	}
	if err := envtest.UninstallCRDs(t.Context(), c, crds...); err != nil {
		t.Errorf("uninstall what is gone: %v", err)
	}

	// An update that serves another version.
	if err := envtest.InstallCRDs(t.Context(), c, crds...); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), widget("v1alpha1", "second")); err == nil {
		t.Error("a version that is not served was served")
	}
	updated := crds[1].DeepCopy()
	versions, _, _ := unstructured.NestedSlice(updated.Object, "spec", "versions")
	versions[1].(map[string]any)["served"] = true
	if err := unstructured.SetNestedSlice(updated.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := envtest.InstallCRDs(t.Context(), c, updated); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), widget("v1alpha1", "second")); err != nil {
		t.Errorf("first request for the new version: %v", err)
	}

	// Errors say what is wrong with which.
	twin := crds[0].DeepCopy()
	twin.SetName("twins.envtest.governor.dev")
	if err := unstructured.SetNestedField(twin.Object, "twins", "spec", "names", "plural"); err != nil {
		t.Fatal(err)
	}
	err = envtest.InstallCRDs(t.Context(), c, twin)
	if err == nil || !strings.Contains(err.Error(), "twins.envtest.governor.dev: its names are not accepted") {
		t.Errorf("a CRD whose kind is taken: %v", err)
	}
	invalid := crds[0].DeepCopy()
	unstructured.RemoveNestedField(invalid.Object, "spec", "scope")
	invalid.SetName("other.envtest.governor.dev")
	if err := envtest.InstallCRDs(t.Context(), c, invalid); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid CRD: %v, want Invalid", err)
	}
}
