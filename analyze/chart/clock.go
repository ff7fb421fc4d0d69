package chart

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

// Time axes show seconds since the load started in each run, by the client clock.

// elapsed converts unix nanoseconds to a run's time axis.
func elapsed(r *run.Run, unixNano int64) float64 { return float64(unixNano-r.Origin()) / 1e9 }

// elapsedAt converts a time to a run's time axis.
func elapsedAt(r *run.Run, at time.Time) float64 { return elapsed(r, at.UnixNano()) }

// middle converts a unix second to a run's time axis: the middle of its part inside the load.
func middle(r *run.Run, unix int64) float64 {
	from, to := max(unix*1e9, r.Origin()), (unix+1)*1e9
	if end := r.Windows.Load.To; end > from {
		to = min(to, end)
	}
	return (elapsed(r, from) + elapsed(r, max(to, from))) / 2
}

// before reports whether a second began before the load by more than a sample may be late. The work
// of a machine in that second does not belong to the load; it may belong to the preload.
func before(r *run.Run, unix int64) bool { return unix*1e9 < r.Origin()-100e6 }

// overTime returns a figure over time without series. It has a panel per run if the steps differ
// between runs.
func (d *Data) overTime(name, what string, y figure.Axis) figure.Figure {
	return d.inPanels(name, what, y, d.split())
}

// inPanels returns a figure over time without series, with a panel per run or a single plot.
func (d *Data) inPanels(name, what string, y figure.Axis, panels bool) figure.Figure {
	f := figure.Figure{
		Name: name, Short: what, Kind: figure.Lines, X: timeAxis(), Y: y,
	}
	d.markSteps(&f, panels)
	d.markPhases(&f)
	d.markStops(&f, d.Runs...)
	d.markEvents(&f, d.Runs...)
	return f
}

// inside reports whether a second lies inside the steps of a load.
func inside(r *run.Run, unix int64) bool {
	return len(r.Windows.Measured) == 0 || r.Windows.Inside(unix)
}

// partialNote explains pale lines.
const partialNote = "pale: seconds that lie only partly inside the load's steps and therefore count fewer requests"

// notePartial adds partialNote if there are pale lines.
func notePartial(f *figure.Figure) {
	if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return slices.Contains(s.Partial, true) }) {
		f.Notes = append(f.Notes, partialNote)
	}
}

// phases returns the warm-ups and cool-downs in a run on its time axis.
func phases(r *run.Run) (out []figure.Stretch) {
	for _, w := range r.Windows.Measured {
		for _, s := range []run.Span{{From: w.Issued.From, To: w.From}, {From: w.To, To: w.Issued.To}} {
			if s.To-s.From > 1e6 {
				out = append(out, figure.Stretch{From: elapsed(r, s.From), To: elapsed(r, s.To)})
			}
		}
	}
	return out
}

// greyNote explains grey areas.
const greyNote = "grey: warm-up and cool-down, which throughput and latency in the table leave out"

// phasesOf returns the warm-ups and cool-downs in the trials of a database, each from the median
// start to the median end. same is false if the trials do not have equally many.
func phasesOf(g trials.Group) (out []figure.Stretch, same bool) {
	out = phases(g.Runs[0])
	for i := range out {
		var from, to []float64
		for _, r := range g.Runs {
			own := phases(r)
			if len(own) != len(out) {
				return nil, false
			}
			from, to = append(from, own[i].From), append(to, own[i].To)
		}
		out[i] = figure.Stretch{From: trials.SpreadOf(from).Median, To: trials.SpreadOf(to).Median}
	}
	return out, true
}

// markPhases draws the warm-ups and cool-downs shared by all databases, or those of each database
// in its panel.
func (d *Data) markPhases(f *figure.Figure) {
	first, shared := phasesOf(d.groups()[0])
	some := false
	shared = shared && len(f.Panels) == 0
	for i, g := range d.groups() {
		own, same := phasesOf(g)
		for _, s := range own {
			if s.Panel = i; len(f.Panels) > 0 {
				f.Grey = append(f.Grey, s)
			}
		}
		some = some || len(own) > 0 || !same
		shared = shared && same && slices.EqualFunc(first, own, func(a, b figure.Stretch) bool {
			return math.Abs(a.From-b.From) <= 1 && math.Abs(a.To-b.To) <= 1
		})
	}
	switch {
	case some && len(f.Panels) > 0:
		f.Notes = append(f.Notes, greyNote)
	case some && shared:
		f.Grey = first
		f.Notes = append(f.Notes, greyNote)
	case some:
		f.Notes = append(f.Notes, "the lines include warm-ups and cool-downs, which differ between the databases and which throughput and latency in the table leave out")
	}
}
