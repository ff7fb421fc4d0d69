package run

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

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

// mostBins limits the columns of a heat map: narrower columns could not be told apart.
const mostBins = 120

// heatReader reads histograms into a bounded number of bins, and those for measured requests also
// into minutes. Bins count from the unix second start.
type heatReader struct {
	heat    Heat
	start   int64
	record  *results.DatabaseRun
	minutes *minuteReader
	// sum belongs to the open bin: lines are sorted by time, so one is enough.
	sum  histogram.Sum
	open int64
}

func newHeatReader(record *results.DatabaseRun, load Span, start int64, minutes *minuteReader) *heatReader {
	h := Heat{Seconds: binSeconds((load.To - load.From) / 1e9), Bins: map[int64]histogram.PackedBuckets{}}
	return &heatReader{heat: h, start: start, record: record, minutes: minutes, open: -1}
}

// readHeat reads the latencies in a tag folder for the clock of the table. It reads the log by
// minute if that has the requests in the rows and each line lies in one bin and one minute, else
// the log by second: one line after the other, because a log may span hours. A missing log is a gap
// only if there are interval rows. If lines by second contradict the rows, that is a gap.
func readHeat(dir string, intervals []results.Interval, record *results.DatabaseRun, load Span, start int64, ageing *Ageing, gaps *Gaps) Heat {
	r := newHeatReader(record, load, start, &minuteReader{of: ageing})
	if r.heat.Seconds >= 60 && r.readMinutes(filepath.Join(dir, results.FileMinutes), intervals) {
		return r.finish()
	}
	ageing.forgetLatencies()
	r = newHeatReader(record, load, start, &minuteReader{of: ageing})
	r.readSeconds(filepath.Join(dir, results.FileLatency), intervals, gaps)
	return r.finish()
}

// readMinutes reads the log by minute, and reports whether it can replace the log by second.
func (r *heatReader) readMinutes(path string, intervals []results.Interval) bool {
	left := map[results.Series]int64{}
	for i := range intervals {
		iv := &intervals[i]
		for _, timing := range results.Timings {
			left[results.Series{Timing: timing, Operation: iv.Operation, Outcome: workload.OK, Step: iv.Step, Phase: iv.Phase}] += iv.Latency(timing, workload.OK).Count
		}
	}
	for line, err := range histogram.ReadBuckets(path) {
		if err != nil {
			return false
		}
		s, err := results.ParseSeries(line.Tag)
		last := line.Start.Add(line.Length - time.Second)
		if err != nil || s.Outcome != workload.OK || last.Before(line.Start) {
			return false
		}
		left[s] -= line.Buckets.Total()
		if s.Timing != r.record.Timing(s.Step) {
			continue
		}
		if bin := r.bin(line.Start); bin < 0 || bin > mostBins || bin != r.bin(last) || !r.minutes.within(s, line.Start, last) {
			return false
		}
		r.add(s, line.Start, line.Buckets)
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return len(left) > 0
}

// readSeconds reads the log by second.
func (r *heatReader) readSeconds(path string, intervals []results.Interval, gaps *Gaps) {
	logged := map[int64]int64{} // requests by second
	for line, err := range histogram.ReadBuckets(path) {
		if err != nil {
			if len(intervals) > 0 || !errors.Is(err, fs.ErrNotExist) {
				gaps.Add("%s", problem(path, err))
			}
			return
		}
		s, err := results.ParseSeries(line.Tag)
		if err == nil && s.Outcome == workload.OK && s.Timing == results.TimingService {
			logged[line.Start.Unix()] += line.Buckets.Total()
		}
		if err != nil || s.Outcome != workload.OK || s.Timing != r.record.Timing(s.Step) {
			continue
		}
		r.add(s, line.Start, line.Buckets)
	}
	checkLog(intervals, logged, gaps)
}

// bin returns the bin for a second.
func (r *heatReader) bin(second time.Time) int64 {
	return floorDiv(second.Unix()-r.start, r.heat.Seconds)
}

// add adds the requests in a series that ended at or after from, all within one bin and one minute.
func (r *heatReader) add(s results.Series, from time.Time, b histogram.Buckets) {
	if s.Phase == results.PhaseMeasure {
		r.minutes.add(s.Step, from, b)
	}
	bin := r.bin(from)
	if bin < 0 || bin > mostBins {
		return // far from the load; checkLog reports it
	}
	if bin != r.open {
		r.heat.close(r.open, &r.sum)
		r.sum.Add(r.heat.Bins[bin].Buckets())
		r.open = bin
	}
	r.sum.Add(b)
}

// finish returns the heat map, and stores the last bin and the last minutes.
func (r *heatReader) finish() Heat {
	r.heat.close(r.open, &r.sum)
	r.minutes.close()
	return r.heat
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
