// Command queue runs the same work through Governor's work queue, client-go's
// and controller-runtime's, and prints how they compare with each other and with
// what was promised.
//
// The three take turns; each figure is the median over the turns, and only the
// ratios within one run mean something: machines are noisy. What holds is judged
// by the time of the processor, which others on the machine disturb least; the
// ratio on the clock stands beside it.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	turns := flag.Int("turns", 5, "how often each queue does each work")
	only := flag.String("only", "", "do only works whose name contains this")
	flag.Parse()

	medians := map[*work][]cost{}
	for i := range works {
		w := &works[i]
		if !strings.Contains(w.name, *only) {
			continue
		}
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

// cost is of one key: nanoseconds of a processor, nanoseconds on the clock.
type cost struct{ cpu, wall, allocations float64 }

func median(costs []cost) cost {
	return cost{
		medianOf(costs, func(c cost) float64 { return c.cpu }),
		medianOf(costs, func(c cost) float64 { return c.wall }),
		medianOf(costs, func(c cost) float64 { return c.allocations }),
	}
}

func medianOf(costs []cost, value func(cost) float64) float64 {
	if len(costs) == 0 {
		return 0
	}
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = value(c)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
