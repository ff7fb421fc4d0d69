// Package figure draws figures for print from data: as SVG and PNG pictures, and as CSV tables.
//
// A [Figure] is pure data and drawing it is a pure function: the same figure gives the same bytes,
// in every format. Colour identifies a series family ([Series.Key]), shade and marker identify a
// series within its family ([Series.Variant], [Series.Marker]), and dash and weight identify the
// statistic ([Series.Dash], [Series.Thin]), so that a figure can be read without seeing colour.
// Dots mean few samples ([Series.Uncertain]) and a pale line means a partial second
// ([Series.Partial]); nothing else is drawn dotted or pale. The legend is above the plot, never on
// the data. Text is wrapped and never cut off; a figure with much text becomes higher.
//
// Every function here is safe for concurrent use as long as the figure is not modified.
package figure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Kind is the shape of a figure.
type Kind int

const (
	// Lines connects the points in each series: quantities over time or over keys.
	Lines Kind = iota
	// Stairs holds each value until the next point: client counts, settings.
	Stairs
	// Percentiles connects points like Lines. X is a percentile in [0, 100) on the scale log(1/(1-q)),
	// which gives every further nine the same room. A point at 100 is not on this scale and appears
	// only in the CSV.
	Percentiles
	// Points is Lines with a marker on every point, and a tick at every X if there are few: a
	// quantity by client count.
	Points
	// Bars draws horizontal bars grouped by category, each with its value printed next to it.
	// Figure.Categories names the groups, every Series has one Y per category and no X, and
	// Figure.Y describes the values. Boxes may replace the bars.
	Bars
	// Heat colours the cells in Figure.Grid by their counts. Series are drawn on top in black
	// without markers. Each has one Y per grid column and no X.
	Heat
)

// Figure is the data for a picture and for its table.
type Figure struct {
	// Name is the base for file names, such as "AVG-LATENCY-MS".
	Name string
	// Title and Subtitle appear above the plot. They are wrapped, never cut.
	Title, Subtitle string
	// Short is the title for a page that already shows the title of the report; empty means Title.
	Short string
	// Main marks one of the few figures that a report shows at once. Others are shown on demand.
	Main bool
	Kind Kind
	X, Y Axis
	// Categories names the groups of bars, from top to bottom.
	Categories []string
	Series     []Series
	// Grid is the data for Heat.
	Grid *Grid
	// Band describes the bands between Low and High in the legend, such as "min to max of 3
	// members". If it is empty, the legend does not mention them.
	Band string
	// Panels has the titles of small multiples: vertically stacked plots with one X axis and the
	// same scales, each with its own series, steps, stretches and events. Empty means a single
	// plot.
	Panels []string
	// PanelY, if not nil, gives every panel its own vertical axis instead of Y.
	PanelY []Axis
	// Steps are thin vertical lines where the load changed.
	Steps []Boundary
	// Grey has stretches on the X axis with a grey background.
	Grey []Stretch
	// Events are thin marks at a position on the X axis. The legend lists their kinds.
	Events []Event
	// Notes are small lines below the plot: "shared host", sample counts.
	Notes []string
}

type Axis struct {
	// Label and Unit are printed as "Label (Unit)". With the units "bytes" and "bytes/s", ticks are
	// in kB, MB and so on. Other units use k, M, G from 10,000.
	Label, Unit string
	// Log makes the scale logarithmic. Values at or below 0 are then gaps, and a note below the
	// plot counts them.
	Log bool
	// Min and Max fix an end of the axis. Values outside are clipped. By default a linear Y axis
	// starts at 0 unless there are negative values.
	Min, Max *float64
	// Names replace the labels for X values in Points.
	Names map[float64]string
}

// Dash distinguishes one database's statistics.
type Dash int

// Dash patterns. Dots are reserved for [Series.Uncertain].
const (
	Solid Dash = iota
	Dashed
)

// Series is one line, or one bar in each group.
type Series struct {
	// Name is the text in the legend and the column name in the CSV. Series in several panels may
	// have the same name if they look alike: the legend has it once, and the CSV with the panel.
	Name string
	// Key, from 1, selects the colour. Series for the same database share it in every figure in a
	// report. 0 means the index in Figure.Series plus one.
	Key int
	// Variant, from 0, selects the shade.
	Variant int
	// Marker, from 1, selects the marker shape. 0 means Key plus Variant.
	Marker int
	Dash   Dash
	// Thin draws a lighter line, for secondary statistics.
	Thin bool
	// Detail marks a series behind another one, such as a trial behind the median. It is in the
	// CSV, and a page may show it on demand. Pictures omit it.
	Detail bool
	// Trial is the trial number, or 0.
	Trial int
	// Statistic names the meaning of Y in the CSV, such as the "median" of trials; Low and High are
	// then their extremes. Empty means that Y is an ordinary value.
	Statistic string
	// Loose draws markers without a line: occasional events.
	Loose bool
	// Panel is an index in Figure.Panels.
	Panel int
	// X and Y are the points in drawing order; both have the same length. NaN is a gap, which
	// breaks the line.
	X, Y []float64
	// Low and High, if not nil, bound a translucent band at each X. NaN is a gap in the band.
	Low, High []float64
	// Uncertain, if not nil, marks points with too few samples. They are drawn dotted, with hollow
	// markers.
	Uncertain []bool
	// Labels, if not nil, are short texts next to the points. A loose series shows only the label
	// at its highest point.
	Labels []string
	// Details, if not nil, are texts that only a page shows, with the values.
	Details []string
	// Boxes, if not nil, replace the bars in Bars: one per category, with Y as the median.
	Boxes []Box
	// Hues, if not nil, give each bar the colour of its category. Such a figure needs no legend,
	// and its details are dots on the bars.
	Hues []Hue
	// Partial, if not nil, marks points that cover only a part of their interval, such as the
	// second in which a load ended. They are drawn pale.
	Partial []bool
}

// Box holds the bounds of a distribution, its lower and upper quartiles, and its 99th percentile.
// Only the bounds may be unknown (NaN).
type Box struct{ Least, Low, High, P99, Most float64 }

// Hue is the colour of a bar, as in [Series.Key] and [Series.Variant].
type Hue struct{ Key, Variant int }

// Boundary marks where the load changes.
type Boundary struct {
	// X is the position on the X axis where the step begins.
	X float64
	// Label names this step, such as "10 clients".
	Label string
	// Key is the database, as in [Series.Key]; 0 means all databases.
	Key int
	// Panel is an index in Figure.Panels.
	Panel int
}

// Event marks something that happened.
type Event struct {
	X float64
	// Kind is a short name, such as "leader lost". Kinds get symbols in the order in which they
	// occur.
	Kind string
	// Key is the colour, as in [Series.Key]; 0 is the text colour.
	Key int
	// N is the number of events that the legend counts; 0 means 1.
	N float64
	// Panel is an index in Figure.Panels.
	Panel int
}

// Stretch is a part of the X axis. Panel is an index in Figure.Panels.
type Stretch struct {
	From, To float64
	Panel    int
	// Tinted stretches have a coloured background in place of a grey one.
	Tinted bool
	// Key, if not 0, makes it a strip at the bottom of the plot in this colour, as in [Series.Key],
	// in place of a background. In a single plot, strips from different panels are above one
	// another.
	Key int
	// Text is shown by a page while the pointer is on the strip.
	Text string
}

// Heading is the short title or, without one, the full title.
func (f Figure) Heading() string { return cmp.Or(f.Short, f.Title) }

// repeats reports whether panels that share their vertical axis repeat series names.
func (f Figure) repeats() bool {
	if len(f.Panels) == 0 || f.PanelY != nil {
		return false
	}
	panels := map[string]int{}
	for _, s := range f.Series {
		if panel, known := panels[s.Name]; known && panel != s.Panel {
			return true
		}
		panels[s.Name] = s.Panel
	}
	return false
}

// details returns the detail series.
func (f Figure) details() []Series {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return !s.Detail })
}

// withoutDetails returns the part of f that pictures show.
func (f Figure) withoutDetails() Figure {
	f.Series = slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Detail })
	return f
}

// check returns every defect in the figure as one error.
func (f Figure) check() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("figure %s: %s", f.Name, fmt.Sprintf(format, args...)))
	}
	if f.Kind < Lines || f.Kind > Heat {
		wrong("unknown kind %d", f.Kind)
	}
	if f.Kind == Heat {
		if err := f.Grid.check(); err != nil {
			return errors.Join(append(errs, fmt.Errorf("figure %s: %w", f.Name, err))...)
		}
	}
	for _, s := range f.Series {
		f.checkSeries(s, wrong)
	}
	if len(f.Panels) > 0 && (f.Kind == Bars || f.Kind == Heat) {
		wrong("a figure of this kind has no panels")
	}
	if f.PanelY != nil && len(f.PanelY) != len(f.Panels) {
		wrong("%d vertical axes for %d panels", len(f.PanelY), len(f.Panels))
	}
	for _, e := range f.Events {
		if e.Key < 0 || e.N < 0 || !finite(e.N) {
			wrong("event %q has the key %d and the number %v", e.Kind, e.Key, e.N)
		}
	}
	for _, axis := range append([]Axis{f.X, f.Y}, f.PanelY...) {
		if err := axis.check(); err != nil {
			wrong("axis %q: %v", axis.Label, err)
		}
	}
	if f.Kind == Percentiles {
		if f.X.Min != nil && !belowHundred(*f.X.Min) || f.X.Max != nil && (!belowHundred(*f.X.Max) || *f.X.Max == 0) {
			wrong("axis %q: percentiles end between 0 and 100", f.X.Label)
		}
	}
	return errors.Join(errs...)
}

// checkSeries calls wrong for every defect in a series.
func (f Figure) checkSeries(s Series, wrong func(format string, args ...any)) {
	points, what := len(s.X), "x values"
	switch f.Kind {
	case Bars:
		points, what = len(f.Categories), "categories"
	case Heat:
		points, what = len(f.Grid.Counts), "columns"
	}
	if len(s.Y) != points {
		wrong("series %q has %d y values for %d %s", s.Name, len(s.Y), points, what)
	}
	if len(s.Low) != len(s.High) || s.Low != nil && len(s.Low) != points {
		wrong("series %q has a band of %d and %d values for %d %s", s.Name, len(s.Low), len(s.High), points, what)
	}
	if s.Uncertain != nil && len(s.Uncertain) != points {
		wrong("series %q has %d marks of uncertainty for %d %s", s.Name, len(s.Uncertain), points, what)
	}
	if s.Partial != nil && len(s.Partial) != points {
		wrong("series %q has %d marks of parts for %d %s", s.Name, len(s.Partial), points, what)
	}
	if s.Panel < 0 || len(f.Panels) > 0 && s.Panel >= len(f.Panels) {
		wrong("series %q is in panel %d of %d", s.Name, s.Panel, len(f.Panels))
	}
	if s.Labels != nil && len(s.Labels) != points {
		wrong("series %q has %d labels for %d %s", s.Name, len(s.Labels), points, what)
	}
	if s.Details != nil && len(s.Details) != points {
		wrong("series %q has %d details for %d %s", s.Name, len(s.Details), points, what)
	}
	if s.Boxes != nil && (len(s.Boxes) != points || f.Kind != Bars) {
		wrong("series %q has %d boxes for %d %s", s.Name, len(s.Boxes), points, what)
	}
	if s.Hues != nil && (len(s.Hues) != points || f.Kind != Bars) {
		wrong("series %q has %d hues for %d %s", s.Name, len(s.Hues), points, what)
	}
	if s.Key < 0 || s.Variant < 0 || s.Marker < 0 {
		wrong("series %q has the key %d, the variant %d and the marker %d", s.Name, s.Key, s.Variant, s.Marker)
	}
}

// check returns an error if the axis has impossible ends.
func (a Axis) check() error {
	for _, end := range []*float64{a.Min, a.Max} {
		if end != nil && (!finite(*end) || a.Log && !positive(*end)) {
			return fmt.Errorf("cannot end at %v", *end)
		}
	}
	if a.Min != nil && a.Max != nil && !apart(*a.Min, *a.Max) {
		return fmt.Errorf("minimum %v is not below maximum %v", *a.Min, *a.Max)
	}
	return nil
}

// title is the axis label with its unit: "Latency (ms)".
func (a Axis) title() string {
	if a.Unit == "" {
		return a.Label
	}
	if a.Label == "" {
		return a.Unit
	}
	return a.Label + " (" + a.Unit + ")"
}

// values returns all numbers in the box, which the scale must include.
func (b Box) values() []float64 { return []float64{b.Least, b.Low, b.High, b.P99, b.Most} }
