package chart

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/figure"
)

// A long load has one point for several seconds, with a band from the lowest to the highest
// second, so no stall is lost. Its axis is in minutes.
func TestLongLoadsAreJoined(t *testing.T) {
	f := figure.Figure{X: timeAxis(), Steps: []figure.Boundary{{X: 600}}, Events: []figure.Event{{X: 1200}}, Grey: []figure.Stretch{{From: 0, To: 120}}}
	s, thin := figure.Series{Name: "all"}, figure.Series{Name: "due", Thin: true}
	for i := range 3600 {
		y := 10.0
		switch i {
		case 1802:
			y = 1000 // a stall
		case 2000:
			y = math.NaN()
		case 3599:
			y = 1 // a part of a second
		}
		s.X, s.Y, s.Partial = append(s.X, float64(i)+.5), append(s.Y, y), append(s.Partial, i == 3599)
		thin.X, thin.Y = append(thin.X, float64(i)+.5), append(thin.Y, 5)
	}
	f.Series = []figure.Series{s, thin, {Name: "log", Loose: true, X: []float64{90}, Y: []float64{7}}}
	shorten(&f)
	got := f.Series[0]
	if len(got.X) != mostPoints || got.X[0] != 7.5/60 || f.X.Unit != "minutes" || f.Steps[0].X != 10 || f.Events[0].X != 20 || f.Grey[0].To != 2 {
		t.Errorf("%d points from %v on in %s, step at %v, event at %v, grey to %v", len(got.X), got.X[0], f.X.Unit, f.Steps[0].X, f.Events[0].X, f.Grey[0].To)
	}
	stall := [3]float64{got.Low[120], got.Y[120], got.High[120]}
	if diff := cmp.Diff([3]float64{10, (14*10 + 1000) / 15.0, 1000}, stall); diff != "" {
		t.Errorf("the seconds of the stall (-want +got):\n%s", diff)
	}
	if got.Y[133] != 10 || got.Y[239] != 10 || got.Low[239] != 10 || got.Partial[239] {
		t.Errorf("a gap and a part of a second count: %v, %v from %v on", got.Y[133], got.Y[239], got.Low[239])
	}
	if f.Series[1].Low != nil || f.Series[2].X[0] != 1.5 || f.Series[2].Y[0] != 7 {
		t.Errorf("the due line has the band %v, the log line stands at %v", f.Series[1].Low, f.Series[2].X)
	}
	if f.Band == "" || len(f.Notes) != 1 {
		t.Errorf("band %q, notes %q", f.Band, f.Notes)
	}
	short := figure.Figure{X: timeAxis(), Series: []figure.Series{{X: []float64{0, 600}, Y: []float64{1, 2}}}}
	if shorten(&short); short.X.Unit != "seconds" || len(short.Series[0].X) != 2 {
		t.Error("a short load is joined")
	}
}
