// Command queue runs the same work through Governor's work queue, client-go's
// and controller-runtime's, and prints how they compare with each other and with
// what was promised.
//
// The three take turns; each figure is the median over the turns, and only the
// ratios within one run mean something: machines are noisy.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	turns := flag.Int("turns", 5, "how often each queue does each work")
	flag.Parse()

	medians := map[*work][]cost{}
	for i := range works {
		w := &works[i]
		costs := make([][]cost, len(queues))
		for range *turns {
			for i, q := range queues {
				if w.of[i] {
					costs[i] = append(costs[i], w.run(q))
				}
			}
		}
		for _, of := range costs {
			medians[w] = append(medians[w], median(of))
		}
		fmt.Fprintln(os.Stderr, "done:", w.name)
	}
	printTable(os.Stdout, medians)
}

// cost is of one key.
type cost struct{ ns, allocations float64 }

func median(costs []cost) cost {
	if len(costs) == 0 {
		return cost{}
	}
	of := func(value func(cost) float64) float64 {
		values := make([]float64, len(costs))
		for i, c := range costs {
			values[i] = value(c)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return cost{of(func(c cost) float64 { return c.ns }), of(func(c cost) float64 { return c.allocations })}
}
