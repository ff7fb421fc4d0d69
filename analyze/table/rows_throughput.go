package table

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

func throughputRows() []Row {
	const whole = ", regardless of when they were due, in one whole second of the measured window; seconds are counted from the window's start, and the remainder belongs to the last one; too few whole seconds: fewer than three"
	return []Row{
		{Name: "TOTAL-SECONDS", Unit: "s", Definition: "length of the measured window, summed over steps: from the end of the warm-up until issuing ended or the cool-down began (a step bounded by requests alone: until its last answer); connecting and closing are not in it",
			Cell: elapsed},
		{section: sectionOutcomes, Name: "TOTAL-REQUEST-NUMBER", Unit: "requests", Definition: "requests that were sent in the whole load, including warm-up and cool-down, with any outcome",
			Cell: func(r *run.Run) Cell { return cellOf(r.Load.Counts.Sent, commaText) }},
		{Name: "MAX-THROUGHPUT", Unit: "requests/s", Definition: "largest number of requests per second that ended ok" + whole,
			Cell: throughput(func(t *run.Throughput) run.Measure { return t.Most })},
		{Name: "AVG-THROUGHPUT", Unit: "requests/s", Definition: "requests that ended ok in the measured window, regardless of when they were due, divided by its length",
			Cell: besideServers(throughput(average))},
		{Name: "MIN-THROUGHPUT", Unit: "requests/s", Definition: "smallest number of requests per second that ended ok" + whole,
			Cell: throughput(func(t *run.Throughput) run.Measure { return t.Least })},
	}
}

func elapsed(r *run.Run) Cell {
	return cellOf(r.Load.Elapsed, func(v float64) string { return fmt.Sprintf("%.4f sec", v) })
}

func average(t *run.Throughput) run.Measure { return t.Average }

// leanMark is a footnote on throughput if the client ran on a member machine.
const leanMark = "the client shares a machine with the servers, so a client that needs less CPU leaves them more: compare only with runs of the same TRANSPORT, or give the client a machine of its own"

// besideServers adds leanMark if the database has several client implementations.
func besideServers(cell func(*run.Run) Cell) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		c := cell(r)
		if c.Missing == "" && r.Info.Transport() != "" && r.ClientShares() {
			c.Marks = append(c.Marks, leanMark)
		}
		return c
	}
}

// throughput prints one throughput for each stage.
func throughput(get func(*run.Throughput) run.Measure) func(*run.Run) Cell {
	return byStage(func(g *run.Stage) Cell { return cellOf(get(&g.Throughput), perSecondText) })
}
