package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"

	"governor/study/bench/probe"
)

// row is one figure of one variant, in words.
type row struct {
	variant, figure, upstream, governor, ratio, must, aim, holds string
}

// compare takes the medians of all runs.
func compare(variants []probe.Variant, all results) []row {
	var rows []row
	for _, v := range variants {
		for _, f := range figures {
			if f.in != nil && !slices.Contains(f.in, v) {
				continue
			}
			theirs := f.theirs
			if theirs == nil {
				theirs = f.of
			}
			upstream, governor := theirs.median(all[v][sides[0]]), f.of.median(all[v][sides[1]])
			ratio, limit := governor/upstream, f.limits[v]
			number := func(x float64) string { return strconv.FormatFloat(x, 'f', f.digits, 64) }
			rows = append(rows, row{
				string(v), f.name, number(upstream), number(governor), ratioText(ratio),
				limit.text(limit.must), limit.text(limit.aim), limit.verdict(ratio),
			})
		}
	}
	return rows
}

// ratioText has two digits that mean something, of small ones too.
func ratioText(ratio float64) string {
	if ratio < 0.0995 {
		return fmt.Sprintf("%.3f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

func (m measure) median(of []*result) float64 {
	values := make([]float64, len(of))
	for i, r := range of {
		values[i] = m(r)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func (limit) text(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("≤ %v", x)
}

func (l limit) verdict(ratio float64) string {
	switch {
	case l == limit{}:
		return "–"
	case ratio <= l.aim:
		return "aim"
	case ratio <= l.must:
		return "must"
	default:
		return "NO"
	}
}

func (r row) cells() []any {
	return []any{r.variant, r.figure, r.upstream, r.governor, r.ratio, r.must, r.aim, r.holds}
}

var heading = row{"variant", "figure", "upstream", "governor", "ratio", "must", "aim", "holds"}

func printTable(out io.Writer, rows []row) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range append([]row{heading}, rows...) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.cells()...)
	}
	table.Flush()
}

// The table stands between these lines of a Markdown file.
const tableStart, tableEnd = "<!-- bench: start -->\n", "<!-- bench: end -->\n"

// replaceTable puts a new table in the place of the old one.
func replaceTable(path, conditions string, rows []row) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(page, []byte(tableStart))
	_, after, ended := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and %q to put the table between", path, tableStart, tableEnd)
	}
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "%s%s%s\n\n", before, tableStart, conditions)
	for i, r := range append([]row{heading}, rows...) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.cells()...)
		if i == 0 {
			fmt.Fprint(b, "|---|---|---:|---:|---:|---|---|---|\n")
		}
	}
	b.WriteString(tableEnd)
	b.Write(after)
	return os.WriteFile(path, b.Bytes(), 0o666)
}
