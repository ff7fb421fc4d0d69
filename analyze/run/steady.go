package run

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/stationary"
	"github.com/coreos/dbtester/pkg/results"
)

// The least changes of level, as shares, that count as one: of throughput in a closed
// loop, and of the mean response time at a rate.
const (
	throughputChange = 0.10
	latencyChange    = 0.50
)

// UnsteadyMark is the footnote of a throughput or a latency whose level changed.
const UnsteadyMark = "not steady: the level changed inside the measured part, so that one number does not describe it; the mark names the part that is steady"

// setSteadiness marks the stages whose level changes inside a measured window.
func (r *Run) setSteadiness() {
	for _, g := range r.Stages {
		found := false
		for _, w := range r.windowsOf(g) {
			if text := r.unsteady(w); text != "" {
				found = true
				if g.Label != "" {
					text = g.Label + ": " + text
				}
				r.Unsteady = append(r.Unsteady, results.Mark{Code: results.MarkUnsteady, Text: text})
			}
		}
		if !found {
			continue
		}
		for _, m := range []*Measure{&g.Throughput.Average, &g.Latency.OK.Mean} {
			if m.Known() {
				m.Marks = append(slices.Clone(m.Marks), UnsteadyMark)
			}
		}
	}
}

// windowsOf returns the measured windows of a stage.
func (r *Run) windowsOf(g *Stage) (out []Window) {
	if r.PooledStages {
		return r.Windows.Measured
	}
	for _, s := range r.Info.Record.Steps {
		if !slices.Contains(g.Steps, s.Index) || s.Start.IsZero() {
			continue
		}
		if w := measuredPart(r.Info.Record, s, r.Windows.Load.To); !w.empty() {
			out = append(out, w)
		}
	}
	return out
}

// unsteady describes how the level changed in a window, "" if it did not: of the
// throughput in a closed loop, of the mean response time at a rate.
func (r *Run) unsteady(w Window) string {
	s, first := r.levels(w)
	f := s.Find()
	if f.Kind == stationary.Steady {
		return ""
	}
	what, print := "the throughput", func(v float64) string { return RateNumber(v) + "/s" }
	if w.Rated {
		what, print = "the mean response time", millisNumber
	}
	second := func(i int) int64 { return first - r.Start() + int64(i) }
	how := fmt.Sprintf("stepped from %s to %s at second %d", print(f.Before), print(f.After), second(f.At))
	if f.Kind == stationary.Drifts {
		how = fmt.Sprintf("drifted from %s to %s", print(f.Before), print(f.After))
	}
	steady := "no quarter of it is steady"
	if f.To > f.From {
		steady = fmt.Sprintf("steady from second %d to %d with %s", second(f.From), second(f.To), print(f.Median))
	}
	return fmt.Sprintf("%s %s (Pettitt's test, p < %g); %s", what, how, stationary.Level, steady)
}

// levels returns the series of the whole seconds of a window, and the first of them.
func (r *Run) levels(w Window) (s stationary.Series, first int64) {
	first, last := -floorDiv(-w.From, 1e9), floorDiv(w.To, 1e9) // half open
	s.Change = throughputChange
	if w.Rated {
		s.Change = latencyChange
	}
	if last <= first || last-first > 1e6 {
		return s, first
	}
	s.Values = make([]float64, last-first)
	for _, one := range r.Load.PerSecond() {
		switch at := one.Unix - first; {
		case at < 0 || at >= int64(len(s.Values)):
		case !w.Rated:
			s.Values[at] = one.OK
		case one.Latency.Count > 0:
			s.Values[at] = one.Latency.Sum / one.Latency.Count
		}
	}
	return s, first
}

// millisNumber prints milliseconds with three significant digits.
func millisNumber(v float64) string {
	if v >= 1000 {
		return RateNumber(math.Round(v)) + " ms"
	}
	return fmt.Sprintf("%.3g ms", v)
}
