package watchers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// statistic is a database's line.
type statistic struct {
	name string
	dash figure.Dash
	thin bool
	of   func(*watchers.Stage) *results.Spread
	at   float64
	is   func(*results.Spread) int64
}

func statistics() []statistic {
	sent := func(s *watchers.Stage) *results.Spread { return s.Sent }
	all := func(s *watchers.Stage) *results.Spread { return s.All }
	p50 := func(s *results.Spread) int64 { return s.P50 }
	p99 := func(s *results.Spread) int64 { return s.P99 }
	return []statistic{
		{"p50", figure.Dashed, false, sent, .5, p50},
		{"p99", figure.Solid, false, sent, .99, p99},
		{"last watcher p99", figure.Solid, true, all, .99, p99},
	}
}

// Figures returns delivery by watcher count, and the rate at which slow watchers caught up by the
// amount written.
func (Half) Figures(columns []abilities.Column) (list []figure.Figure) {
	for _, f := range []figure.Figure{delivery(columns), caughtUpByWrites(columns)} {
		if len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// delivery draws a line for each statistic in each trial. It draws no lines if all trials have the
// same watcher count: the table has these numbers, and the page begins with differences.
func delivery(columns []abilities.Column) figure.Figure {
	f := figure.Figure{
		Name: "WATCH-DELIVERY", Short: "Time until watchers hear of a write, by their number", Kind: figure.Points,
		X: figure.Axis{Label: "Watchers", Log: true}, Y: figure.Axis{Label: "From the sending of a write", Unit: "ms", Log: true},
	}
	last := false // the last watcher is in it
	for _, c := range columns {
		list := outcomes(c.Runs)
		for n := range list {
			for _, s := range statistics() {
				line := figure.Series{Name: c.Name + " " + s.name, Key: c.Key, Variant: c.Variant, Dash: s.dash, Thin: s.thin}
				if len(list) > 1 {
					line.Name += fmt.Sprintf(", trial %d", n+1)
				}
				for i := range list[n].Stages {
					stage := &list[n].Stages[i]
					if spread := s.of(stage); spread != nil && spread.Enough(s.at) && stage.Watchers > 0 {
						line.X, line.Y = append(line.X, float64(stage.Watchers)), append(line.Y, float64(s.is(spread))/1e6)
					}
				}
				if len(line.X) > 0 {
					f.Series, last = append(f.Series, line), last || s.thin
				}
			}
		}
	}
	if !varies(f.Series) {
		f.Series = nil
	}
	if last {
		f.Notes = []string{"the last watcher: the time until all have heard of a write or of a newer one of its key"}
	}
	return f
}

// varies reports whether lines have points at several places on the horizontal axis.
func varies(lines []figure.Series) bool {
	return slices.ContainsFunc(lines, func(s figure.Series) bool {
		return slices.ContainsFunc(s.X, func(x float64) bool { return x != lines[0].X[0] })
	})
}

// served has the speeds at which slow connections caught up at a write rate.
type served struct{ written, median, least float64 }

// caughtUpByWrites has lines for the median and the slowest connection of each database, through
// all stages in its runs, and one line where watchers are served as fast as the load writes.
func caughtUpByWrites(columns []abilities.Column) figure.Figure {
	f := figure.Figure{
		Name: "WATCH-CATCH-UP", Short: "How fast watchers that were behind caught up, by how much was written", Kind: figure.Points,
		X: figure.Axis{Label: "Writes for each watcher meanwhile", Unit: "/s"}, Y: figure.Axis{Label: "Changes that came to a watcher", Unit: "/s"},
		Notes: []string{"solid: the median of the connections, dashed: the least; a watcher that gets fewer changes than are written never catches up"},
	}
	var names []string
	points, looks := map[string][]served{}, map[string]abilities.Column{}
	least, most := math.Inf(1), 0.0
	for _, c := range columns {
		for _, o := range outcomes(c.Runs) {
			name := c.Runs[0].Info.Record.Database
			for n := range o.Stages {
				slow := o.Stages[n].Slow
				if slow == nil || slow.Written == 0 || len(slow.Rates()) == 0 || o.Coalesces {
					continue
				}
				if points[name] == nil {
					names, looks[name] = append(names, name), c
				}
				rates, written := slow.Rates(), slow.WriteRate()
				points[name] = append(points[name], served{written, order.Middle(rates), rates[0]})
				least, most = min(least, written), max(most, written)
			}
		}
	}
	for _, name := range names {
		all, c := points[name], looks[name]
		slices.SortStableFunc(all, func(a, b served) int { return cmp.Compare(a.written, b.written) })
		p50 := figure.Series{Name: name + " p50", Key: c.Key, Variant: c.Variant}
		low := figure.Series{Name: name + " least", Key: c.Key, Variant: c.Variant, Dash: figure.Dashed, Thin: true}
		for _, p := range all {
			p50.X, p50.Y = append(p50.X, p.written), append(p50.Y, p.median)
			low.X, low.Y = append(low.X, p.written), append(low.Y, p.least)
		}
		f.Series = append(f.Series, p50, low)
	}
	if len(names) > 0 {
		f.Series = append(f.Series, figure.Series{Name: "as fast as writes", Thin: true, X: []float64{least, most}, Y: []float64{least, most}})
	}
	return f
}
