package chart

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Three databases with overlapping bands have a panel each, with the shared marks. Two
// databases, and separate bands, stay in one plot.
func TestOverlappingBandsHavePanels(t *testing.T) {
	for _, c := range []struct {
		name      string
		databases int
		distance  float64
		panels    int
	}{{"three that overlap", 3, 1, 3}, {"two that overlap", 2, 1, 0}, {"three apart", 3, 100, 0}} {
		d := &Data{}
		f := figure.Figure{
			Name: "F", Kind: figure.Lines, Steps: []figure.Boundary{{X: 2}, {X: 3, Key: 2, Panel: 1}}, Grey: []figure.Stretch{{From: 0, To: 1}},
			Events: []figure.Event{{X: 1, Kind: "fault", Key: 2, Panel: 1}},
		}
		for i := range c.databases {
			name := fmt.Sprintf("db%d", i)
			d.Runs = append(d.Runs, &run.Run{Info: run.Info{Tag: name, Record: &results.DatabaseRun{Database: name}}})
			y := 10 + c.distance*float64(i)
			f.Series = append(f.Series, figure.Series{Name: name, Key: i + 1, Panel: i, X: []float64{0, 5}, Y: []float64{y, y}, Low: []float64{y - 5, y - 5}, High: []float64{y + 5, y + 5}})
		}
		d.apart(&f)
		if len(f.Panels) != c.panels {
			t.Errorf("%s: panels %q, want %d", c.name, f.Panels, c.panels)
		}
		if c.panels == 0 {
			continue
		}
		own := func(b figure.Boundary) bool { return b.X == 3 && b.Panel == 1 && b.Key == 0 }
		if len(f.Steps) != 4 || !slices.ContainsFunc(f.Steps, own) || len(f.Grey) != 3 || f.Events[0].Panel != 1 || f.Events[0].Key != 0 {
			t.Errorf("%s: steps %+v, grey %+v, events %+v", c.name, f.Steps, f.Grey, f.Events)
		}
	}
}
