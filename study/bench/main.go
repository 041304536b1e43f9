// Command bench runs the same controller on controller-runtime and on Governor,
// and prints what each costs, and the ratios.
//
//	bench ──┬─ serves: 20,000 canned Pods, TLS, HTTP/2        (this process)
//	        ├─ upstream: manager, cache, controller           (a process per run)
//	        └─ governor: manager, cache, controller           (a process per run)
//
// The two take turns; each figure is the median over the runs, and only the
// ratios within one run of the bench mean something: machines are noisy.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"governor/study/bench/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	b := &bench{log: os.Stderr}
	flags.IntVar(&b.runs, "runs", 5, "how often each side runs")
	flags.IntVar(&b.objects, "objects", 20000, "how many Pods there are; of the custom resource half as many")
	flags.StringVar(&b.profile, "profile", "", "directory for CPU profiles of each last run; none if empty")
	only := flags.String("only", "", "the variants whose name has this in it; all if empty")
	into := flags.String("into", "", "Markdown file whose table to replace")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var variants []probe.Variant
	for _, v := range probe.Variants {
		if strings.Contains(string(v), *only) {
			variants = append(variants, v)
		}
	}
	results, err := b.measure(ctx, variants)
	if err != nil {
		return err
	}
	rows := compare(variants, results)
	printTable(out, rows)
	if *into == "" {
		return nil
	}
	conditions := fmt.Sprintf("%d runs of each side, in turn; %d Pods, all of which change in a burst; %d of the custom resource, %d of which do; %d cores (%s/%s), %s.",
		b.runs, b.objects, b.objectsOf(probe.JSON), b.burstOf(probe.JSON), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return replaceTable(*into, conditions, rows)
}
