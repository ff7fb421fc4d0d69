package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// TestFigure: each metric has a row with a dot for each pair, the estimate and the margin.
func TestFigure(t *testing.T) {
	fast, slow := []float64{1000, 1010, 998, 1005, 1002, 1008, 1001, 999}, []float64{950, 960, 948, 955, 952, 958, 951, 949}
	f := compared(t, turns(fast, slow, "A"), turns(fast, slow, "B")).Figure()
	if len(f.Panels) != 5 || len(f.Grey) != 5 || !strings.HasPrefix(f.Panels[0], "throughput: -5.0 % [") || !strings.Contains(f.Panels[1], "(shown only)") {
		t.Errorf("rows %q, want five with throughput first", f.Panels)
	}
	if dots := f.Series[0]; len(dots.X) != 8 || dots.X[0] > -4.9 || dots.X[0] < -5.1 || !slices.Equal(dots.Y[:3], []float64{1, 2, 3}) {
		t.Errorf("dots at %v and %v, want eight pairs at -5 %%", dots.X, dots.Y)
	}
	if shift := f.Series[1]; len(shift.X) != 3 || shift.X[0] > shift.X[1] || shift.X[1] > shift.X[2] {
		t.Errorf("the estimate lies at %v, want it between its bounds", shift.X)
	}
	var b strings.Builder
	if err := figure.SVG(&b, f); err != nil || !strings.Contains(b.String(), "B against A: worse") {
		t.Errorf("draw the picture: %v, want its title", err)
	}
	groups := compared(t, side("A", 0, 1, 1000, 1001), side("B", 60, 1, 1010, 1011)).Figure()
	if len(groups.Series) != 15 || len(groups.Series[1].X) != 2 || len(groups.Series[2].X) != 1 {
		t.Errorf("%d series of groups, want those of both sides and an estimate without bounds", len(groups.Series))
	}
	if err := figure.SVG(&b, groups); err != nil {
		t.Errorf("draw the picture of groups: %v", err)
	}
}
