package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// stepped is the data for two databases with two steps each.
func stepped(t *testing.T) *Data {
	t.Helper()
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the runs: %v", err)
	}
	d := &Data{Runs: runs}
	for _, r := range runs {
		d.Series = append(d.Series, NewSeries(r))
	}
	return d
}

func named(t *testing.T, all []figure.Figure, name string) figure.Figure {
	t.Helper()
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no figure %s", name)
	return figure.Figure{}
}

// The charts in the classic comparison are all there, and by clients they have a logarithmic axis.
func TestChartsByClients(t *testing.T) {
	all := clientFigures(stepped(t))
	for name, lines := range map[string]int{"AVG-THROUGHPUT-BY-CLIENTS": 2, "AVG-LATENCY-MS-BY-CLIENTS": 2, "P99-BY-CLIENTS": 2, "AVG-CPU-BY-CLIENTS": 4, "AVG-WRITE-BYTES-NUM-DELTA-BY-CLIENTS": 2} {
		f := named(t, all, name)
		if !f.X.Log || len(f.Series) != lines {
			t.Errorf("%s: logarithmic %v, %d lines, want %d", name, f.X.Log, len(f.Series), lines)
		}
		for _, s := range f.Series {
			if len(s.X) != 2 || s.X[0] != 10 || s.X[1] != 50 || math.IsNaN(s.Y[0]+s.Y[1]) {
				t.Errorf("%s: %s has %v at %v clients", name, s.Name, s.Y, s.X)
			}
		}
	}
	cpu := named(t, all, "AVG-CPU-BY-CLIENTS")
	if mean, most := cpu.Series[0], cpu.Series[1]; mean.Y[0] >= most.Y[0] || most.Dash == mean.Dash {
		t.Errorf("the mean member has %v %% and the largest %v %%", mean.Y, most.Y)
	}
}

// Boxes show histograms with all requests in a part.
func TestLatencyBoxes(t *testing.T) {
	d := stepped(t)
	f := boxFigures(d)[0]
	if len(f.Categories) != 2 || f.Categories[0] != "10 clients" || !f.Y.Log {
		t.Errorf("groups %q, logarithmic %v", f.Categories, f.Y.Log)
	}
	for i, s := range f.Series {
		base := []float64{2, 6}[i]
		for j, b := range s.Boxes {
			if b.Least != base || math.Abs(b.Most-base-4.9) > .1 || math.Abs(b.Low-base-1.2) > .1 || math.Abs(s.Y[j]-base-2.45) > .1 || math.Abs(b.High-base-3.7) > .1 {
				t.Errorf("%s, %s: median %v, box %+v", s.Name, f.Categories[j], s.Y[j], b)
			}
		}
	}
}

// The knee has a point for each step, named by it.
func TestKnee(t *testing.T) {
	d := stepped(t)
	for _, r := range d.Runs { // the one in a hundred that fails in the fixture has no latency
		for _, g := range r.Stages {
			g.Latency.Due = g.Latency.OK
		}
	}
	f := kneeFigures(d)[0]
	if len(f.Series) != 2 || len(f.Series[0].X) != 2 || f.Series[0].X[0] != 495.25 || f.Series[0].Labels[1] != "50" {
		t.Errorf("%+v", f.Series)
	}
}

// Latency by keys has a logarithmic axis, and marks where requests failed, because failed
// requests have no latency.
func TestFailedRequestsAreMarkedByKeys(t *testing.T) {
	d := stepped(t)
	f := named(t, keyFigures(d), "AVG-LATENCY-MS-BY-KEY")
	n := map[int]float64{}
	for _, e := range f.Events {
		n[e.Key] += e.N
	}
	if !f.Y.Log || len(n) != 1 || n[1] != 2*59 {
		t.Errorf("logarithmic %v, failed by colour %v", f.Y.Log, n)
	}
	d.Runs[1].Info.Record = &results.DatabaseRun{Database: "other"}
	if f := named(t, keyFigures(d), "AVG-LATENCY-MS-BY-KEY"); f.Events[len(f.Events)-1].Key != 2 {
		t.Error("failures have the colour of another database")
	}
}

// Members that differ have a line each; the leader is named.
func TestMembersThatDiffer(t *testing.T) {
	d := stepped(t) // the second member uses half as much processor time again as the first
	d.Runs[0].Machines.Leaders = []int{1}
	f := named(t, memberFigures(d), "CPU-BY-MEMBER")
	if len(f.Panels) != 2 || len(f.Series) != 4 || f.Series[1].Name != "etcd-v3.6, member 2, led" || f.Series[3].Panel != 1 {
		t.Errorf("panels %q, lines %+v", f.Panels, f.Series)
	}
	a, b := f.Series[0], f.Series[1]
	if a.Key != b.Key || a.Variant == b.Variant || a.Marker == b.Marker {
		t.Error("members of one database have its colour, and shades and markers of their own")
	}
	if !unlike([]figure.Series{{Y: []float64{1, 1, 1, 1, 1}}, {Y: []float64{1, math.NaN(), math.NaN(), math.NaN(), 1}}}) {
		t.Error("a member without samples is like the others")
	}
	if unlike([]figure.Series{{Y: []float64{10, 11}}, {Y: []float64{11, 10}}}) {
		t.Error("members that are alike are found to differ")
	}
}

// Databases whose steps began at different times have a panel each, with its own steps.
func TestDifferentStepsHavePanels(t *testing.T) {
	d := stepped(t)
	d.Plots = []Plot{{Column: "AVG-THROUGHPUT"}}
	if f := requestFigures(d)[0]; len(f.Panels) != 0 || len(f.Steps) != 2 {
		t.Errorf("equal steps: panels %q, %d steps", f.Panels, len(f.Steps))
	}
	d.Runs[1].Windows.Changes[1].At += 3e9
	f := requestFigures(d)[0]
	if len(f.Panels) != 2 || len(f.Steps) != 4 || f.Steps[3].X != 7 || f.Steps[3].Panel != 1 || f.Series[1].Panel != 1 {
		t.Errorf("different steps: panels %q, steps %+v", f.Panels, f.Steps)
	}
}

// Durations logged by members are marks and a note. They are not request latencies, so the axis
// ends with the latencies.
func TestLoggedDurationsAreNotOnTheLatencyAxis(t *testing.T) {
	d := stepped(t)
	d.Plots = []Plot{{Column: "AVG-LATENCY-MS"}}
	at := time.Unix(0, d.Runs[0].Origin()).Add(2 * time.Second)
	d.Runs[0].Machines.Events = []results.Event{
		{Time: at, Kind: "apply took too long", Took: 1062 * time.Millisecond, Log: "logs/1.log"},
		{Time: at, Kind: "apply took too long", Took: 11062 * time.Millisecond, Log: "logs/1.log"},
		{Time: at, Kind: "slow fsync", Took: 5 * time.Millisecond, Log: "logs/1.log"}, {Time: at, Kind: "snapshot"},
	}
	f := requestFigures(d)[0]
	if len(f.Series) != 2 || f.Y.Log {
		t.Errorf("%d lines, want those of two databases; logarithmic %v", len(f.Series), f.Y.Log)
	}
	for _, s := range f.Series {
		if slices.ContainsFunc(s.Y, func(y float64) bool { return y > 100 }) {
			t.Errorf("%s has a time of a log: %v", s.Name, s.Y)
		}
	}
	marks := map[string]int{}
	for _, e := range f.Events {
		marks[e.Kind]++
	}
	if marks["apply took too long"] != 2 || marks["slow fsync"] != 1 || marks["snapshot"] != 1 {
		t.Errorf("marks %v", marks)
	}
	if want := "by members' logs, etcd-v3.6: apply took too long up to 11062 ms, slow fsync up to 5 ms"; !slices.Contains(f.Notes, want) {
		t.Errorf("notes %q have no %q", f.Notes, want)
	}
}

// An axis is logarithmic if a linear one would flatten most of a line.
func TestAxisFits(t *testing.T) {
	for most, want := range map[float64]bool{20: false, 5000: true} {
		f := figure.Figure{Series: []figure.Series{{Y: []float64{2, 2, math.NaN(), 3, most}}, {Detail: true, Y: []float64{1e6}}}}
		if fitAxis(&f); f.Y.Log != want {
			t.Errorf("values up to %v: logarithmic %v, want %v", most, f.Y.Log, want)
		}
	}
}
