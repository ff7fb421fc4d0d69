package locks

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/results"
)

// Figures returns the hand-off by contender count, or by hold time where databases differ in that,
// and the shares of turns.
func (Half) Figures(columns []abilities.Column) (list []figure.Figure) {
	for _, f := range []figure.Figure{byContenders(columns), byHold(columns), turns(columns)} {
		if len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// statistic is a number about hand-offs, if there are enough for the quantile q.
type statistic struct {
	name string
	q    float64
	of   func(*results.Spread) int64
	dash figure.Dash
}

// statistics are the typical number and p99.
func statistics(t typical) []statistic {
	return []statistic{{t.name, t.q, t.of, figure.Solid}, {"p99", .99, func(s *results.Spread) int64 { return s.P99 }, figure.Dashed}}
}

// handOffs is a hand-off figure without lines.
func handOffs(name, short string, x figure.Axis) figure.Figure {
	return figure.Figure{Name: name, Short: short, Kind: figure.Points, X: x, Y: figure.Axis{Label: "Hand-off", Unit: "ms", Log: true}}
}

// noted adds the legend to a hand-off figure.
func noted(f figure.Figure, t typical) figure.Figure {
	drawn := "the " + t.word
	if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return s.Dash == figure.Dashed }) {
		drawn = "solid: " + t.name + ", dashed: p99"
	}
	f.Notes = []string{"from the sending of a release to the next holder, while somebody waited; " + drawn}
	return f
}

// byContenders has a line for each statistic in each trial.
func byContenders(columns []abilities.Column) figure.Figure {
	f := handOffs("LOCK-HAND-OFF", "Hand-off of a lock by the number of contenders", figure.Axis{Label: "Contenders", Log: true})
	var all []*locks.Outcome
	for _, c := range columns {
		all = append(all, outcomes(c.Runs)...)
	}
	t := typicalOf(all)
	for _, c := range columns {
		list := outcomes(c.Runs)
		for n, o := range list {
			for _, q := range statistics(t) {
				line := figure.Series{Name: c.Name + " " + q.name, Key: c.Key, Variant: c.Variant, Dash: q.dash, Thin: q.dash != figure.Solid}
				if len(list) > 1 {
					line.Thin, line.Statistic = true, fmt.Sprintf("trial %d", n+1)
				}
				for _, s := range ordered(o) {
					if s.HandOff != nil && enough(s.HandOff, q.q) {
						line.X = append(line.X, float64(s.Contenders))
						line.Y = append(line.Y, float64(q.of(s.HandOff))/1e6)
					}
				}
				if len(line.X) > 1 {
					f.Series = append(f.Series, line)
				}
			}
		}
	}
	return noted(f, t)
}

// ordered returns the stages by their contender counts.
func ordered(o *locks.Outcome) []locks.Stage {
	stages := slices.Clone(o.Stages)
	slices.SortFunc(stages, func(a, b locks.Stage) int { return a.Contenders - b.Contenders })
	return stages
}

// byHold has a line for each statistic and for each database and recipe with several times.
func byHold(columns []abilities.Column) figure.Figure {
	f := handOffs("LOCK-HAND-OFF-BY-HOLD", "Hand-off of a lock by the time for which it is held", figure.Axis{Label: "Held for", Unit: "ms", Log: true})
	list := byHolds(columns)
	t := typicalOf(outcomesOf(list))
	for _, h := range list {
		for _, q := range statistics(t) {
			line := figure.Series{Name: h.name() + " " + q.name, Key: h.column.Key, Variant: h.column.Variant, Dash: q.dash, Thin: q.dash != figure.Solid}
			for _, one := range h.all {
				if is := one.stage.HandOff; enough(is, q.q) {
					line.X, line.Y = append(line.X, float64(one.hold)/1e6), append(line.Y, float64(q.of(is))/1e6)
				}
			}
			if len(line.X) > 1 {
				f.Series = append(f.Series, line)
			}
		}
	}
	return noted(f, t)
}

// turns has a panel for each contender count, and a line for each trial in it.
func turns(columns []abilities.Column) figure.Figure {
	whole := 100.0
	f := figure.Figure{
		Name: "LOCK-TURNS", Short: "Turns that the luckiest contenders had", Kind: figure.Lines,
		X:     figure.Axis{Label: "Contenders, from the luckiest on", Unit: "%", Max: &whole},
		Notes: []string{"all contenders have the same if the line is straight"},
	}
	var numbers []int
	for _, c := range columns {
		for _, o := range outcomes(c.Runs) {
			for _, s := range o.Stages {
				if len(s.Fairness.Shares) > 1 && !slices.Contains(numbers, s.Contenders) {
					numbers = append(numbers, s.Contenders)
				}
			}
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		f.Panels = append(f.Panels, contenders(&locks.Stage{Contenders: n}))
		f.PanelY = append(f.PanelY, figure.Axis{Label: "Turns", Unit: "%", Max: &whole})
	}
	for _, c := range columns {
		list := outcomes(c.Runs)
		for trial, o := range list {
			for _, s := range ordered(o) {
				if len(s.Fairness.Shares) < 2 {
					continue
				}
				line := figure.Series{Name: c.Name, Key: c.Key, Variant: c.Variant, Panel: slices.Index(numbers, s.Contenders)}
				if len(list) > 1 {
					line.Thin, line.Statistic = true, fmt.Sprintf("trial %d", trial+1)
				}
				line.X, line.Y = []float64{0}, []float64{0}
				for i, had := range s.Fairness.Shares {
					line.X = append(line.X, 100*float64(i+1)/float64(len(s.Fairness.Shares)))
					line.Y = append(line.Y, 100*had)
				}
				f.Series = append(f.Series, line)
			}
		}
	}
	return f
}
