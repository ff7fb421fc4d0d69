package run

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/stationary"
)

// The smallest level changes that count, as shares: in a closed loop for throughput, at a rate for
// mean response time.
const (
	throughputChange = 0.10
	latencyChange    = 0.50
)

// UnsteadyMark is the footnote on a throughput or latency whose level changed.
const UnsteadyMark = "not steady: the level changed within the measured part, so one number does not describe it; the mark names the steady part"

// setSteadiness marks stages whose level changes inside a measured window, outside the times in
// which an ability disturbed the load.
func (r *Run) setSteadiness() {
	cut := r.disturbed()
	for _, g := range r.Stages {
		found := false
		for _, w := range r.windowsOf(g) {
			if values := r.unsteady(w, cut); values != nil {
				found = true
				var words mark.Words
				if g.Label != "" {
					words = mark.Words{"stage": g.Label}
				}
				r.Unsteady = append(r.Unsteady, results.NewMark(mark.Unsteady, false, values, words))
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

// windowsOf returns a stage's measured windows.
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

// disturbed returns when an ability disturbed the load on purpose.
func (r *Run) disturbed() (cut []results.Stretch) {
	for _, a := range all.Abilities() {
		if a.Disturbed != nil {
			cut = append(cut, a.Disturbed(r.Info.Record.Records)...)
		}
	}
	return cut
}

// unsteady describes how the level changed in a window; nil if it did not. The level is throughput
// in a closed loop and mean response time at a rate.
func (r *Run) unsteady(w Window, cut []results.Stretch) mark.Values {
	s, seconds := r.levels(w, cut)
	f := s.Find()
	if f.Kind == stationary.Steady {
		return nil
	}
	unit, factor := "_per_second", 1.0
	if w.Rated {
		unit, factor = "_seconds", 1e-3 // from milliseconds
	}
	second := func(i int) float64 { return float64(seconds[i] - r.Start()) }
	values := mark.Values{"p": stationary.Level, "before" + unit: f.Before * factor, "after" + unit: f.After * factor}
	if f.Kind != stationary.Drifts {
		values["second"] = second(f.At)
	}
	if f.To > f.From {
		values["from"], values["to"], values["median"+unit] = second(f.From), second(f.To-1)+1, f.Median*factor
	}
	if least := min(f.Before, f.After); least > 0 {
		values["change_percent"] = 100 * math.Abs(f.After-f.Before) / least
	}
	return values
}

// levels returns the series over the whole seconds in a window that no cut time touches, and those
// seconds.
func (r *Run) levels(w Window, cut []results.Stretch) (s stationary.Series, seconds []int64) {
	first, last := -floorDiv(-w.From, 1e9), floorDiv(w.To, 1e9) // half-open
	s.Change = throughputChange
	if w.Rated {
		s.Change = latencyChange
	}
	if last <= first || last-first > 1e6 {
		return s, nil
	}
	values := make([]float64, last-first)
	for _, one := range r.Load.PerSecond() {
		switch at := one.Unix - first; {
		case at < 0 || at >= int64(len(values)):
		case !w.Rated:
			values[at] = one.OK
		case one.Latency.Count > 0:
			values[at] = one.Latency.Sum / one.Latency.Count
		}
	}
	for i, v := range values {
		second := first + int64(i)
		from, to := time.Unix(second, 0), time.Unix(second+1, 0)
		if !slices.ContainsFunc(cut, func(c results.Stretch) bool { return c.Overlaps(from, to) }) {
			s.Values, seconds = append(s.Values, v), append(seconds, second)
		}
	}
	return s, seconds
}
