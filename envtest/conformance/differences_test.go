package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guide is the page whose table of differences is made from the scripts.
const (
	guide = "../../docs/envtest.md"
	begin = "<!-- differences: made from the scripts by go test -update -->\n"
	end   = "<!-- end of differences -->\n"
)

// Contract 4.
func TestDifferencesAreInTheGuide(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table, between %q and %q", guide, begin, end)
	}
	want := differences(t)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(guide, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("the table of %s is not that of the scripts; go test -run TestDifferences -update writes it:\n%s", guide, diff)
	}
}

// differences is a table of every "# differs: what: why" and where it stands.
func differences(t *testing.T) string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]string{}
	for _, file := range files {
		s, err := readScript(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.cases {
			for _, k := range c.checks {
				at := s.name + ": " + c.title
				if k.differs != "" && !slices.Contains(cases[k.differs], at) {
					cases[k.differs] = append(cases[k.differs], at)
				}
			}
		}
	}
	var rows []string
	for reason, at := range cases {
		what, why, ok := strings.Cut(reason, ": ")
		if !ok {
			t.Errorf("%s: %q is not of the form \"what: why\"", at[0], reason)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", what, why, strings.Join(at, "; ")))
	}
	slices.Sort(rows)
	return "| The server in memory | because | seen in |\n|---|---|---|\n" + strings.Join(rows, "")
}
