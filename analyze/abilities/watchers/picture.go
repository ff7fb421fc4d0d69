package watchers

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/results"
)

// statistic is a line of a database.
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

// Figures are one picture: delivery by the number of watchers.
func (Half) Figures(columns []abilities.Column) []figure.Figure {
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
	if len(f.Series) == 0 {
		return nil
	}
	if last {
		f.Notes = []string{"the last watcher: the time until all have heard of a write or of a newer one of its key"}
	}
	return []figure.Figure{f}
}
