package chart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// mostStalls limits the drawn stalls in a run. The longest are drawn.
const mostStalls = 50

// markStalls draws a strip for each stall, and notes the meaning of the strips.
func (d *Data) markStalls(f *figure.Figure) {
	drawn, all := 0, 0
	for _, r := range d.Runs {
		list := slices.Clone(r.Stalls.List)
		slices.SortStableFunc(list, func(a, b run.Stall) int { return cmp.Compare(b.Length, a.Length) })
		all += len(list)
		list = list[:min(len(list), mostStalls)]
		drawn += len(list)
		slices.SortStableFunc(list, func(a, b run.Stall) int { return a.From.Compare(b.From) })
		for i := range list {
			of := &list[i]
			text := fmt.Sprintf("stall of %.1f s after %.1f s, coincided with %s", of.Length.Seconds(), elapsedAt(r, of.From), r.Stalls.With(of))
			if d.several(d.Runs) {
				text = r.Info.Name() + ": " + text
			}
			f.Grey = append(f.Grey, figure.Stretch{
				From: elapsedAt(r, of.From), To: elapsedAt(r, of.From.Add(of.Length)), Panel: d.place(r), Key: d.lookOf(r).key, Text: text,
			})
		}
	}
	if drawn == 0 {
		return
	}
	note := "strips at the bottom: stalls, in which fewer than half of the requests ended ok that were due or usual"
	if drawn < all {
		note += fmt.Sprintf("; %d of %d, the longest of each run", drawn, all)
	}
	f.Notes = append(f.Notes, note)
}
