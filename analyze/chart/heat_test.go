package chart

import (
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/google/go-cmp/cmp"
)

// A heat map holds every answered request once, in the row of its latency.
func TestHeatMapHoldsEveryRequest(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Mixed("mix")
	runs, err := run.FromFolder(f.Write())
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	g, lines := grid(runs[0].Heat, 1)
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
	if diff := cmp.Diff([]float64{0, 1, 2, 3, 4}, g.X); diff != "" {
		t.Error(diff)
	}
	if lines[1].Name != "p90" || len(lines[0].Y) != 4 {
		t.Errorf("lines %+v", lines)
	}
}
