package merge

import (
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// packed is a histogram shaped like [histogram.New] that keeps only buckets with counts.
type packed = hdrhistogram.PackedHistogram

// phases in row order.
var phases = [...]results.Phase{results.PhaseWarmUp, results.PhaseMeasure, results.PhaseCoolDown}

// shape numbers the rows in a second, beginning with the first phase, and their histograms, by
// timing and outcome.
type shape struct{ ops []workload.Op }

const byRow = len(results.Timings) * len(workload.LatencyOutcomes)

func (sh shape) rowCount() int { return len(phases) * len(sh.ops) }

func (sh shape) seriesCount() int { return sh.rowCount() * byRow }

// row returns a row number.
func (sh shape) row(phase results.Phase, operation string) (int, error) {
	p := slices.Index(phases[:], phase)
	o := slices.Index(sh.ops, workload.Op(operation))
	if p < 0 || o < 0 {
		return 0, fmt.Errorf("unknown phase %q or operation %q", phase, operation)
	}
	return p*len(sh.ops) + o, nil
}

// index returns a series number.
func (sh shape) index(s results.Series) (int, error) {
	row, err := sh.row(s.Phase, s.Operation)
	t := slices.Index(results.Timings[:], s.Timing)
	o := slices.Index(workload.LatencyOutcomes[:], s.Outcome)
	if err == nil && (t < 0 || o < 0) {
		err = fmt.Errorf("unknown timing %q or outcome %d", s.Timing, s.Outcome)
	}
	return row*byRow + t*len(workload.LatencyOutcomes) + o, err
}

// series inverts index in a step.
func (sh shape) series(i, step int) results.Series {
	row, in := i/byRow, i%byRow
	return results.Series{
		Timing: results.Timings[in/len(workload.LatencyOutcomes)], Outcome: workload.LatencyOutcomes[in%len(workload.LatencyOutcomes)],
		Phase: phases[row/len(sh.ops)], Operation: string(sh.ops[row%len(sh.ops)]), Step: step,
	}
}

// maxMembers bounds a member index.
const maxMembers = 1 << 10

// check returns an error if a second has records of other moments, rows or shapes, or if
// its histograms and rows differ in their counts.
func (sh shape) check(s *load.Second, at moment) error {
	rows := make([]*results.Interval, sh.rowCount())
	latencies := 0
	for i := range s.Intervals {
		r := &s.Intervals[i]
		n, err := sh.row(r.Phase, r.Operation)
		switch {
		case err != nil:
			return err
		case (moment{r.Step, r.Second}) != at:
			return fmt.Errorf("its rows must be of second %d of step %d, got second %d of step %d", at.second, at.step, r.Second, r.Step)
		case rows[n] != nil:
			return fmt.Errorf("it must have one row for %s in %s, got another", r.Operation, r.Phase)
		}
		rows[n] = r
		for _, t := range results.Timings {
			for _, o := range workload.Outcomes {
				if r.Latency(t, o).Count > 0 {
					latencies++
				}
			}
		}
	}
	seen := make([]bool, sh.seriesCount())
	for _, list := range [...][]load.Latency{s.Latencies, s.Failures} {
		for _, l := range list {
			if err := sh.checkLatency(l, at, rows, seen); err != nil {
				return err
			}
			if l.Series.Outcome != workload.Declined {
				latencies--
			}
		}
	}
	if latencies != 0 {
		return fmt.Errorf("each latency of a row must have a histogram, but %d have none", latencies)
	}
	return sh.checkOthers(s, at)
}

// checkLatency checks one histogram against its row.
func (sh shape) checkLatency(l load.Latency, at moment, rows []*results.Interval, seen []bool) error {
	i, err := sh.index(l.Series)
	if err != nil {
		return err
	}
	h, row, tag := l.Histogram, rows[i/byRow], l.Series.Tag()
	switch {
	case l.Series.Step != at.step || seen[i]:
		return fmt.Errorf("it must have one histogram of each series of step %d, got %s", at.step, tag)
	case h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != int64(histogram.MaxLatency) || h.SignificantFigures() != histogram.Digits:
		return fmt.Errorf("%s: a histogram must hold 1 to %d with %d digits, got %d to %d with %d", tag,
			int64(histogram.MaxLatency), histogram.Digits, h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
	case row == nil:
		return fmt.Errorf("%s: a histogram must have a row", tag)
	}
	seen[i] = true
	if o := l.Series.Outcome; o != workload.Declined {
		if want, got := row.Latency(l.Series.Timing, o).Count, h.TotalCount(); got != want || got == 0 {
			return fmt.Errorf("%s: the histogram must hold the %d latencies of its row, got %d", tag, want, got)
		}
	}
	return nil
}

// checkOthers checks the records other than rows and histograms.
func (sh shape) checkOthers(s *load.Second, at moment) error {
	for i := range s.Errors {
		e := &s.Errors[i]
		if _, err := sh.row(e.Phase, e.Operation); err != nil || (moment{e.Step, e.Second}) != at {
			return fmt.Errorf("errors must be of phases and operations in second %d of step %d, got %s in %s in second %d of step %d", at.second, at.step, e.Operation, e.Phase, e.Second, e.Step)
		}
	}
	for i := range s.Progress {
		p := &s.Progress[i]
		if !slices.Contains(sh.ops, workload.Op(p.Operation)) || p.Step != at.step || p.ToNS < p.FromNS {
			return fmt.Errorf("ticks must be of operations in step %d, got %s from %d to %d ns in step %d", at.step, p.Operation, p.FromNS, p.ToNS, p.Step)
		}
	}
	for _, a := range s.Answers {
		if a.First < 0 || a.Last < a.First {
			return fmt.Errorf("the last answer of a tick must not be before the first, got %d and %d ns after the start", a.Last, a.First)
		}
	}
	for i := range s.Members {
		m := &s.Members[i]
		if (moment{m.Step, m.Second}) != at || !slices.Contains(phases[:], m.Phase) || m.Member < -1 || m.Member >= maxMembers {
			return fmt.Errorf("members must be from -1 to %d in second %d of step %d, got %d in %s of second %d of step %d", maxMembers-1, at.second, at.step, m.Member, m.Phase, m.Second, m.Step)
		}
	}
	return nil
}
