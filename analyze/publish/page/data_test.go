package page

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// The data for the script has the events, the points without a line, the panels, the boxes, and the
// series that are shown on demand.
func TestDataOfFigures(t *testing.T) {
	line := figure.Series{Name: "etcd", Key: 1, X: []float64{0, 1}, Y: []float64{1, 2}}
	logged := figure.Series{Name: "log", Key: 1, Loose: true, X: []float64{1}, Y: []float64{9}, Labels: []string{"slow fsync"}}
	d := dataOf(figure.Figure{Title: "Report: plot", Short: "Plot", Series: []figure.Series{line, logged}, Events: []figure.Event{{X: 1, Kind: "leader lost"}}})
	if d.Short != "Plot" || len(d.Events) != 1 || d.Events[0].Label != "leader lost" || d.Series[0].Loose || !d.Series[1].Loose || d.Series[1].Labels[0] != "slow fsync" {
		t.Errorf("data %+v", d)
	}
	below, trial := line, line
	below.Panel, trial.Detail = 1, true
	d = dataOf(figure.Figure{
		Panels: []string{"etcd", "consul"}, PanelY: []figure.Axis{{Label: "CPU"}, {Label: "Memory", Unit: "bytes"}}, Series: []figure.Series{line, below, trial},
		Grey: []figure.Stretch{{From: 1, To: 2, Panel: 1}, {From: 1, To: 2, Tinted: true}}, Steps: []figure.Boundary{{X: 1, Panel: 1}},
	})
	if len(d.Panels) != 2 || d.PanelY[1].Unit != "bytes" || d.Series[1].Panel != 1 || !d.Series[2].Detail || d.Grey[0][2] != 1 || len(d.Grey[0]) != 3 || !slices.Equal(d.Grey[1], []float64{1, 2, 0, 1}) || d.Steps[0].Panel != 1 {
		t.Errorf("data of panels %+v", d)
	}
	boxes := figure.Figure{Kind: figure.Bars, Categories: []string{"all"}, Series: []figure.Series{{Y: []float64{3}, Boxes: []figure.Box{{Least: 1, Low: 2, High: 4, P99: 5, Most: 6}}}}}
	if got := dataOf(boxes).Series[0].Boxes; len(got) != 1 || !slices.Equal(got[0], numbers{1, 2, 4, 5, 6}) {
		t.Errorf("boxes %v", got)
	}
	named := dataOf(figure.Figure{X: figure.Axis{Names: map[float64]string{9: "full speed", 1: "slow"}}}).X.Names
	if !slices.Equal(named, []name{{1, "slow"}, {9, "full speed"}}) {
		t.Errorf("names of ticks %v", named)
	}
}

// Thinned series with labelled points keep the labels on the remaining points.
func TestThinnedLabels(t *testing.T) {
	s := figure.Series{Loose: true}
	for i := range 1000 {
		s.X, s.Y, s.Labels = append(s.X, float64(i)), append(s.Y, float64(i%7)), append(s.Labels, "slow fsync")
	}
	if got := thinned(figure.Figure{Series: []figure.Series{s}}, 10).Series[0]; len(got.Labels) != len(got.X) || len(got.X) == 1000 {
		t.Errorf("%d labels of %d points", len(got.Labels), len(got.X))
	}
}
