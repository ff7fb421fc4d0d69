// Command observer compares the response times and lateness that dbtester reports with those that a
// proxy between it and etcd measures, which parses HTTP/2 itself and has its own clocks. Run it
// with `make observer`.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("observer", observe) }

func observe(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("observer", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	runs := flags.Int("runs", 10, "runs of each load")
	least := flags.Duration("least", 150*time.Millisecond, "how long the proxy holds back each answer")
	mean := flags.Duration("mean", 5*time.Millisecond, "and the mean of what it adds to that at random, by an exponential law")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *runs < 1 {
		return fmt.Errorf("runs must be positive, got %d", *runs)
	}
	version, err := experiment.Version(ctx, *program)
	if err != nil {
		return err
	}
	busy := experiment.Busy("before")
	dir, err := os.MkdirTemp("/dev/shm", "observer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	delay := func() time.Duration { return *least + time.Duration(rand.ExpFloat64()*float64(*mean)) }
	all := loads()
	seen := make([][]sides, len(all))
	for n := range *runs {
		for i, l := range all {
			s, err := run(ctx, *program, dir, l, delay)
			if err != nil {
				return fmt.Errorf("%s: %w", l, err)
			}
			seen[i] = append(seen[i], s)
			fmt.Fprintf(progress, "run %d, %s: mean %.2f ms, observed %.2f; p99 %.2f ms, observed %.2f\n", n+1, l, s.reported.mean, s.observed.mean, s.reported.p99, s.observed.p99)
		}
	}
	fmt.Fprintf(out, "# Response times beside those of an outside observer\n\nMade by `make observer` with %s on %d processors, %s, %s.\n\n", version, runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), busy)
	fmt.Fprintf(out, "The observer is a proxy between dbtester and one member of etcd, both on this machine. It stamps a put when the last of its bytes has come from the client, and again when it sends the client the end of the answer. It holds back each answer by %v and a random time with a mean of %v, so that the processors are mostly idle. What is left between the stamps and dbtester's is loopback, the waking of either process, and the delay that a request had in dbtester. Where requests have a rate, times are from when they were due, evenly from the latest start that no put contradicts by its arrival.\n\n", *least, *mean)
	fmt.Fprintf(out, "%d runs of each load, in turn; medians, and medians of the ratios of reported to observed within runs with the interval of their order statistics. The mean must be within %.0f %% and p99 within %.0f %%.\n\n", *runs, 100*mostMean, 100*mostP99)
	return print(out, all, seen)
}
