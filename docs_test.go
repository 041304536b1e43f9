package governor

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docSections are what each layer's package comment has, in this order.
var docSections = []string{"# Where it sits", "# Contract", "# Upstream"}

func TestDocs(t *testing.T) {
	for dir := range layers {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			continue // a layer that a later issue builds
		}
		t.Run(dir, func(t *testing.T) {
			doc, err := os.ReadFile(filepath.Join(dir, "doc.go"))
			if err != nil {
				t.Fatalf("each package has a doc.go: %v", err)
			}
			for _, problem := range checkSections(string(doc)) {
				t.Errorf("%s/doc.go: %s", dir, problem)
			}
		})
	}
	for _, file := range goFiles(t, ".") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkComments(file, src) {
			t.Error(problem)
		}
	}
}

func TestDocsCatchGaps(t *testing.T) {
	sections := "// Package x …\n//\n// # Where it sits\n//\n// # Contract\n//\n//  1. One.\n//\n// # Upstream\npackage x\n"
	if problems := checkSections(sections); len(problems) > 0 {
		t.Errorf("a good doc.go: %v", problems)
	}
	for _, gap := range []string{"# Where it sits", "# Contract", "# Upstream", "1. One."} {
		if problems := checkSections(strings.Replace(sections, gap, "", 1)); len(problems) == 0 {
			t.Errorf("doc.go without %q passed", gap)
		}
	}
	swapped := strings.NewReplacer("# Contract", "# Upstream", "# Upstream", "# Contract").Replace(sections)
	if problems := checkSections(swapped); len(problems) == 0 {
		t.Error("sections in the wrong order passed")
	}
	bare := "package x\n\ntype T struct{}\n\nfunc (T) M() {}\n\nfunc F() {}\n\nconst C = 1\n\nvar V int\n"
	if problems := checkComments("x.go", []byte(bare)); len(problems) != 5 {
		t.Errorf("found %d uncommented names, want 5: %v", len(problems), problems)
	}
}

// TestUpstreamNames holds docs/upstream.md to its promise: a row for every
// exported type and function.
func TestUpstreamNames(t *testing.T) {
	page, err := os.ReadFile("docs/upstream.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range goFiles(t, ".") {
		dir := filepath.ToSlash(filepath.Dir(file))
		if _, layer := layers[dir]; !layer || dir == "." {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			for _, name := range exportedNames(decl) {
				if !strings.Contains(string(page), "`"+dir+"."+name+"`") {
					t.Errorf("docs/upstream.md has no row for `%s.%s` (%s)", dir, name, file)
				}
			}
		}
	}
}

// TestReadmePicture holds the picture of the way of the data to its word: what
// has a slash is a file. The package's documentation shows the same picture.
func TestReadmePicture(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```\n")
	picture, _, _ := strings.Cut(rest, "```")
	files := regexp.MustCompile(`[a-z]+/[a-z_]+`).FindAllString(picture, -1)
	if len(files) < 10 {
		t.Fatalf("found only %v in the picture", files)
	}
	for _, file := range files {
		if _, err := os.Stat(file + ".go"); err != nil {
			t.Errorf("the picture has %s, which is no file", file)
		}
	}
	for line := range strings.Lines(picture) {
		if !strings.Contains(string(doc), "//\t"+line) {
			t.Errorf("doc.go lacks the picture's line %q", line)
		}
	}
}

// TestReadmeShowsTheExample holds README's controller to the code that is
// compiled and run: the Example of package controller.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("controller/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	shown, _, closed := strings.Cut(rest, "\n```")
	if !found || !closed || !strings.Contains(string(example), shown) {
		t.Error("README.md shows another controller than controller/example_test.go: copy the Example")
	}
}

// exportedNames returns the exported types and functions of a declaration.
func exportedNames(decl ast.Decl) []string {
	var names []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}

func checkSections(doc string) []string {
	var problems []string
	at := 0
	for _, section := range docSections {
		i := strings.Index(doc, "// "+section+"\n")
		switch {
		case i < 0:
			problems = append(problems, fmt.Sprintf("no section %q", section))
		case i < at:
			problems = append(problems, fmt.Sprintf("section %q is out of order", section))
		default:
			at = i
		}
	}
	if !strings.Contains(doc, " 1. ") {
		problems = append(problems, "the contract's promises are not numbered")
	}
	return problems
}

// checkComments returns a sentence for each exported name without a comment.
func checkComments(file string, src []byte) []string {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	missing := func(pos token.Pos, name string) {
		problems = append(problems, fmt.Sprintf("%s: %s has no comment", fset.Position(pos), name))
	}
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && receiverExported(d) && d.Doc == nil {
				missing(d.Pos(), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				checkSpec(d, spec, missing)
			}
		}
	}
	return problems
}

func checkSpec(d *ast.GenDecl, spec ast.Spec, missing func(token.Pos, string)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
			missing(s.Pos(), s.Name.Name)
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil || d.Doc != nil {
			return
		}
		if i := slices.IndexFunc(s.Names, (*ast.Ident).IsExported); i >= 0 {
			missing(s.Pos(), s.Names[i].Name)
		}
	}
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	name := d.Recv.List[0].Type
	for {
		switch n := name.(type) {
		case *ast.StarExpr:
			name = n.X
		case *ast.IndexExpr:
			name = n.X
		case *ast.IndexListExpr:
			name = n.X
		case *ast.Ident:
			return n.IsExported()
		default:
			return true
		}
	}
}
