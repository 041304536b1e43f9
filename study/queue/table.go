package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printTable prints a line per promise, and lines for ratios that nothing was
// promised of.
func printTable(out io.Writer, medians map[*work][]cost) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "work\trelative to\tCPU ns per key, theirs\tours\tratio\tmust\taim\tholds\ton the clock\tallocations per key, theirs\tours")
	for i := range works {
		w := &works[i]
		if medians[w] == nil {
			continue
		}
		ours := medians[w][governor]
		for _, l := range w.limits {
			theirs := medians[w][l.to]
			ratio := ours.cpu / theirs.cpu
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.2f\t%s\t%s\t%s\t%.2f\t%.1f\t%.1f\n", w.name, names[l.to],
				theirs.cpu, ours.cpu, ratio, text(l.must), text(l.aim), l.verdict(ratio),
				ours.wall/theirs.wall, theirs.allocations, ours.allocations)
		}
	}
	table.Flush()
}

func text(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("≤ %v", ratio)
}

func (l limit) verdict(ratio float64) string {
	switch {
	case l.must == 0:
		return "–"
	case ratio <= l.aim:
		return "aim"
	case ratio <= l.must:
		return "must"
	default:
		return "NO"
	}
}
