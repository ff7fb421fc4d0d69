// Command verdicts simulates measurements with a known truth, and prints how often the decisions of
// dbtester from them are right. Run it by `make verdicts`.
//
// Simulation number i in row r of a table draws from the seeds i and r. They were fixed before the
// methods were.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

// run prints the tables as Markdown.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	comparisons := flags.Int("comparisons", 2000, "simulated comparisons per row, at least 1")
	searches := flags.Int("searches", 1000, "simulated searches for a capacity per row, at least 1")
	rivals := flags.Int("rivals", 200, "simulated searches by other methods per row, at least 1")
	screens := flags.Int("screens", 2000, "simulated first screens per row, at least 1")
	only := flags.String("only", "", "compare, capacity or screen; empty for all; bucket for a search in real time, on this machine")
	reports := flags.String("reports", "", "in place of simulations: print what first screens in this folder of scripts/screens-real.sh say")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *reports != "" {
		list, err := realScreens(*reports)
		if err != nil {
			return err
		}
		return realScreenTable(out, list)
	}
	if min(*comparisons, *searches, *rivals, *screens) < 1 {
		return fmt.Errorf("comparisons, searches, rivals and screens must be at least 1, got %d, %d, %d and %d", *comparisons, *searches, *rivals, *screens)
	}
	if *only == "bucket" {
		return bucketTable(out, bucketPlan(), 1)
	}
	fmt.Fprintf(out, "# Verdicts, simulated\n\nBy `make verdicts`: the seeds are fixed, so the numbers are the same on every machine.\n\n")
	if *only == "" || *only == "screen" {
		fmt.Fprintf(out, "## First screen\n\n%s\n\n", fmt.Sprintf(screenText, *screens))
		screenTable(out, *screens)
		fmt.Fprintf(out, "\n%s\n\n", plannedText)
		plannedTable(out)
		fmt.Fprintln(out)
	}
	if *only == "" || *only == "compare" {
		fmt.Fprintf(out, "## Compare\n\n%s\n\n", fmt.Sprintf(compareText, *comparisons))
		comparisonTable(out, *comparisons)
	}
	if *only == "" || *only == "capacity" {
		fmt.Fprintf(out, "\n## Capacity\n\n%s\n\n", capacityText)
		capacityTable(out, *searches, *rivals, 1000)
	}
	return nil
}

const compareText = "Each row is %d comparisons of A and B in blocks of A B B A, at 5 %% and a margin of 3 %%, on a host whose speed drifts by up to 6 %% over the series and wanders by 3 %%. A verdict of worse is confirmed by one more block of two pairs. Of two metrics only the first one has the true change, and they are independent of each other. `until 20` looks after 8, 10, ... 20 pairs and stops at the first verdict. At a true change of 0 a verdict of worse is a false alarm. Runs that are not interleaved are compared as groups: the drift of the host looks like a change, and intervals are too narrow."

const capacityText = "Each row is of searches for the rate at which 80 % of windows of 8 s have a p99 of at most 20 ms, on a simulated server of 2,000/s whose capacity varies from window to window. Cliff: a request that waited for more than 5 ms costs three times as much. Drift: the capacity rises or falls by 4 % over 400 s; the truth is that in the middle of the search. Stalls: the server stands still for 100 ms, each 20 s on average, so that a third of windows fail at any rate. All methods have the same servers; the isotonic fit has the windows that the posterior chose."
