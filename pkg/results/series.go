package results

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Series names one histogram in a latency log.
type Series struct {
	Timing    Timing
	Operation string
	Outcome   workload.Outcome
	Step      int
	Phase     Phase
}

// Tag returns the series as a log line tag: TIMING:OPERATION:OUTCOME:stepN:PHASE, such as
// "response:write:ok:step0:measure".
func (s Series) Tag() string {
	return fmt.Sprintf("%s:%s:%s:step%d:%s", s.Timing, s.Operation, s.Outcome, s.Step, s.Phase)
}

// ParseSeries inverts [Series.Tag].
func ParseSeries(tag string) (Series, error) {
	part := strings.Split(tag, ":")
	if len(part) != 5 {
		return Series{}, fmt.Errorf("tag %q is not TIMING:OPERATION:OUTCOME:stepN:PHASE", tag)
	}
	s := Series{Timing: Timing(part[0]), Operation: part[1], Phase: Phase(part[4])}
	if !slices.Contains(Timings[:], s.Timing) {
		return Series{}, fmt.Errorf("tag %q: unknown timing %q", tag, part[0])
	}
	o := slices.IndexFunc(workload.LatencyOutcomes[:], func(o workload.Outcome) bool { return o.String() == part[2] })
	if o < 0 {
		return Series{}, fmt.Errorf("tag %q: unknown outcome %q", tag, part[2])
	}
	s.Outcome = workload.LatencyOutcomes[o]
	number, ok := strings.CutPrefix(part[3], "step")
	step, err := strconv.Atoi(number)
	if !ok || err != nil || step < 0 {
		return Series{}, fmt.Errorf("tag %q: %q is not a step", tag, part[3])
	}
	s.Step = step
	return s, nil
}

// maxSeries is how many series are read from a latency log, because each has a histogram.
const maxSeries = 4096

// ReadTotals reads a latency log into one histogram per series; lines of one series are merged.
// With an error, which comes from [histogram.ReadLog], it also returns totals for the lines before
// it.
func ReadTotals(path string) (map[Series]*hdrhistogram.Histogram, error) {
	totals := map[Series]*hdrhistogram.Histogram{}
	for l, err := range histogram.ReadBuckets(path) {
		if err != nil {
			return totals, err
		}
		s, err := ParseSeries(l.Tag)
		if err != nil {
			return totals, fmt.Errorf("read %s: %w", path, err)
		}
		if totals[s] == nil {
			if len(totals) == maxSeries {
				return totals, fmt.Errorf("read %s: series must be at most %d", path, maxSeries)
			}
			totals[s] = histogram.New()
		}
		if dropped := l.Buckets.AddTo(totals[s]); dropped > 0 {
			return totals, fmt.Errorf("read %s: %s: %d values over %v", path, l.Tag, dropped, histogram.MaxLatency)
		}
	}
	return totals, nil
}

// totalHistograms returns the histograms in a tag folder by series: from latency-total.hlog, and
// for an ok series that a killed run had not yet totalled, summed from its lines in latency.hlog.
// Incomplete last lines are dropped.
func totalHistograms(dir string, intervals []Interval) (map[Series]*hdrhistogram.Histogram, error) {
	totals, err := ReadTotals(filepath.Join(dir, FileTotal))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	recorded := recordedOK(intervals)
	short := func(s Series) bool { return totals[s] == nil || totals[s].TotalCount() < recorded[s] }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(recorded)), short) {
		return totals, nil
	}
	lines, err := ReadTotals(filepath.Join(dir, FileLatency))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for s, h := range lines {
		if short(s) {
			totals[s] = h
		}
	}
	return totals, nil
}

// recordedOK counts ok latencies in intervals by series.
func recordedOK(intervals []Interval) map[Series]int64 {
	counts := map[Series]int64{}
	for i := range intervals {
		for _, t := range Timings {
			if n := intervals[i].Latency(t, workload.OK).Count; n > 0 {
				counts[Series{t, intervals[i].Operation, workload.OK, intervals[i].Step, intervals[i].Phase}] += n
			}
		}
	}
	return counts
}

// ReconcileLatency proves that the lines in latency.hlog of a tag folder sum to the ok histograms
// in its latency-total.hlog, bucket by bucket.
func ReconcileLatency(dir string) error {
	lines, err := ReadTotals(filepath.Join(dir, FileLatency))
	if err != nil {
		return fmt.Errorf("reconcile latencies: %w", err)
	}
	totals, err := ReadTotals(filepath.Join(dir, FileTotal))
	if err != nil {
		return fmt.Errorf("reconcile latencies: %w", err)
	}
	for s := range totals {
		if s.Outcome == workload.OK && lines[s] == nil {
			lines[s] = histogram.New()
		}
	}
	series := slices.SortedFunc(maps.Keys(lines), func(a, b Series) int { return strings.Compare(a.Tag(), b.Tag()) })
	var errs []error
	for _, s := range series {
		sum, total := lines[s], totals[s]
		if total == nil {
			total = histogram.New()
		}
		if !sum.Equals(total) {
			errs = append(errs, fmt.Errorf("reconcile %s in %s: lines hold %d latencies, the total %d, or in other buckets",
				s.Tag(), dir, sum.TotalCount(), total.TotalCount()))
		}
	}
	return errors.Join(errs...)
}
