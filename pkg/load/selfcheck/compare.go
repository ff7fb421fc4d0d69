package selfcheck

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Comparison compares the latencies in a load, by one timing, with the true ones.
type Comparison struct {
	Timing  results.Timing `json:"timing"`
	Clients int            `json:"clients"`
	// Rate is in requests per second; 0 is a closed loop.
	Rate     float64       `json:"rate_per_second,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	Law      Law           `json:"law"`
	// N is the number of requests, recorded and in the server log alike.
	N    int64 `json:"n"`
	Rows []Row `json:"rows"`
}

// Row compares one percentile, in nanoseconds.
type Row struct {
	Name     string  `json:"name"`
	Quantile float64 `json:"quantile"`
	// Measured is the value that the engine recorded.
	Measured int64 `json:"measured_ns"`
	// True follows from the server log. It contains neither the network nor scheduling on this
	// machine.
	True int64 `json:"true_ns"`
	// Theory follows from the schedule and the law alone; 0 for a closed loop, which
	// has no schedule.
	Theory int64 `json:"theory_ns,omitempty"`
	// Difference is (measured - true) / true, in percent.
	Difference float64 `json:"difference_percent"`
	// Enough reports whether N supports this percentile.
	Enough bool `json:"enough"`
}

// percentiles lists the rows without values; the last is the maximum.
func percentiles() []Row {
	return []Row{
		{Name: "p50", Quantile: 0.5}, {Name: "p95", Quantile: 0.95}, {Name: "p99", Quantile: 0.99},
		{Name: "p99.9", Quantile: 0.999}, {Name: "max", Quantile: 1},
	}
}

// compare fills the rows from the recorded and the true latencies. It sorts truth
// and theory.
func (c *Comparison) compare(r *recorded, truth, theory []int64) {
	slices.Sort(truth)
	slices.Sort(theory)
	for _, row := range percentiles() {
		row.Measured = r.quantile(c.Timing, row.Quantile)
		row.True, row.Theory = nearestRank(truth, row.Quantile), nearestRank(theory, row.Quantile)
		row.Enough = row.Quantile == 1 || histogram.Enough(row.Quantile, c.N)
		if row.Quantile == 1 {
			row.Measured = r.latency[c.Timing].MaxNS
		}
		if row.True > 0 {
			row.Difference = 100 * float64(row.Measured-row.True) / float64(row.True)
		}
		c.Rows = append(c.Rows, row)
	}
}

// p99 returns the row with that name in the form used in run manifests.
func (c *Comparison) p99() results.Compared {
	for _, row := range c.Rows {
		if row.Quantile == 0.99 {
			return results.Compared{N: c.N, Measured: row.Measured, True: row.True}
		}
	}
	return results.Compared{}
}

// nearestRank returns the smallest value that a share q of the sorted values does not exceed; 0
// without values.
func nearestRank(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[histogram.Rank(q, int64(len(sorted)))-1]
}
