package run

import (
	"errors"
	"io/fs"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Heat holds the latencies of requests answered ok by the time they ended, all
// operations and phases together, in bins of equal length.
type Heat struct {
	Seconds int64 // of a bin
	Bins    map[int64]histogram.PackedBuckets
}

// mostBins bounds the columns of a heat map: more would look alike.
const mostBins = 120

// readHeat reads the latency log by the clock of the table, line by line into a
// bounded number of histograms, because a log may span hours. Bins count from the
// unix second start. A log that is missing is a gap only if there are
// rows. Lines that the rows contradict are a gap.
func readHeat(path string, intervals []results.Interval, record *results.DatabaseRun, load Span, start int64, gaps *Gaps) Heat {
	h := Heat{Seconds: binSeconds((load.To - load.From) / 1e9), Bins: map[int64]histogram.PackedBuckets{}}
	logged := map[int64]int64{} // by second
	// Lines are in the order of time, so that one bin is summed up at a time.
	sum, open := &histogram.Sum{}, int64(-1)
	for line, err := range histogram.ReadBuckets(path) {
		if err != nil {
			if len(intervals) > 0 || !errors.Is(err, fs.ErrNotExist) {
				gaps.Add("%s", problem(path, err))
			}
			h.close(open, sum)
			return h
		}
		s, err := results.ParseSeries(line.Tag)
		if err == nil && s.Outcome == workload.OK && s.Timing == results.TimingService {
			logged[line.Start.Unix()] += line.Buckets.Total()
		}
		if err != nil || s.Outcome != workload.OK || s.Timing != record.Timing(s.Step) {
			continue
		}
		bin := floorDiv(line.Start.Unix()-start, h.Seconds)
		if bin < 0 || bin > mostBins {
			continue // far from the load; the comparison with the rows reports it
		}
		if bin != open {
			h.close(open, sum)
			sum.Add(h.Bins[bin].Buckets())
			open = bin
		}
		sum.Add(line.Buckets)
	}
	h.close(open, sum)
	checkLog(intervals, logged, gaps)
	return h
}

// close keeps what was counted of a bin.
func (h Heat) close(bin int64, sum *histogram.Sum) {
	if b := sum.Take(); b != nil {
		h.Bins[bin] = b.Pack()
	}
}

// binSeconds returns the smallest round number of seconds that divides length seconds
// into at most mostBins bins.
func binSeconds(length int64) int64 {
	for _, n := range []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if length <= n*mostBins {
			return n
		}
	}
	return 3600 * (length/(3600*mostBins) + 1)
}
