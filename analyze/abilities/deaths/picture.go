package deaths

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/deaths"
)

// Figures returns one picture: the share of sessions that remain by the time after their TTL, with
// a line per database for its trials.
func (Half) Figures(columns []abilities.Column) []figure.Figure {
	all := 100.0
	f := figure.Figure{
		Name: "SESSIONS-LEFT", Short: "Sessions of dead clients by time after their TTL", Kind: figure.Stairs,
		X: figure.Axis{Label: "Time after the TTL", Unit: "seconds"}, Y: figure.Axis{Label: "Sessions left", Unit: "%", Max: &all},
		Notes: []string{"the TTL is counted from the sending of each session's last renewal; a session is left until all its keys are gone"},
	}
	for _, c := range columns {
		list := outcomes(c.Runs)
		for n := range list {
			if line, ok := survivors(c, &list[n], n, len(list)); ok {
				f.Series = append(f.Series, line)
			}
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}

// survivors returns the line for a trial. All sessions remain until the first one ends.
func survivors(c abilities.Column, o *deaths.Outcome, trial, trials int) (line figure.Series, ok bool) {
	if len(o.Survivors) == 0 || o.Abandoned == 0 {
		return line, false
	}
	line = figure.Series{Name: c.Name, Key: c.Key, Variant: c.Variant}
	if trials > 1 {
		line.Thin, line.Statistic = true, fmt.Sprintf("trial %d", trial+1)
	}
	first := min(0, o.Survivors[0].After.Seconds())
	line.X, line.Y = append(line.X, first), append(line.Y, 100)
	for _, p := range o.Survivors {
		line.X = append(line.X, p.After.Seconds())
		line.Y = append(line.Y, 100*float64(p.Left)/float64(o.Abandoned))
	}
	return line, true
}
