package run

import (
	"errors"
	"io/fs"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Heat holds the latencies of ok requests by end time, over all operations and phases, in bins of
// equal length.
type Heat struct {
	Seconds int64 // bin length
	Bins    map[int64]histogram.PackedBuckets
}

// mostBins limits a heat map's columns: narrower columns could not be told apart.
const mostBins = 120

// readHeat reads the latency log for the table's clock. A log may span hours, so it is read line by
// line into a bounded number of histograms, and the measured requests also into minutes. Bins count
// from the unix second start. A missing log is a gap only if there are interval rows. Lines that
// contradict the rows are a gap.
func readHeat(path string, intervals []results.Interval, record *results.DatabaseRun, load Span, start int64, minutes *minuteReader, gaps *Gaps) Heat {
	h := Heat{Seconds: binSeconds((load.To - load.From) / 1e9), Bins: map[int64]histogram.PackedBuckets{}}
	logged := map[int64]int64{} // requests by second
	// Lines are sorted by time, so one open bin is enough.
	sum, open := &histogram.Sum{}, int64(-1)
	for line, err := range histogram.ReadBuckets(path) {
		if err != nil {
			if len(intervals) > 0 || !errors.Is(err, fs.ErrNotExist) {
				gaps.Add("%s", problem(path, err))
			}
			h.close(open, sum)
			minutes.close()
			return h
		}
		s, err := results.ParseSeries(line.Tag)
		if err == nil && s.Outcome == workload.OK && s.Timing == results.TimingService {
			logged[line.Start.Unix()] += line.Buckets.Total()
		}
		if err != nil || s.Outcome != workload.OK || s.Timing != record.Timing(s.Step) {
			continue
		}
		if s.Phase == results.PhaseMeasure {
			minutes.add(s.Step, line.Start, line.Buckets)
		}
		bin := floorDiv(line.Start.Unix()-start, h.Seconds)
		if bin < 0 || bin > mostBins {
			continue // far from the load; checkLog reports it
		}
		if bin != open {
			h.close(open, sum)
			sum.Add(h.Bins[bin].Buckets())
			open = bin
		}
		sum.Add(line.Buckets)
	}
	h.close(open, sum)
	minutes.close()
	checkLog(intervals, logged, gaps)
	return h
}

// close stores the finished bin.
func (h Heat) close(bin int64, sum *histogram.Sum) {
	if b := sum.Take(); b != nil {
		h.Bins[bin] = b.Pack()
	}
}

// binSeconds returns the smallest round number of seconds that divides length into at most mostBins
// bins.
func binSeconds(length int64) int64 {
	for _, n := range []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if length <= n*mostBins {
			return n
		}
	}
	return 3600 * (length/(3600*mostBins) + 1)
}
