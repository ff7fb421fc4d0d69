package run

import (
	"math"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// QuantileMillis returns a quantile of nanoseconds in ms, or NaN if it has too few requests.
func QuantileMillis(b histogram.Buckets, q float64) float64 {
	if !histogram.Enough(q, b.Total()) {
		return math.NaN()
	}
	return float64(b.Quantile(q)) / 1e6
}

// SecondQuantiles returns latency quantiles for the ok requests that ended in each unix second, in
// ms, over all operations and phases, by the timing of their step; NaN for a second with too few
// requests. An unreadable log ends it, and is among the gaps.
func (r *Run) SecondQuantiles(quantiles ...float64) map[int64][]float64 {
	out := map[int64][]float64{}
	if r.Dir == "" {
		return out
	}
	sum, open := &histogram.Sum{}, int64(0)
	flush := func() {
		b := sum.Take()
		if b == nil {
			return
		}
		for _, q := range quantiles {
			out[open] = append(out[open], QuantileMillis(b, q))
		}
	}
	// Lines are sorted by time, so one open second is enough.
	for line, err := range histogram.ReadBuckets(filepath.Join(r.Dir, results.FileLatency)) {
		if err != nil {
			break
		}
		s, err := results.ParseSeries(line.Tag)
		if err != nil || s.Outcome != workload.OK || s.Timing != r.Info.Record.Timing(s.Step) {
			continue
		}
		if unix := line.Start.Unix(); unix != open {
			flush()
			open = unix
		}
		sum.Add(line.Buckets)
	}
	flush()
	return out
}
