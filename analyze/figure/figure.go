// Package figure draws figures for print from data: SVG and PNG pictures and
// the CSV table behind them.
//
// A [Figure] is pure data and drawing it is a pure function: the same figure
// gives the same bytes, in every format. Colour stands for a family of
// series ([Series.Key]), its shade and the marker for the one of the family
// ([Series.Variant], [Series.Marker]), dash and weight for the statistic ([Series.Dash],
// [Series.Thin]), so that a figure can be read without seeing colour. Dots mean few
// samples ([Series.Uncertain]) and a pale line a part of a second ([Series.Partial]);
// nothing else is drawn so. The
// legend stands above the plot, never on the data, and text is wrapped and never
// cut off; a figure grows in height when it has much of it.
//
// Every function here is safe for concurrent use as long as the figure is not
// changed meanwhile.
package figure

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is the shape of a figure.
type Kind int

// The kinds.
const (
	// Lines joins the points of each series: quantities over time or over keys.
	Lines Kind = iota
	// Stairs holds each value until the next point: client counts, settings.
	Stairs
	// Percentiles is Lines whose X are percentiles in [0, 100), drawn on the scale
	// log(1/(1-q)) that gives every further nine the same room. A point at 100 has
	// no place on it and stands only in the CSV.
	Percentiles
	// Points is Lines with a marker on every point and a tick at every X when they
	// are few: a quantity by the number of clients.
	Points
	// Bars are horizontal bars grouped by category, each with its value printed
	// beside it. Figure.Categories name the groups, every Series has one Y for
	// each category and no X, and Figure.Y describes the values. Boxes may stand in
	// their place.
	Bars
	// Heat colours the cells of Figure.Grid by their counts. Series are drawn over
	// them, in black and without markers; every one has one Y for each column of the
	// grid and no X.
	Heat
)

// Figure is the data of a picture and of the table behind it.
type Figure struct {
	// Name is the stem of the file names, such as "AVG-LATENCY-MS".
	Name string
	// Title and Subtitle stand above the plot and are wrapped, never cut.
	Title, Subtitle string
	// Short is the title for a page that has the report's title already; empty: Title.
	Short string
	// Main marks a figure of the few that a report shows at once; others are shown on demand.
	Main bool
	Kind Kind
	X, Y Axis
	// Categories are the groups of Bars, from the top.
	Categories []string
	Series     []Series
	// Grid is the data of Heat.
	Grid *Grid
	// Band explains the bands between Low and High in the legend, such as
	// "min to max of 3 members". Empty: the legend does not mention them.
	Band string
	// Panels are the titles of small multiples: plots below each other with one X axis,
	// the same scales, and each with its own series, steps, stretches and events. Empty:
	// one plot of all.
	Panels []string
	// PanelY, when not nil, gives every panel a vertical axis of its own in place of Y.
	PanelY []Axis
	// Steps are thin vertical lines where the load changed.
	Steps []Boundary
	// Grey are stretches of the X axis with a grey background.
	Grey []Stretch
	// Events are thin marks of what happened at a place of the X axis. The legend has
	// their kinds.
	Events []Event
	// Notes are small lines under the plot: "shared host", sample counts.
	Notes []string
}

// Axis describes one axis.
type Axis struct {
	// Label and Unit print as "Label (Unit)". The units "bytes" and "bytes/s" give
	// ticks in kB, MB and so on; all others k, M, G from 10,000 on.
	Label, Unit string
	// Log makes the scale logarithmic. Values at or below 0 are then gaps, and a
	// note under the plot counts them.
	Log bool
	// Min and Max fix an end of the axis; values outside are clipped. By default a
	// linear Y axis starts at 0 unless there are values below.
	Min, Max *float64
	// Names replace the labels of values of Points on the X axis.
	Names map[float64]string
}

// Dash distinguishes the statistics of a database.
type Dash int

// The dash patterns. Dots are left to [Series.Uncertain].
const (
	Solid Dash = iota
	Dashed
)

// Series is one line, or one bar of each group.
type Series struct {
	// Name is the legend's text and the column's name in the CSV.
	Name string
	// Key, from 1, gives the colour: series of one database share it, in every figure
	// of a report. 0: the series' place in Figure.Series, plus one.
	Key int
	// Variant, from 0, gives the shade of the colour.
	Variant int
	// Marker, from 1, gives the shape of the marker. 0: Key plus Variant.
	Marker int
	Dash   Dash
	// Thin draws the line lighter, for the secondary statistics of a database.
	Thin bool
	// Detail marks a series that stands behind another, such as a trial behind the median of
	// all: it is in the CSV, and a page may show it on demand. Pictures leave it out.
	Detail bool
	// Trial is the number of the trial that a detail is of, 0 of none.
	Trial int
	// Statistic names what Y is in the CSV, such as "median" of trials, of which Low and High
	// are the least and the most. Empty: a value of its own.
	Statistic string
	// Loose draws markers without a line between them: what happened now and then.
	Loose bool
	// Panel is the place in Figure.Panels.
	Panel int
	// X and Y are the points, in drawing order; they have the same length. A NaN
	// is a gap: the line breaks.
	X, Y []float64
	// Low and High, when not nil, bound a translucent band at each X. A NaN is a
	// gap in the band.
	Low, High []float64
	// Uncertain, when not nil, marks points that too few samples support: they are
	// drawn dotted, with hollow markers.
	Uncertain []bool
	// Labels, when not nil, are short texts beside the points, and of a loose series beside
	// its highest.
	Labels []string
	// Boxes, when not nil, are drawn in place of the bars of Bars: one for each category,
	// of which Y is the median.
	Boxes []Box
	// Hues, when not nil, give each of the Bars of the series the colour of its category,
	// which then needs no legend. The details of such a figure are dots on its bars.
	Hues []Hue
	// Partial, when not nil, marks points whose value is of a part of their place, such
	// as the second in which a load ended: they are drawn pale.
	Partial []bool
}

// Box holds the bounds of a distribution, its quartiles below and above the median, and
// its 99th percentile. Only the bounds may be unknown, and are NaN then.
type Box struct{ Least, Low, High, P99, Most float64 }

// Hue is the colour of a bar, by [Series.Key] and [Series.Variant].
type Hue struct{ Key, Variant int }

// Boundary marks where the load changed.
type Boundary struct {
	// X is the place on the X axis where the step begins.
	X float64
	// Label names the step that begins there, such as "10 clients".
	Label string
	// Key is the database whose step it is, as in [Series.Key]; 0: of all.
	Key int
	// Panel is the place in Figure.Panels.
	Panel int
}

// Event marks that something happened.
type Event struct {
	X float64
	// Kind is a short name, such as "leader lost". Kinds have symbols in the order in
	// which they occur.
	Kind string
	// Key is the colour, as in [Series.Key]; 0 is that of text.
	Key int
	// N is how many the legend counts the event as; 0 is one.
	N float64
	// Panel is the place in Figure.Panels.
	Panel int
}

// Stretch is a part of the X axis. Panel is the place in Figure.Panels.
type Stretch struct {
	From, To float64
	Panel    int
}

// Heading is the short title, or the title of a figure without one.
func (f Figure) Heading() string { return cmp.Or(f.Short, f.Title) }

// details returns the series that stand behind others.
func (f Figure) details() []Series {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return !s.Detail })
}

// withoutDetails returns what pictures show of f.
func (f Figure) withoutDetails() Figure {
	f.Series = slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Detail })
	return f
}

// Write draws f as NAME.svg and NAME.png into the folder of pictures and as NAME.csv into
// that of data, and returns their paths. The folders must exist and may be one; files of
// these names are replaced.
func Write(pictures, data string, f Figure) ([]string, error) {
	if f.Name == "" || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") {
		return nil, fmt.Errorf("write figure: %q is not a file name", f.Name)
	}
	formats := []struct {
		dir, extension string
		draw           func(io.Writer, Figure) error
	}{{pictures, ".svg", SVG}, {pictures, ".png", PNG}, {data, ".csv", CSV}}
	var paths []string
	for _, format := range formats {
		var b bytes.Buffer
		if err := format.draw(&b, f); err != nil {
			return paths, err
		}
		path := filepath.Join(format.dir, f.Name+format.extension)
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			return paths, fmt.Errorf("write figure: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// check returns every way in which f is not a figure, joined.
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

// checkSeries calls wrong for every way in which a series is not one of f.
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

// check returns why the ends of an axis are impossible.
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
