package figure

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
)

// Small multiples have the same scales, and each its own steps.
func TestPanels(t *testing.T) {
	f := stepped()
	f.Panels = databases
	f.Steps = nil
	for i := range f.Series {
		f.Series[i].Panel = i
		f.Steps = append(f.Steps, Boundary{X: float64(10 + i), Label: fmt.Sprintf("step of %d", i), Panel: i})
	}
	p := layout(f)
	for i, one := range p.panels {
		if len(one.Series) != 1 || one.Series[0].Name != databases[i] || len(one.steps.all) != 1 || one.steps.all[0].Label != fmt.Sprintf("step of %d", i) {
			t.Errorf("panel %d has the series %v and the steps %v", i, len(one.Series), one.steps.all)
		}
		if one.plot.y.max != p.plot.y.max || one.plot.height() < panelHeight || i > 0 && one.plot.top >= p.panels[i-1].plot.bottom {
			t.Errorf("panel %d lies from %v to %v, up to %v", i, one.plot.bottom, one.plot.top, one.plot.y.max)
		}
	}
	if got := texts(drawn(t, f)); slices.Index(got, "step of 2") < 0 {
		t.Errorf("texts %q lack a step", got)
	}
}

// Every line has a marker, even if its points lie far apart: the marker distinguishes lines with
// the same colour.
func TestEveryLineHasAMarker(t *testing.T) {
	for _, points := range []int{fewPoints + 1, 20, 25, 40, 300} {
		for left := vg.Length(0); left < markerSpacing; left += markerSpacing / shapes {
			var r run
			for i := range points {
				r.points = append(r.points, vg.Point{X: 50 + vg.Length(i)*700/vg.Length(points), Y: vg.Length(i % 5)})
			}
			if got := r.typical(left); len(got) < 6 {
				t.Errorf("%d points from %v on have %d markers", points, left, len(got))
			}
		}
	}
}

// Titles on vertical axes of panels have as much room beside the labels as the title on a common
// axis.
func TestTitlesOfPanels(t *testing.T) {
	f := stepped()
	f.Panels, f.Y = databases, Axis{}
	for i := range f.Series {
		f.Series[i].Panel = i
	}
	f.PanelY = make([]Axis, len(f.Panels))
	without := layout(f).plot.left
	f.PanelY[1].Label = "Turns"
	with := layout(f).plot.left
	if want := without + labelType.height() + tickGap; with != want {
		t.Errorf("the plots begin at %v, want %v", with, want)
	}
}

// Panels that repeat a name have it once in the legend, and the CSV has each with its panel.
func TestRepeatedNames(t *testing.T) {
	f := Figure{Name: "STALLS", Kind: Points, Panels: []string{"etcd", "consul"}, X: Axis{Label: "x"}, Y: Axis{Label: "y"}}
	for panel := range f.Panels {
		for kind, name := range []string{"fault", "snapshot"} {
			f.Series = append(f.Series, Series{Name: name, Key: kind + 1, Marker: kind + 1, Loose: true, Panel: panel, X: []float64{1, 2}, Y: []float64{1, 2}})
		}
	}
	p := layout(f)
	var names []string
	for _, e := range p.legend.entries {
		names = append(names, e.Name)
	}
	if want := []string{"fault", "snapshot"}; !slices.Equal(names, want) {
		t.Errorf("the legend has %q, want %q", names, want)
	}
	names = nil
	for _, c := range f.columns() {
		names = append(names, c.name)
	}
	if want := []string{"etcd, fault", "etcd, snapshot", "consul, fault", "consul, snapshot"}; !slices.Equal(names, want) {
		t.Errorf("the CSV has the columns %q, want %q", names, want)
	}
}

// A panel that is named for its database has that name once in the CSV.
func TestNamesOfPanels(t *testing.T) {
	f := Figure{Name: "FAULT", Kind: Lines, Panels: []string{"etcd, rate", "rate of all"}, PanelY: make([]Axis, 2), X: Axis{Label: "x"}}
	for panel := range f.Panels {
		f.Series = append(f.Series, Series{Name: "etcd", Panel: panel, X: []float64{1}, Y: []float64{1}})
	}
	columns := f.columns()
	if columns[0].name != "etcd, rate" || columns[1].name != "etcd, rate of all" {
		t.Errorf("the CSV has the columns %q and %q", columns[0].name, columns[1].name)
	}
}

// A strip lies at the bottom of its panel or, in a single plot, above those from the panels before
// it, and is long enough to be seen.
func TestStrips(t *testing.T) {
	f := Figure{Name: "STRIPS", Panels: []string{"etcd", "consul"}, X: Axis{Label: "x"}, Y: Axis{Label: "y"}}
	for panel := range f.Panels {
		f.Series = append(f.Series, Series{Name: f.Panels[panel], Panel: panel, X: []float64{0, 1000}, Y: []float64{1, 2}})
		f.Grey = append(f.Grey, Stretch{From: 500, To: 500.1, Panel: panel, Key: panel + 1, Text: "stall"})
	}
	p := layout(f)
	for i := range p.panels {
		if own := p.panels[i].Grey; len(own) != 1 || own[0].Panel != 0 || own[0].Key != i+1 {
			t.Errorf("panel %d has the strips %+v, want its own, at the bottom", i, own)
		}
	}
	if f.Grey[1].Panel != 1 {
		t.Error("layout changed the figure")
	}
	single := f
	single.Panels = nil
	p = layout(single)
	for i, s := range p.Grey {
		area := p.plot.strip(s)
		if width := area.right - area.left; width < leastStrip || area.bottom != p.plot.bottom+vg.Length(i)*stripHeight || area.top != area.bottom+stripHeight {
			t.Errorf("strip %d is %+v of a plot from %v", i, area, p.plot.bottom)
		}
	}
	var with, without bytes.Buffer
	plain := single
	plain.Grey = nil
	if err := errors.Join(Inline(&with, single), Inline(&without, plain)); err != nil || with.Len() == without.Len() {
		t.Errorf("strips are not drawn (%v)", err)
	}
}
