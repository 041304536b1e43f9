package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Contract 3: only the answers change when a script is recorded.
func TestScriptsAreWrittenAsTheyWereRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	checks := 0
	for _, file := range files {
		s, err := readScript(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != string(text) {
			t.Errorf("%s is written otherwise than it was read", file)
		}
		for _, c := range s.cases {
			for _, k := range c.checks {
				if len(k.answer) == 0 && !strings.HasPrefix(k.request[0], "COMPACT ") {
					t.Errorf("%s:%d: no answer: record it", file, k.line)
				}
				checks++
			}
		}
	}
	if checks < 300 {
		t.Errorf("%d checks, want at least 300", checks)
	}
	t.Logf("%d checks in %d scripts", checks, len(files))
}

func TestScriptsWithMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", `1: no "=== "`},
		{"request before a case", "GET /a\n----\n", "1: a request before"},
		{"no answer mark", "=== a\nGET /a\n", "2: no \"----\""},
		{"no answer mark before the next case", "=== a\nGET /a\n\n=== b\n", "2: no \"----\""},
		{"one title twice", "=== a\n=== a\n", "2: a second case"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseScript(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestDiffersHoldsToTheEndOfTheCase(t *testing.T) {
	s, err := parseScript("=== a\nGET /1\n----\n\n# differs: x: y\nGET /2\n----\n\nGET /3\n----\n\n=== b\nGET /4\n----\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.cases {
		for _, k := range c.checks {
			got = append(got, k.differs)
		}
	}
	if want := ",x: y,x: y,"; strings.Join(got, ",") != want {
		t.Errorf("differs %q, want %q", got, want)
	}
}
