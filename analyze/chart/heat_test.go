package chart

import (
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/google/go-cmp/cmp"
)

// A heat map holds every answered request once, in the row for its latency.
func TestHeatMapHoldsEveryRequest(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Mixed("mix")
	runs, err := run.FromFolder(f.Write())
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	g, lines := grid(runs[0].Heat, .5, rowsWith(runs[0].Heat))
	var sums []float64
	for i, rows := range g.Counts {
		sum := 0.0
		for row, n := range rows {
			if sum += n; n > 0 && !(g.Y[row] <= 3 && 3 < g.Y[row+1]) && !(g.Y[row] <= 6 && 6 < g.Y[row+1]) {
				t.Errorf("%v requests of second %d between %v and %v ms", n, i, g.Y[row], g.Y[row+1])
			}
		}
		sums = append(sums, sum)
	}
	if diff := cmp.Diff([]float64{40, 40, 78, 78}, sums); diff != "" {
		t.Errorf("requests by second (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{.5, 1.5, 2.5, 3.5, 4.5}, g.X); diff != "" {
		t.Error(diff)
	}
	if lines[1].Name != "p90" || len(lines[0].Y) != 4 {
		t.Errorf("lines %+v", lines)
	}
}

// Heat maps in one report share a scale, because the eye compares them.
func TestHeatMapsShareTheirScales(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the runs: %v", err)
	}
	all := heatFigures(&Data{Runs: runs})
	if len(all) != 2 {
		t.Fatalf("%d heat maps, want 2", len(all))
	}
	a, b := all[0], all[1]
	if *a.X.Min != *b.X.Min || *a.X.Max != *b.X.Max || *a.Y.Min != *b.Y.Min || *a.Y.Max != *b.Y.Max {
		t.Errorf("axes from %v, %v to %v, %v and from %v, %v to %v, %v", *a.X.Min, *a.Y.Min, *a.X.Max, *a.Y.Max, *b.X.Min, *b.Y.Min, *b.X.Max, *b.Y.Max)
	}
	if a.Grid.Most == 0 || a.Grid.Least != b.Grid.Least || a.Grid.Most != b.Grid.Most {
		t.Errorf("shades from %v to %v and from %v to %v", a.Grid.Least, a.Grid.Most, b.Grid.Least, b.Grid.Most)
	}
	if *a.Y.Min > 2 || *a.Y.Max < 6+5 {
		t.Errorf("rows from %v to %v ms do not hold both databases", *a.Y.Min, *a.Y.Max)
	}
}
