package chart

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// timed returns time pictures for the fixture's load, which begins and ends in the middle of a
// second.
func timed(t *testing.T, edit func(*results.DatabaseRun), columns ...string) (all []figure.Figure) {
	t.Helper()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	edit(f.Database("etcd", 2*time.Millisecond))
	runs, err := run.FromFolder(f.Write())
	if err != nil {
		t.Fatal(err)
	}
	d := &Data{Runs: runs, Series: []*Series{NewSeries(runs[0])}}
	for _, c := range columns {
		d.Plots = append(d.Plots, Plot{Column: c, XAxis: "Second"})
	}
	return plotted(d)
}

// Step lines and values by second are at their times by the load's own clock, not at the preceding
// unix second.
func TestTimeFiguresHaveTheLoadsClock(t *testing.T) {
	f := timed(t, func(*results.DatabaseRun) {}, "AVG-LATENCY-MS")[0]
	if diff := cmp.Diff([]figure.Boundary{{Label: "10 clients"}, {X: 4, Label: "50 clients"}}, f.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	// The first and the last second are half seconds.
	want := []float64{.25, 1, 2, 3, 4, 5, 6, 7, 7.75}
	if diff := cmp.Diff(want, f.Series[0].X, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
}

// Every quantity that is smaller in a part of a second is marked there, and others are not.
func TestPartsOfSecondsAreMarkedInEveryPicture(t *testing.T) {
	yes, no := []bool{true, false, false, false, false, false, false, false, true}, make([]bool, 9)
	for column, want := range map[string][]bool{
		"AVG-THROUGHPUT": yes, "AVG-CPU": yes, "MAX-CPU": yes, "AVG-WRITE-BYTES-NUM-DELTA": yes, "AVG-TRANSMIT-BYTES-NUM-DELTA": yes, "WRITES-COMPLETED-DELTA-1": yes,
		"AVG-LATENCY-MS": no, "AVG-VMRSS-MB": no,
	} {
		f := timed(t, func(*results.DatabaseRun) {}, column)[0]
		if diff := cmp.Diff(want, f.Series[0].Partial); diff != "" {
			t.Errorf("%s (-want +got):\n%s", column, diff)
		}
		if s := f.Series[0]; s.Uncertain != nil {
			t.Errorf("%s: parts of seconds are drawn as few samples", column)
		}
	}
}

// Machine activity before the load, such as the preload, is not in its pictures.
func TestTheSecondThatBeganBeforeTheLoadHasNoTraffic(t *testing.T) {
	for column, gap := range map[string]bool{"AVG-WRITE-BYTES-NUM-DELTA": true, "AVG-CPU": true, "AVG-VMRSS-MB": false, "AVG-THROUGHPUT": false} {
		y := timed(t, func(*results.DatabaseRun) {}, column)[0].Series[0].Y
		if math.IsNaN(y[0]) != gap || math.IsNaN(y[1]) {
			t.Errorf("%s begins with %v and %v; a gap at the first: %v, want %v", column, y[0], y[1], math.IsNaN(y[0]), gap)
		}
	}
}

// Warm-up seconds are whole: they have a grey background and normal lines.
func TestWarmUpIsGrey(t *testing.T) {
	f := timed(t, func(r *results.DatabaseRun) {
		r.Steps = r.Steps[:1]
		r.Load.WarmUp, r.Load.CoolDown, r.Load.Duration = 1500*time.Millisecond, time.Second, 4*time.Second
	}, "AVG-THROUGHPUT")[0]
	if diff := cmp.Diff([]figure.Stretch{{From: 0, To: 1.5}, {From: 3, To: 4}}, f.Grey); diff != "" {
		t.Errorf("grey (-want +got):\n%s", diff)
	}
	for i, partial := range f.Series[0].Partial[:4] {
		if partial != (i == 0) {
			t.Errorf("second %d is partial: %v", i, partial)
		}
	}
}

// No two lines in several trials look alike, whatever they show.
func TestTrialsLookDifferent(t *testing.T) {
	d := &Data{}
	for i, tag := range []string{"etcd", "zookeeper", "etcd #2", "etcd #3", "zookeeper #2"} {
		r := &run.Run{
			Info:   run.Info{Tag: tag, Record: &results.DatabaseRun{Database: []string{"etcd", "zookeeper", "etcd", "etcd", "zookeeper"}[i]}},
			Load:   run.Load{Gauges: []results.Gauge{{Second: 1}}},
			Stages: []*run.Stage{{Latency: run.Latency{Clock: run.FromDue}}},
		}
		d.Runs = append(d.Runs, r)
	}
	type all struct {
		key, variant, marker int
		dash                 figure.Dash
	}
	seen := map[all]string{}
	for _, s := range backlogFigures(d)[0].Series {
		l := all{s.Key, s.Variant, s.Marker, s.Dash}
		if other, known := seen[l]; known {
			t.Errorf("%q looks like %q", s.Name, other)
		}
		seen[l] = s.Name
	}
	if a, b := d.line(d.Runs[0]), d.line(d.Runs[3]); a.Key != b.Key || a.Key == d.line(d.Runs[1]).Key {
		t.Error("the colour does not belong to the database")
	}
}

// plotted returns the pictures that the options ask for.
func plotted(d *Data) []figure.Figure { return append(requestFigures(d), machineFigures(d)...) }

// Context switches are drawn per second: a sum since the start only rises.
func TestContextSwitchesAreRates(t *testing.T) {
	f := timed(t, func(*results.DatabaseRun) {}, "AVG-VOLUNTARY-CTXT-SWITCHES")[0]
	y := f.Series[0].Y
	if !math.IsNaN(y[0]) || math.Abs(y[1]-1000) > 1 || math.Abs(y[7]-1000) > 1 || f.Y.Unit != "per second" {
		t.Errorf("%v %s, want the 1000 of each second", y, f.Y.Unit)
	}
}
