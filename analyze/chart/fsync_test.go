package chart

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// The slowest member in each second is drawn, and nothing for a member that reports nothing or has
// started again.
func TestFsyncFigures(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	d := &Data{Runs: runs}
	if figures := fsyncFigures(d); len(figures) > 0 {
		t.Errorf("without reports there must be no figure, got %d", len(figures))
	}
	r := runs[0]
	answer := func(second int64, n, seconds, fast float64) results.DatabaseSample {
		s := results.NewDatabaseSample()
		s.UnixNano = r.Windows.Load.From + second*1e9
		s.Values.Set(metric.Fsyncs, n)
		s.Values.Set(metric.FsyncSeconds, seconds)
		s.Histograms[metric.FsyncHistogram] = metric.Buckets{Bounds: []float64{.001, .008, math.Inf(1)}, Counts: []float64{fast, n, n}}
		return s
	}
	r.Machines.Servers[0].Own.Answers = packed.AnswersOf(answer(0, 0, 0, 0), answer(1, 100, .1, 100), answer(2, 200, .4, 150), answer(3, 10, .1, 10))
	r.Machines.Servers[1].Own.Answers = packed.AnswersOf(answer(0, 0, 0, 0), answer(1, 100, .2, 50), answer(2, 200, .3, 150))
	figures := fsyncFigures(d)
	if len(figures) != 2 || len(figures[0].Series) != 1 || len(figures[1].Series) != 1 {
		t.Fatalf("want two figures with the run that has reports, got %+v", figures)
	}
	first := math.Floor(float64(r.Windows.Load.From)/1e9) - float64(r.Start())
	if diff := cmp.Diff([]float64{first + 1, first + 2}, figures[0].Series[0].X); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
	for i, want := range [][]float64{{2, 3}, {8, 8}} {
		for n, y := range figures[i].Series[0].Y {
			if math.Abs(y-want[n]) > 1e-9 {
				t.Errorf("%s must have %v ms, got %v", figures[i].Name, want, figures[i].Series[0].Y)
				break
			}
		}
	}
}
