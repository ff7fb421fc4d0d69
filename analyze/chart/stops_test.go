package chart

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

// A picture of a load shows when its client was stopped: the reader must not blame
// the database.
func TestTimeFiguresMarkStopsOfTheClient(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Alike = true
	record := f.Database("etcd", 2*time.Millisecond)
	record.Steps = record.Steps[:1]
	from := time.Unix(runtest.Begin+2, 5e8)
	record.Stops = &results.Stops{N: 2, Stretches: []results.Stretch{{From: from, Length: 3 * time.Second}, {From: from.Add(4 * time.Second), Length: 200 * time.Millisecond}}}
	runs, err := run.FromFolder(f.Write())
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{Runs: runs, Series: []*Series{NewSeries(runs[0])}, Plots: []Plot{{Column: "AVG-THROUGHPUT"}}}
	want := []figure.Boundary{{X: 2, Label: "client stopped 3.0 s"}, {X: 5, Label: "client runs again"}, {X: 6, Label: "client stopped 0.2 s"}}
	figures := append(plotted(d), heatFigures(d)...)
	if len(figures) != 2 {
		t.Fatalf("%d figures, want the throughput and the heat map", len(figures))
	}
	for _, one := range figures {
		if diff := cmp.Diff(want, one.Steps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.Name, diff)
		}
		if len(one.Notes) == 0 {
			t.Errorf("%s has no note on the stops", one.Name)
		}
	}
}
