package page

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/analyze/figure"
)

// data is a figure in the form that the script reads. Its numbers are those in its CSV file,
// rounded to five digits.
type data struct {
	// Name is the base name for saved files.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Title is used in saved files. Short is used on the page, which already shows the title of the
	// report.
	Title    string   `json:"title"`
	Short    string   `json:"short"`
	Subtitle string   `json:"subtitle,omitempty"`
	X        axis     `json:"x"`
	Y        axis     `json:"y"`
	Band     string   `json:"band,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Panels has the titles of vertically stacked plots, and PanelY their vertical axes.
	Panels []string `json:"panels,omitempty"`
	PanelY []axis   `json:"panelY,omitempty"`
	Steps  []step   `json:"steps,omitempty"`
	// Events are thin marks whose labels appear on hover.
	Events []events `json:"events,omitempty"`
	// Grey has stretches on the x axis with a grey background: from, to, panel, and 1 if it has a
	// colour.
	Grey []numbers `json:"grey,omitempty"`
	// Strips are stretches at the bottom of a plot whose texts show under the pointer.
	Strips     []strip  `json:"strips,omitempty"`
	Categories []string `json:"categories,omitempty"`
	// Xs are x positions. Series with equal positions refer to the same entry.
	Xs     []numbers `json:"xs,omitempty"`
	Series []series  `json:"series"`
	Grid   *grid     `json:"grid,omitempty"`
}

type axis struct {
	Label string   `json:"label"`
	Unit  string   `json:"unit,omitempty"`
	Log   bool     `json:"log,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Names []name   `json:"names,omitempty"`
}

// name replaces the text of a tick.
type name struct {
	X    float64 `json:"x"`
	Text string  `json:"text"`
}

type step struct {
	X     float64 `json:"x"`
	Label string  `json:"label"`
	Color string  `json:"color,omitempty"`
	Panel int     `json:"panel,omitempty"`
}

type strip struct {
	At    numbers `json:"at"` // from, to
	Panel int     `json:"panel,omitempty"`
	Color string  `json:"color"`
	Text  string  `json:"text"`
}

// events groups the marks with one label, colour and panel.
type events struct {
	Label string  `json:"label"`
	Color string  `json:"color,omitempty"`
	Panel int     `json:"panel,omitempty"`
	Xs    numbers `json:"xs"`
	// Ns counts the events in each mark, where 0 means 1. It is absent if all are 0.
	Ns numbers `json:"ns,omitempty"`
}

type series struct {
	Name   string `json:"name"`
	Color  string `json:"color"`
	Ink    string `json:"ink"` // text colour
	Marker string `json:"marker"`
	Dash   int    `json:"dash,omitempty"`
	Thin   bool   `json:"thin,omitempty"`
	Loose  bool   `json:"loose,omitempty"`  // markers without a line
	Detail bool   `json:"detail,omitempty"` // shown on demand
	Trial  int    `json:"trial,omitempty"`  // trial of a detail
	Panel  int    `json:"panel,omitempty"`
	// Statistic names the meaning of Y in a saved table, such as the median.
	Statistic string  `json:"statistic,omitempty"`
	At        int     `json:"at"` // index in Xs
	Y         numbers `json:"y"`
	Low       numbers `json:"low,omitempty"`
	High      numbers `json:"high,omitempty"`
	// Colors and Inks are the colours of bars.
	Colors []string `json:"colors,omitempty"`
	Inks   []string `json:"inks,omitempty"`
	// Doubt has the indexes of points with too few samples, and Partial those of points that cover
	// only a part of their interval.
	Doubt   []int    `json:"doubt,omitzero"`
	Partial []int    `json:"partial,omitzero"`
	Labels  []string `json:"labels,omitempty"`
	// Details are texts that show with the values alone.
	Details []string `json:"details,omitempty"`
	// Boxes are minimum, 25th, 75th and 99th percentile, and maximum; Y is the median.
	Boxes []numbers `json:"boxes,omitempty"`
}

type grid struct {
	X      numbers  `json:"x"`
	Y      numbers  `json:"y"`
	Of     string   `json:"of"`
	Colors []string `json:"colors"`
	// Cells has the counts in each column from the lowest row up to the last row that is not empty.
	// Levels has the colour indexes for the same cells.
	Cells  []numbers `json:"cells"`
	Levels [][]int   `json:"levels"`
}

// markerSize is the marker radius in page units.
const markerSize = 3.6

// kinds maps figure kinds to the names that the script knows.
func kinds() map[figure.Kind]string {
	return map[figure.Kind]string{
		figure.Lines: "lines", figure.Stairs: "stairs", figure.Percentiles: "percentiles",
		figure.Points: "points", figure.Bars: "bars", figure.Heat: "heat",
	}
}

// dataOf returns the data in a figure.
func dataOf(f figure.Figure) *data {
	d := &data{
		Name: f.Name, Kind: kinds()[f.Kind], Title: f.Title, Short: f.Heading(), Subtitle: f.Subtitle, Band: f.Band, Notes: f.Notes,
		Categories: f.Categories, Panels: f.Panels, X: axisOf(f.X), Y: axisOf(f.Y), Series: []series{},
	}
	for _, a := range f.PanelY {
		d.PanelY = append(d.PanelY, axisOf(a))
	}
	panel := func(n int) int { return min(n, max(len(f.Panels)-1, 0)) }
	for _, s := range f.Steps {
		d.Steps = append(d.Steps, step{X: s.X, Label: s.Label, Color: colorOf(s.Key), Panel: panel(s.Panel)})
	}
	for _, e := range f.Events {
		of := events{Label: e.Kind, Color: colorOf(e.Key), Panel: panel(e.Panel)}
		at := slices.IndexFunc(d.Events, func(o events) bool { return o.Label == of.Label && o.Color == of.Color && o.Panel == of.Panel })
		if at < 0 {
			at = len(d.Events)
			d.Events = append(d.Events, of)
		}
		d.Events[at].Xs, d.Events[at].Ns = append(d.Events[at].Xs, e.X), append(d.Events[at].Ns, e.N)
	}
	for i, e := range d.Events {
		if !slices.ContainsFunc(e.Ns, func(n float64) bool { return n != 0 }) {
			d.Events[i].Ns = nil
		}
	}
	for _, g := range f.Grey {
		if g.Key != 0 {
			d.Strips = append(d.Strips, strip{numbers{g.From, g.To}, g.Panel, figure.Color(g.Key), g.Text})
			continue
		}
		stretch := numbers{g.From, g.To, float64(g.Panel)}
		if g.Tinted {
			stretch = append(stretch, 1)
		}
		d.Grey = append(d.Grey, stretch)
	}
	for i, s := range f.Series {
		d.Series = append(d.Series, d.seriesOf(f, i, s))
	}
	if f.Grid != nil {
		d.Grid = gridOf(f.Grid)
	}
	return d
}

func axisOf(a figure.Axis) axis {
	out := axis{Label: a.Label, Unit: a.Unit, Log: a.Log, Min: a.Min, Max: a.Max}
	for _, x := range slices.Sorted(maps.Keys(a.Names)) {
		out.Names = append(out.Names, name{x, a.Names[x]})
	}
	return out
}

// colorOf returns the colour of a key; "" for the text colour.
func colorOf(key int) string {
	if key == 0 {
		return ""
	}
	return figure.Color(key)
}

func (d *data) seriesOf(f figure.Figure, i int, s figure.Series) series {
	if s.Key == 0 {
		s.Key = i + 1
	}
	x := s.X
	color, shape := s.Look()
	one := series{
		Name: s.Name, Color: color, Ink: s.TextColor(), Marker: figure.Marker(shape, markerSize), Dash: int(s.Dash), Thin: s.Thin, Loose: s.Loose,
		Detail: s.Detail, Trial: s.Trial, Panel: s.Panel, Statistic: s.Statistic, Y: s.Y, Low: s.Low, High: s.High, Labels: s.Labels, Details: s.Details,
	}
	if f.Kind == figure.Heat {
		one.Color, one.Ink, x = "#000000", "#000000", nil
		for column := range s.Y {
			x = append(x, (f.Grid.X[column]+f.Grid.X[column+1])/2)
		}
	}
	if f.Kind != figure.Bars {
		one.At = slices.IndexFunc(d.Xs, func(have numbers) bool { return slices.Equal(have, x) })
		if one.At < 0 {
			one.At = len(d.Xs)
			d.Xs = append(d.Xs, x)
		}
	}
	for _, h := range s.Hues {
		bar := figure.Series{Key: h.Key, Variant: h.Variant}
		color, _ := bar.Look()
		one.Colors, one.Inks = append(one.Colors, color), append(one.Inks, bar.TextColor())
	}
	for _, b := range s.Boxes {
		one.Boxes = append(one.Boxes, numbers{b.Least, b.Low, b.High, b.P99, b.Most})
	}
	one.Doubt, one.Partial = marked(s.Uncertain), marked(s.Partial)
	return one
}

// marked returns the indexes of true values; nil for nil.
func marked(all []bool) (places []int) {
	if all != nil {
		places = []int{}
	}
	for i, is := range all {
		if is {
			places = append(places, i)
		}
	}
	return places
}

func gridOf(g *figure.Grid) *grid {
	colors, level := g.Shades()
	out := &grid{X: g.X, Y: g.Y, Of: g.Of, Colors: colors}
	for _, column := range g.Counts {
		last := len(column)
		for last > 0 && column[last-1] == 0 {
			last--
		}
		levels := []int{}
		for _, n := range column[:last] {
			levels = append(levels, level(n))
		}
		out.Cells, out.Levels = append(out.Cells, numbers(column[:last])), append(out.Levels, levels)
	}
	return out
}

// numbers encode compactly: five digits, and null for a gap.
type numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	return append(b, ']'), nil
}

func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(b, "null"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e7:
		return strconv.AppendInt(b, int64(v), 10)
	}
	// Round first, so that the shortest representation has only these digits.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 4, 64), 64)
	if err != nil {
		return append(b, "null"...)
	}
	format := byte('f')
	if a := math.Abs(rounded); a >= 1e9 || a < 1e-5 {
		format = 'e'
	}
	return strconv.AppendFloat(b, rounded, format, -1, 64)
}
