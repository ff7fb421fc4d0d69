package chart

import (
	"slices"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// quantity is a server series and how it is read.
type quantity struct {
	metric.Series
	get func(*run.Reading) run.Measure
	// decimals is the precision in the columns for one server.
	decimals int
}

// quantities returns the quantities in the same order as the columns for one server.
func quantities() (all []quantity) {
	for _, s := range metric.AllSeries() {
		q := quantity{Series: s, decimals: 2}
		get := run.Of(s.Metric).Scaled(s.Scale)
		if q.get = (func(r *run.Reading) run.Measure { return r.Value(get) }); s.Rate {
			q.get = func(r *run.Reading) run.Measure { return r.Rate(get) }
		}
		if !s.Rate && s.Scale == 0 && metric.System().Must(s.Metric).Whole() {
			q.decimals = 0
		}
		all = append(all, q)
	}
	return all
}

// averagesInOrder lists the series joined over the servers in the same order as the classic CSV,
// followed by those for later metrics.
func averagesInOrder() []string {
	names := []string{
		"AVG-CPU", "MAX-CPU", "AVG-SYSTEM-LOAD-1-MIN", "AVG-VMRSS-MB", "AVG-WRITES-COMPLETED", "AVG-WRITES-COMPLETED-DELTA",
		"AVG-SECTORS-WRITTEN", "AVG-SECTORS-WRITTEN-DELTA", "AVG-READS-COMPLETED", "AVG-READS-COMPLETED-DELTA",
		"AVG-SECTORS-READ", "AVG-SECTORS-READ-DELTA", "AVG-READ-BYTES-NUM-DELTA", "AVG-WRITE-BYTES-NUM-DELTA",
		"AVG-RECEIVE-BYTES-NUM", "AVG-RECEIVE-BYTES-NUM-DELTA", "AVG-TRANSMIT-BYTES-NUM", "AVG-TRANSMIT-BYTES-NUM-DELTA",
		"AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES",
	}
	for _, q := range quantities() {
		if q.Column != clientNumber && !slices.Contains(names, q.Column) {
			names = append(names, q.Column)
		}
	}
	return names
}

// clientNumber is the series with clients, which has its own place in the classic CSV.
const clientNumber = "AVG-CLIENT-NUM"
