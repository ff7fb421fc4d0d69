package stalls

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// mostDrawn bounds the kinds that the calendar distinguishes.
const mostDrawn = 6

// The words for stalls that coincided with nothing, and with kinds that are not distinguished.
const (
	nothing = run.Nothing
	others  = "other events"
)

// Figures returns a calendar with all stalls by start and length. Colour and shape show the event
// kind that coincided.
func (Half) Figures(columns []abilities.Column) []figure.Figure {
	least := results.ProgressTick.Seconds() / 2
	f := figure.Figure{
		Name: "STALLS", Short: "Stalls by what they coincided with", Kind: figure.Points,
		X: figure.Axis{Label: "Start of the stall after the load began", Unit: "seconds"}, Y: figure.Axis{Label: "Length of the stall", Unit: "seconds", Log: true, Min: &least},
		Notes: []string{
			"a stall: fewer than half of the requests ended ok that were due, or in a closed loop that end in the median tick",
			"of several kinds that a stall coincided with, one is shown: what chance does not explain, else a fault, else the longest; stalls.csv has all",
		},
	}
	kinds := kindsOf(columns)
	for panel, c := range columns {
		if len(columns) > 1 {
			f.Panels = append(f.Panels, c.Name)
		} else {
			panel = 0
		}
		points := make([]figure.Series, len(kinds))
		for _, r := range c.Runs {
			for i, one := range r.Stalls.List {
				at := slices.Index(kinds, nameOf(&r.Stalls.List[i]))
				if at < 0 {
					at = slices.Index(kinds, others)
				}
				points[at].X = append(points[at].X, one.From.Sub(time.Unix(0, r.Origin())).Seconds())
				points[at].Y = append(points[at].Y, one.Length.Seconds())
				points[at].Details = append(points[at].Details, "coincided with "+r.Stalls.With(&r.Stalls.List[i]))
			}
		}
		for k, p := range points {
			if len(p.X) == 0 {
				continue
			}
			p.Name, p.Key, p.Marker, p.Loose, p.Panel = kinds[k], k+1, k+1, true, panel
			f.Series = append(f.Series, p)
		}
	}
	if len(f.Series) == 0 {
		return nil
	}
	return []figure.Figure{f}
}

// nameOf returns the kind of a stall in the calendar.
func nameOf(s *run.Stall) string {
	if len(s.Coincided) == 0 {
		return nothing
	}
	return s.Coincided[0].Kind
}

// kindsOf returns the kinds that the calendar distinguishes: those with the most stalls.
func kindsOf(columns []abilities.Column) (kinds []string) {
	counts := map[string]int{}
	for _, c := range columns {
		for _, r := range c.Runs {
			for i := range r.Stalls.List {
				name := nameOf(&r.Stalls.List[i])
				if counts[name]++; counts[name] == 1 {
					kinds = append(kinds, name)
				}
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return counts[b] - counts[a] })
	if len(kinds) > mostDrawn {
		kinds = append(kinds[:mostDrawn-1], others)
	}
	return kinds
}
