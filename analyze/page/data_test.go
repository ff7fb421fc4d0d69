package page

import (
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// Pictures that the script cannot draw anew stay as they are, and what it draws has the
// events and the points without a line.
func TestDataOfFigures(t *testing.T) {
	line := figure.Series{Name: "etcd", Key: 1, X: []float64{0, 1}, Y: []float64{1, 2}}
	logged := figure.Series{Name: "log", Key: 1, Loose: true, X: []float64{1}, Y: []float64{9}, Labels: []string{"slow fsync"}}
	d := dataOf(figure.Figure{Series: []figure.Series{line, logged}, Events: []figure.Event{{X: 1, Kind: "leader lost"}}})
	if d == nil || len(d.Events) != 1 || d.Events[0].Label != "leader lost" || d.Series[0].Loose || !d.Series[1].Loose {
		t.Errorf("data %+v", d)
	}
	if dataOf(figure.Figure{Panels: []string{"etcd"}, Series: []figure.Series{line}}) != nil {
		t.Error("panels would be drawn as one plot")
	}
	boxes := figure.Figure{Kind: figure.Bars, Categories: []string{"all"}, Series: []figure.Series{{Y: []float64{1}, Boxes: []figure.Box{{}}}}}
	if dataOf(boxes) != nil {
		t.Error("boxes would be drawn as bars")
	}
}

// Long series of labelled points keep the labels of the points that are kept.
func TestThinnedLabels(t *testing.T) {
	s := figure.Series{Loose: true}
	for i := range 1000 {
		s.X, s.Y, s.Labels = append(s.X, float64(i)), append(s.Y, float64(i%7)), append(s.Labels, "slow fsync")
	}
	if got := thinned(figure.Figure{Series: []figure.Series{s}}, 10).Series[0]; len(got.Labels) != len(got.X) || len(got.X) == 1000 {
		t.Errorf("%d labels of %d points", len(got.Labels), len(got.X))
	}
}
