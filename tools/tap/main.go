// Command tap checks the tap by which disk faults delay fsync, on three etcd members. Their own
// histograms must have the delay while a fault lasts and not afterwards. Pairs of runs with and
// without a tap measure its cost while there is no fault. Run it with `make tap`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("tap", tap) }

func tap(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("tap", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	n := flags.Int("n", 10, "faults")
	pairs := flags.Int("pairs", 20, "pairs of runs with and without a tap, of each load")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tap-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "# The tap on fsync\n\nFaults of kind `disk` pass the calls that put writes on disk through the agent of the member. Here are three members of etcd on one machine, in the process of `dbtester control --local`. Made by `make tap` on %d processors, %s.\n", runtime.NumCPU(), experiment.Busy("before"))
	var errs []error
	if *n > 0 {
		list, err := delayed(ctx, *program, filepath.Join(dir, "delayed"), *n)
		if err == nil {
			err = reportDelayed(out, list)
		}
		errs = append(errs, err)
	}
	if *pairs > 0 {
		reportCosts(out, *pairs)
		for _, c := range costLoads() {
			list, failed := c.pairs(ctx, *program, dir, *pairs, progress)
			c.report(out, list, failed)
			if len(list) < order.Least {
				errs = append(errs, fmt.Errorf("with %s %d of %d pairs succeeded, too few for an interval: %v", c.name, len(list), *pairs, failed))
			}
		}
	}
	return errors.Join(errs...)
}
