package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Colour keys.
const (
	dotKey = iota + 1
	shiftKey
	otherKey
)

// mostPanels limits the metrics in a picture. If there are more, only the deciding metrics are
// drawn.
const mostPanels = 10

// Figure draws a comparison: one row per metric, with the change in each pair, the estimate with
// its interval, and the margin as a band.
func (r *Report) Figure() figure.Figure {
	f := figure.Figure{
		Name: "compare", Kind: figure.Lines,
		Title:    fmt.Sprintf("B against A: %s", r.Word()),
		Subtitle: fmt.Sprintf("%s The grey band is the margin of %s: changes inside it count as equivalent.", r.Sentence(), percentText(100*r.Margin)),
		X:        figure.Axis{Label: "change of B against A", Unit: "%"},
		Y:        figure.Axis{Label: "pair (0: the estimate)"},
		Notes:    []string{"differing: " + strings.Join(r.differenceLines(), "; ")},
	}
	if !r.Interleaved {
		f.Y.Label = "run (0: the estimate)"
		f.Notes = append(f.Notes, "The runs did not alternate: each dot compares a run with the median of A.")
	}
	low, high := r.extent()
	f.X.Min, f.X.Max = &low, &high
	outside := 0
	for i := range r.Findings {
		if len(r.Findings) > mostPanels && !r.Findings[i].Decides {
			continue
		}
		outside += r.panel(&f, &r.Findings[i], &r.rows[i])
	}
	if outside > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d dot%s of metrics that do not decide lie outside the picture.", outside, run.Plural(outside)))
	}
	last := 1.0
	for _, s := range f.Series {
		for _, y := range s.Y {
			last = max(last, y)
		}
	}
	below := -1.0
	last++
	f.Y.Min, f.Y.Max = &below, &last
	return f
}

// panel adds the row for one metric and returns the number of dots outside the axis.
func (r *Report) panel(f *figure.Figure, found *abtest.Finding, one *row) (outside int) {
	n, first := len(f.Panels), len(f.Series)
	title := found.Name + ": " + changeText(found)
	if found.Decides {
		title += ", " + string(found.Verdict)
	} else {
		title += " (shown only)"
	}
	f.Panels = append(f.Panels, title)
	f.Steps = append(f.Steps, figure.Boundary{X: 0, Panel: n})
	f.Grey = append(f.Grey, figure.Stretch{From: Percent(-math.Log1p(r.Margin)), To: 100 * r.Margin, Panel: n})
	for _, s := range r.dots(one) {
		for _, x := range s.X {
			if x < *f.X.Min || x > *f.X.Max {
				outside++
			}
		}
		f.Series = append(f.Series, s)
	}
	shift := figure.Series{Name: "estimate with its 95 % interval", Key: shiftKey}
	for _, v := range []float64{found.Low, found.Shift, found.High} {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			continue
		}
		shift.X, shift.Y = append(shift.X, Percent(v)), append(shift.Y, 0)
	}
	f.Series = append(f.Series, shift)
	for i := first; i < len(f.Series); i++ {
		f.Series[i].Panel = n
		if n > 0 {
			f.Series[i].Name = "" // named once in the legend
		}
	}
	return outside
}

// dots returns the changes in one metric: one per pair, or all runs relative to A's median.
func (r *Report) dots(one *row) []figure.Series {
	if r.Interleaved {
		s := figure.Series{Name: "a pair", Key: dotKey, Loose: true}
		for i, p := range pairsOf(r.A.Runs, r.B.Runs) {
			s.X = append(s.X, 100*(one.b.values[p.b]/one.a.values[p.a]-1))
			s.Y = append(s.Y, float64(i+1))
		}
		return []figure.Series{s}
	}
	middle := one.a.median()
	against := func(name string, key int, c *column) figure.Series {
		s := figure.Series{Name: name, Key: key, Loose: true}
		for i, v := range c.list() {
			s.X, s.Y = append(s.X, 100*(v/middle-1)), append(s.Y, float64(i+1))
		}
		return s
	}
	return []figure.Series{against("a run of B", dotKey, &one.b), against("a run of A", otherKey, &one.a)}
}

// extent returns the ends of the axis, which covers the deciding metrics, their intervals and the
// margin. Other metrics may deviate so much that they would make the picture unreadable.
func (r *Report) extent() (low, high float64) {
	low, high = Percent(-math.Log1p(r.Margin)), 100*r.Margin
	for i := range r.Findings {
		found := &r.Findings[i]
		if !found.Decides {
			continue
		}
		for _, s := range r.dots(&r.rows[i]) {
			for _, x := range s.X {
				low, high = min(low, x), max(high, x)
			}
		}
		for _, v := range []float64{found.Low, found.High} {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				low, high = min(low, Percent(v)), max(high, Percent(v))
			}
		}
	}
	room := .06 * (high - low)
	return low - room, high + room
}
