package capacity

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/ability/capacity"
)

// TestCapacityFigure: the curve falls from 1 - lapse to 0, the band is the interval, and only
// windows in the search that count are markers.
func TestCapacityFigure(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	columns := []abilities.Column{{Name: "a", Runs: runs[:1]}, {Name: "b", Runs: runs[1:2]}}
	if got := (Half{}).Figures(columns); got != nil {
		t.Errorf("without a search there are %d figures", len(got))
	}
	window := func(rate float64, pass, void int, kind capacity.Kind) capacity.Window {
		return capacity.Window{Rate: rate, Pass: pass, Void: void, Kind: kind}
	}
	runs[0].Capacity = &run.Capacity{
		Result: &capacity.Result{
			Plan: capacity.Plan{Latency: 20 * time.Millisecond, At: 99}, Reason: "found", Rate: 1900, Low: 1850, High: 1950,
			Fit: &capacity.Fit{Threshold: 2000, Spread: .05, Lapse: .02},
		},
		Windows: []capacity.Window{
			window(1000, 1, 0, capacity.KindSearch), window(4000, 0, 0, capacity.KindSearch), window(2000, 0, 1, capacity.KindSearch), window(1900, 1, 0, capacity.KindHold),
		},
	}
	figures := (Half{}).Figures(columns)
	if len(figures) != 1 || len(figures[0].Series) != 2 {
		t.Fatalf("figures are %+v, want one with a curve and markers", figures)
	}
	curve, points := figures[0].Series[0], figures[0].Series[1]
	if !slices.Equal(points.X, []float64{1000, 4000}) || !slices.Equal(points.Y, []float64{100, 0}) || !points.Loose {
		t.Errorf("markers at %v, %v", points.X, points.Y)
	}
	if !slices.IsSorted(curve.X) || math.Abs(curve.Y[0]-98) > .1 || curve.Y[len(curve.Y)-1] > .1 {
		t.Errorf("the curve goes from %v to %v over %v", curve.Y[0], curve.Y[len(curve.Y)-1], curve.X)
	}
	from, to := math.Inf(1), 0.0
	for i, x := range curve.X {
		if !math.IsNaN(curve.Low[i]) {
			from, to = min(from, x), max(to, x)
		}
	}
	if from != 1850 || to != 1950 {
		t.Errorf("the band is %v to %v, want the interval", from, to)
	}
}
