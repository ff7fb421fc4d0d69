package chart

import (
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
)

// TestPercentileLinesDiffer: no two lines in the figure look alike, though each database has two
// kinds of steps.
func TestPercentileLinesDiffer(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the folder: %v", err)
	}
	figures := percentileFigures(&Data{Runs: runs})
	if len(figures) != 1 || len(figures[0].Series) < 4 {
		t.Fatalf("%d figures, want one with the steps of both databases", len(figures))
	}
	type look struct {
		key, variant, marker int
		dash                 figure.Dash
		thin                 bool
	}
	names := map[look]string{}
	for _, s := range figures[0].Series {
		l := look{s.Key, s.Variant, s.Marker, s.Dash, s.Thin}
		if other, ok := names[l]; ok {
			t.Errorf("%q looks like %q: %+v", s.Name, other, l)
		}
		names[l] = s.Name
	}
}
