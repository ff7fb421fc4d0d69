package page

import (
	"math"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/analyze/figure"
)

// data is a figure as the script reads it. Its numbers are those of the figure's CSV, to
// five digits.
type data struct {
	Kind     string   `json:"kind"`
	Title    string   `json:"title"`
	Subtitle string   `json:"subtitle,omitempty"`
	X        axis     `json:"x"`
	Y        axis     `json:"y"`
	Band     string   `json:"band,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Steps    []step   `json:"steps,omitempty"`
	// Events are thin marks; their labels show on hover.
	Events []step `json:"events,omitempty"`
	// Grey are stretches of the x axis with a grey background.
	Grey       []numbers `json:"grey,omitempty"`
	Categories []string  `json:"categories,omitempty"`
	// Xs are the places of the points; series that share them name the same ones.
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
}

type step struct {
	X     float64 `json:"x"`
	Label string  `json:"label"`
	Color string  `json:"color,omitempty"`
	N     float64 `json:"n,omitempty"` // how many an event stands for, 1 if it is 0
}

type series struct {
	Name   string  `json:"name"`
	Color  string  `json:"color"`
	Marker string  `json:"marker"`
	Dash   int     `json:"dash,omitempty"`
	Thin   bool    `json:"thin,omitempty"`
	Loose  bool    `json:"loose,omitempty"` // markers without a line
	At     int     `json:"at"`              // its place in Xs
	Y      numbers `json:"y"`
	Low    numbers `json:"low,omitempty"`
	High   numbers `json:"high,omitempty"`
	// Doubt are the places of the points that too few samples support, Partial of those
	// whose value is of a part of their place.
	Doubt   []int `json:"doubt,omitempty"`
	Partial []int `json:"partial,omitempty"`
}

type grid struct {
	X      numbers  `json:"x"`
	Y      numbers  `json:"y"`
	Of     string   `json:"of"`
	Colors []string `json:"colors"`
	// Cells are the columns' counts from the lowest row on, up to the last one that is
	// not empty; Levels the colours' places of the same cells.
	Cells  []numbers `json:"cells"`
	Levels [][]int   `json:"levels"`
}

// markerSize is the radius of markers in units of the page.
const markerSize = 3.6

// kinds are the names of the kinds that the script draws.
func kinds() map[figure.Kind]string {
	return map[figure.Kind]string{
		figure.Lines: "lines", figure.Stairs: "stairs", figure.Percentiles: "percentiles",
		figure.Points: "points", figure.Bars: "bars", figure.Heat: "heat",
	}
}

// dataOf returns the data of a figure, or nil if the script cannot draw it: the picture
// stays as it is.
func dataOf(f figure.Figure) *data {
	kind := kinds()[f.Kind]
	boxed := slices.ContainsFunc(f.Series, func(s figure.Series) bool { return s.Boxes != nil })
	if kind == "" || len(f.Panels) > 0 || boxed {
		return nil
	}
	d := &data{
		Kind: kind, Title: f.Title, Subtitle: f.Subtitle, Band: f.Band, Notes: f.Notes, Categories: f.Categories,
		X: axis{f.X.Label, f.X.Unit, f.X.Log, f.X.Min, f.X.Max}, Y: axis{f.Y.Label, f.Y.Unit, f.Y.Log, f.Y.Min, f.Y.Max},
		Series: []series{},
	}
	for _, s := range f.Steps {
		one := step{X: s.X, Label: s.Label}
		if s.Key > 0 {
			one.Color = figure.Color(s.Key)
		}
		d.Steps = append(d.Steps, one)
	}
	for _, e := range f.Events {
		one := step{X: e.X, Label: e.Kind, N: e.N}
		if e.Key > 0 {
			one.Color = figure.Color(e.Key)
		}
		d.Events = append(d.Events, one)
	}
	for _, g := range f.Grey {
		d.Grey = append(d.Grey, numbers{g.From, g.To})
	}
	for i, s := range f.Series {
		if !s.Detail {
			d.Series = append(d.Series, d.seriesOf(f, i, s))
		}
	}
	if f.Grid != nil {
		d.Grid = gridOf(f.Grid)
	}
	return d
}

func (d *data) seriesOf(f figure.Figure, i int, s figure.Series) series {
	if s.Key == 0 {
		s.Key = i + 1
	}
	x := s.X
	color, shape := s.Look()
	one := series{Name: s.Name, Color: color, Marker: figure.Marker(shape, markerSize), Dash: int(s.Dash), Thin: s.Thin, Loose: s.Loose, Y: s.Y, Low: s.Low, High: s.High}
	if f.Kind == figure.Heat {
		one.Color, x = "#000000", nil
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
	one.Doubt, one.Partial = marked(s.Uncertain), marked(s.Partial)
	return one
}

// marked returns the places that are true.
func marked(all []bool) (places []int) {
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

// numbers prints short: five digits, and null for a gap.
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
	// Rounded first, the shortest text of the number has the digits alone.
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
