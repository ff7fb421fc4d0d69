package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// addLogged marks the moments at which members logged a slow operation, and notes the longest of
// each kind. Their durations are not request latencies, so they cannot be drawn on the latency
// axis.
func (d *Data) addLogged(f *figure.Figure) {
	var notes run.PerTag
	for _, g := range d.groups() {
		longest := map[string]time.Duration{}
		for _, r := range g.Runs {
			for _, e := range r.Machines.Events {
				if e.Log == "" || e.Took <= 0 {
					continue
				}
				longest[e.Kind] = max(longest[e.Kind], e.Took)
				if shownAs(e) == "" { // the others are marked already
					f.Events = append(f.Events, figure.Event{X: elapsedAt(r, e.Time), Kind: e.Kind, Key: d.eventKey(f, r), Panel: d.place(r)})
				}
			}
		}
		kinds := slices.SortedFunc(maps.Keys(longest), func(a, b string) int { return cmp.Or(cmp.Compare(longest[b], longest[a]), cmp.Compare(a, b)) })
		for _, kind := range kinds {
			notes.Add(g.Title(), fmt.Sprintf("%s up to %s", kind, milliseconds(longest[kind])))
		}
	}
	for _, line := range notes.Joined() {
		f.Notes = append(f.Notes, "by members' logs, "+line)
	}
}

// milliseconds formats a time in the unit of the latency axis.
func milliseconds(t time.Duration) string {
	if t >= time.Second {
		return fmt.Sprintf("%d ms", t.Milliseconds())
	}
	return fmt.Sprintf("%.3g ms", float64(t)/1e6)
}

// eventKey is the colour for the events in a run: that of its database if a plot has several
// databases.
func (d *Data) eventKey(f *figure.Figure, r *run.Run) int {
	if len(f.Panels) == 0 && len(d.groups()) > 1 {
		return d.lookOf(r).key
	}
	return 0
}

// farApart is the ratio of maximum to median above which an axis becomes logarithmic. On a linear
// axis, the median would be indistinguishable from 0.
const farApart = 20

// fitAxis makes the vertical axis logarithmic if a few values are far above the others.
func fitAxis(f *figure.Figure) {
	var values []float64
	for _, s := range f.Series {
		if s.Detail {
			continue
		}
		for _, v := range slices.Concat(s.Y, s.High) {
			if v > 0 && !math.IsInf(v, 1) {
				values = append(values, v)
			}
		}
	}
	slices.Sort(values)
	if n := len(values); n > 0 && values[n-1] > farApart*values[n/2] {
		f.Y.Log = true
	}
}
