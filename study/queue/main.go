// Command queue runs the same work through Governor's work queue, client-go's
// and controller-runtime's, and prints how they compare.
//
// The three take turns; each figure is the median over the turns, and only the
// ratios within one run mean something: machines are noisy.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"text/tabwriter"

	"governor/workqueue"

	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// turns is how often each queue does each work.
const turns = 7

// queue is what all three can do.
type queue struct {
	name string
	make func() (add func(int), get func() int, done func(int), stop func())
}

var queues = []queue{
	{"governor", func() (func(int), func() int, func(int), func()) {
		q := workqueue.New[int](nil)
		ctx := context.Background()
		get := func() int {
			item, err := q.Get(ctx)
			if err != nil {
				panic(err)
			}
			return item.Key
		}
		return q.Add, get, q.Done, q.ShutDown
	}},
	{"client-go", func() (func(int), func() int, func(int), func()) {
		q := upstream.NewTyped[int]()
		get := func() int { key, _ := q.Get(); return key }
		return q.Add, get, q.Done, q.ShutDown
	}},
	{"controller-runtime", func() (func(int), func() int, func(int), func()) {
		q := priorityqueue.New[int]("study")
		get := func() int { key, _ := q.Get(); return key }
		return q.Add, get, q.Done, q.ShutDown
	}},
}

// works are done per operation; each adds, gets and ends n keys.
var works = []struct {
	name string
	keys int
}{
	{"Add+Get+Done, one at a time", 1},
	{"1000 Add, then 1000 Get+Done", 1000},
}

func main() {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "work\tqueue\tns per key\tallocations per key\tgovernor ÷ it")
	for _, work := range works {
		ns, allocations := make([][]float64, len(queues)), make([][]float64, len(queues))
		for range turns {
			for i, q := range queues {
				result := measure(q, work.keys)
				ns[i] = append(ns[i], float64(result.NsPerOp())/float64(work.keys))
				allocations[i] = append(allocations[i], float64(result.AllocsPerOp())/float64(work.keys))
			}
		}
		for i, q := range queues {
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.1f\t%.2f\n", work.name, q.name, median(ns[i]), median(allocations[i]), median(ns[0])/median(ns[i]))
		}
	}
	table.Flush()
}

func measure(q queue, keys int) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		add, get, done, stop := q.make()
		defer stop()
		b.ReportAllocs()
		for b.Loop() {
			for key := range keys {
				add(key)
			}
			for range keys {
				done(get())
			}
		}
	})
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
