// Command viewers measures the cost of looking at a run: pairs of etcd runs at two rates, one with
// viewers of its live page and one without. Run it with `make viewers`.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/tools/experiment"
)

const text = `title: viewers
hosts: [127.0.4.1, 127.0.4.2, 127.0.4.3]
load: {operation: write, rate: %d, duration: 17s, warm_up: 2s, clients: 50, connections: 10, key_size: 32, value_size: 256}
consistency: false
databases:
  etcd: {}
`

// rates are in writes per second. A viewer costs control the same at both: at the high one, runs differ
// from one another by more than that, and at the low one the load takes too little for that.
var rates = []int{1000, 50}

func main() { experiment.Main("viewers", viewers) }

func viewers(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("viewers", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	n := flags.Int("n", 10, "pairs of each rate")
	pages := flags.Int("viewers", 3, "viewers of a run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "viewers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	heading(out, *n, *pages)
	for _, rate := range rates {
		measure := func(pages int) func() (figures, error) {
			return func() (figures, error) {
				into := filepath.Join(dir, "run")
				defer os.RemoveAll(into)
				return run(ctx, *program, into, rate, pages)
			}
		}
		list, failed := experiment.Pairs(ctx, *n, measure(*pages), measure(0), func(number int, p experiment.Pair[figures]) {
			fmt.Fprintf(progress, "%d/s, pair %d: %.2f %% of a core with viewers, %.2f %% without\n", rate, number, p.With.cpu, p.Without.cpu)
		})
		report(out, rate, list, failed)
		if len(list) < order.Least {
			return fmt.Errorf("%d of %d pairs succeeded, too few for an interval: %v", len(list), *n, failed)
		}
	}
	return nil
}

// heading prints the title and how the measurement was made.
func heading(out io.Writer, n, pages int) {
	fmt.Fprintf(out, "# What looking at a run costs it\n\nAt each rate, %d pairs of runs whose order alternates, with a fresh cluster of three members of etcd each; one run of a pair has %d viewers of its [live page](../docs/live.md), which read all that it sends. Members, agents, viewers and the load share one machine with %d processors, %s. Made by `make viewers`.\n\nThe ratio is the median of the ratios within pairs, with the interval of their order statistics. *Within noise* is one whose interval has 1; a wide one, as on a busy machine, excludes little.\n", n, pages, runtime.NumCPU(), experiment.Busy("before"))
}

// report prints the differences within the pairs at a rate.
func report(out io.Writer, rate int, list []experiment.Pair[figures], failed []string) {
	fmt.Fprintf(out, "\n## %d writes a second\n\n", rate)
	experiment.Compare(out, "with viewers", "without", list, failed,
		experiment.Figure[figures]{Name: "processor time of control and its agents, of a core", Unit: " %", Scale: 1, Of: func(f figures) float64 { return f.cpu }},
		experiment.Figure[figures]{Name: "the load's lateness, p50", Unit: " ms", Scale: 1e3, Of: func(f figures) float64 { return f.late50 }},
		experiment.Figure[figures]{Name: "the load's lateness, p99", Unit: " ms", Scale: 1e3, Of: func(f figures) float64 { return f.late99 }},
		experiment.Figure[figures]{Name: "response time, mean", Unit: " ms", Scale: 1e3, Of: func(f figures) float64 { return f.response }})
	var more []float64
	for _, p := range list {
		more = append(more, p.With.cpu-p.Without.cpu)
	}
	m := order.Of(more)
	fmt.Fprintf(out, "\nViewers cost control %.2f %% of a core (%.2f to %.2f, %.1f %%), the median of the differences within %d pairs.\n", m.Is, m.Low, m.High, 100*m.Coverage, len(list))
}
