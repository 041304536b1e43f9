package governor

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers says which of our packages each package may import: the arrows of the
// picture in README.md. A package that is not listed may not exist; programs
// (cmd/…) may import everything.
var layers = map[string][]string{
	".":                   {},
	"scheme":              {},
	"workqueue":           {},
	"client/decode":       {},
	"client":              {"scheme", "client/decode"},
	"informer":            {"scheme", "client"},
	"cache":               {"scheme", "client", "client/decode", "informer"},
	"manager":             {"scheme", "client", "informer", "cache"},
	"controller":          {"scheme", "workqueue", "client", "informer", "cache", "manager"},
	"webhook":             {"scheme", "client", "manager"},
	"envtest":             {"scheme", "client", "envtest/storage", "envtest/kinds"},
	"envtest/storage":     {"client"},
	"envtest/kinds":       {"scheme", "client"},
	"envtest/conformance": {"scheme", "envtest"},
}

// allowed lists the import path prefixes that the module may use besides the
// standard library and its own packages, and in which packages; no package
// means every one.
var allowed = map[string][]string{
	"k8s.io/api":                           {},
	"k8s.io/apimachinery":                  {},
	"k8s.io/klog/v2":                       {},
	"github.com/google/go-cmp":             {},
	"k8s.io/client-go/applyconfigurations": {},
	"k8s.io/client-go/rest":                {},
	"k8s.io/client-go/transport":           {},
	"k8s.io/client-go/discovery":           {"client"},
	"k8s.io/client-go/tools/clientcmd":     {"client", "envtest"},
	"k8s.io/client-go/util/flowcontrol":    {"client"},
	"k8s.io/client-go/util/cert":           {},
	"k8s.io/client-go/util/jsonpath":       {"envtest"},
	"k8s.io/client-go/kubernetes/scheme":   {"scheme"},
	"k8s.io/kube-openapi":                  {"envtest", "envtest/kinds"},
	"sigs.k8s.io/yaml":                     {},
	"sigs.k8s.io/json":                     {},
	"sigs.k8s.io/structured-merge-diff/v6": {},
	"github.com/go-logr/logr":              {},
	"gopkg.in/evanphx/json-patch.v4":       {"client", "envtest"},
	"github.com/go-json-experiment/json":   {},
	"github.com/prometheus/client_golang":  {"manager"},
	"gomodules.xyz/jsonpatch/v2":           {"webhook"},
}

// forbidden lists what Governor rebuilds by hand, and what would pull it in.
// A forbidden path wins over an allowed prefix of it.
var forbidden = []string{
	"k8s.io/client-go/tools/cache",
	"k8s.io/client-go/tools/events",
	"k8s.io/client-go/tools/leaderelection",
	"k8s.io/client-go/tools/record",
	"k8s.io/client-go/util/workqueue",
	"k8s.io/client-go/informers",
	"k8s.io/client-go/listers",
	"k8s.io/client-go/kubernetes",
	"k8s.io/client-go/dynamic",
	"k8s.io/client-go/metadata",
	"golang.org/x/time/rate",
	"sigs.k8s.io/controller-runtime",
}

func TestLayersHold(t *testing.T) {
	files := goFiles(t, ".")
	if len(files) == 0 {
		t.Fatal("no Go file found")
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkImports(file, src) {
			t.Error(problem)
		}
	}
}

// A check that cannot fail holds nothing: each kind of violation is planted once.
func TestLayersCatchViolations(t *testing.T) {
	tests := []struct{ name, file, imports, want string }{
		{"arrow against the layers", "workqueue/x.go", "governor/client", "may not import governor/client"},
		{"arrow upwards", "client/x.go", "governor/cache", "may not import governor/cache"},
		{"layer that nobody drew", "util/x.go", "fmt", "is not a layer"},
		{"informers of client-go", "cache/x.go", "k8s.io/client-go/tools/cache", "is rebuilt here by hand"},
		{"clientset", "manager/x.go", "k8s.io/client-go/kubernetes/typed/core/v1", "is rebuilt here by hand"},
		{"upstream", "cmd/demo/x.go", "sigs.k8s.io/controller-runtime/pkg/client", "is rebuilt here by hand"},
		{"unknown library", "scheme/x.go", "github.com/stretchr/testify/assert", "is not among the dependencies"},
		{"edge library in a layer", "cache/x.go", "github.com/prometheus/client_golang/prometheus", "only in manager"},
		{"good", "manager/x.go", "governor/cache", ""},
		{"good program", "cmd/demo/x.go", "governor/controller", ""},
		{"good scheme", "scheme/x.go", "k8s.io/client-go/kubernetes/scheme", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := fmt.Sprintf("package x\n\nimport _ %q\n", tt.imports)
			problems := checkImports(tt.file, []byte(src))
			if got := strings.Join(problems, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want one with %q", got, tt.want)
			}
		})
	}
}

// checkImports returns a sentence for each import of a file that breaks a rule.
func checkImports(file string, src []byte) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
	if err != nil {
		return []string{err.Error()}
	}
	dir := path.Dir(filepath.ToSlash(file))
	program := strings.HasPrefix(dir, "cmd/")
	ours, known := layers[dir]
	if !known && !program {
		return []string{fmt.Sprintf("%s: %s is not a layer; draw it in layers_test.go and README.md first", file, dir)}
	}
	var problems []string
	for _, spec := range parsed.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if problem := checkImport(dir, imported, ours, program); problem != "" {
			problems = append(problems, file+": "+problem)
		}
	}
	return problems
}

func checkImport(dir, imported string, ours []string, program bool) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case first == "governor":
		if !program && !slices.Contains(ours, strings.TrimPrefix(imported, "governor/")) {
			return fmt.Sprintf("%s may not import %s", dir, imported)
		}
		return ""
	case !strings.Contains(first, "."):
		return "" // the standard library
	}
	prefix := ""
	for p := range allowed {
		if under(imported, p) && len(p) > len(prefix) {
			prefix = p
		}
	}
	for _, f := range forbidden {
		if under(imported, f) && len(f) >= len(prefix) {
			return fmt.Sprintf("%s is rebuilt here by hand, or pulls in what is", imported)
		}
	}
	if prefix == "" {
		return fmt.Sprintf("%s is not among the dependencies in layers_test.go", imported)
	}
	if where := allowed[prefix]; len(where) > 0 && !program && !slices.Contains(where, dir) {
		return fmt.Sprintf("%s is used only in %s", imported, strings.Join(where, ", "))
	}
	return ""
}

// under says whether an import path is prefix or lies below it.
func under(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

// goFiles returns the non-test Go files of this module below root; nested
// modules are left out, since they are other modules.
func goFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return filepath.SkipDir
			}
			if base := d.Name(); base == "bin" || base == "testdata" || strings.HasPrefix(base, ".") {
				return filepath.SkipDir
			}
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
