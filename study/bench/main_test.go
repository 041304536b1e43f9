package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"governor/study/bench/probe"
)

// The whole bench, with few objects: no figure is judged, but each is there.
func TestBench(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+tableStart+"stale\n"+tableEnd+"after\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	rows := 0
	for _, f := range figures {
		if rows += len(f.in); f.in == nil {
			rows += len(probe.Variants)
		}
	}
	if err := run(t.Context(), []string{"-runs", "1", "-objects", "200", "-into", page}, out); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(out.String(), "\n"), 1+rows; got != want {
		t.Errorf("the table has %d lines, want %d:\n%s", got, want, out)
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	if !strings.HasPrefix(text, "before\n"+tableStart+"1 runs") || !strings.HasSuffix(text, tableEnd+"after\n") || strings.Contains(text, "stale") {
		t.Errorf("the page is now:\n%s", text)
	}
	for _, bad := range []string{"NaN", "Inf", "| 0 |", "| -"} {
		if strings.Contains(text, bad) {
			t.Errorf("a figure is %s:\n%s", bad, text)
		}
	}
}

func TestCompareTakesMedians(t *testing.T) {
	side := func(starts ...float64) (of []*result) {
		for _, x := range starts {
			of = append(of, &result{Result: &probe.Result{StartCPU: x}})
		}
		return of
	}
	rows := compare([]probe.Variant{probe.Protobuf}, results{probe.Protobuf: {
		"upstream": side(100, 900, 200), "governor": side(50, 1, 120, 90),
	}})
	got := rows[0]
	got.figure = ""
	if want := (row{"protobuf", "", "200", "70", "0.35", "≤ 0.6", "≤ 0.35", "aim"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for ratio, want := range map[float64]string{0.35: "aim", 0.36: "must", 0.6: "must", 0.61: "NO", math.NaN(): "NO"} {
		if got := (limit{0.6, 0.35}).verdict(ratio); got != want {
			t.Errorf("%v is %q, want %q", ratio, got, want)
		}
	}
}
