package chart

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// killed is a load during which the leader died.
func killed(t *testing.T) *Data {
	t.Helper()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Rate = 500
	f.Database("etcd", 2*time.Millisecond)
	dir := f.Write()
	w, err := results.NewEventWriter(filepath.Join(dir, "etcd", results.FileEvents))
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds float64) time.Time {
		return time.Unix(runtest.Begin, 5e8).Add(time.Duration(seconds * 1e9)).UTC()
	}
	for _, e := range []results.Event{
		{Time: at(-2), Kind: results.EventLeader, Member: 0}, {Time: at(3.5), Kind: results.EventLeader, Member: 1},
		{Time: at(2), Kind: "server lost", Member: 0}, {Time: at(2.25), Kind: "leader lost", Member: 1}, {Time: at(5), Kind: "slow fdatasync", Member: 1},
		{Time: at(6), Kind: "snapshot sent", Member: 1}, {Time: at(6.5), Kind: "apply took too long", Member: 1}, {Time: at(60), Kind: "server lost", Member: 1},
	} {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	runs, err := run.FromFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &Data{Runs: runs, Series: []*Series{NewSeries(runs[0])}, Plots: []Plot{{Column: "AVG-THROUGHPUT"}, {Column: "AVG-CPU"}}}
}

func TestTimeFiguresMarkEvents(t *testing.T) {
	d := killed(t)
	want := []figure.Event{{X: 2, Kind: "fault"}, {X: 2.25, Kind: "leader lost"}, {X: 3.5, Kind: "leader elected"}, {X: 5, Kind: "slow fsync"}, {X: 6, Kind: "snapshot"}}
	all := append(append(plotted(d), failureFigures(d)...), heatFigures(d)...)
	all = append(all, backlogFigures(d)...)
	if len(all) < 4 {
		t.Fatalf("%d figures", len(all))
	}
	for _, f := range all {
		if diff := cmp.Diff(want, f.Events); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	if diff := cmp.Diff([]int{0, 1}, d.Runs[0].Machines.Leaders); diff != "" {
		t.Errorf("leaders (-want +got):\n%s", diff)
	}
}

func TestFailuresBySecond(t *testing.T) {
	d := killed(t)
	all := failureFigures(d)
	if len(all) != 1 || len(all[0].Series) != 1 || all[0].Series[0].Name != "etcd, failed" {
		t.Fatalf("figures %+v, want one with the failed requests", all)
	}
	if diff := cmp.Diff([]float64{2, 5, 5, 5, 7, 10, 10, 10, 5}, all[0].Series[0].Y); diff != "" {
		t.Errorf("failures by second (-want +got):\n%s", diff)
	}
}

// The line for due requests lies below the line for ended ones.
func TestThroughputHasTheDueRate(t *testing.T) {
	f := plotted(killed(t))[0]
	if len(f.Series) != 2 || f.Series[0].Name != "etcd, due" {
		t.Fatalf("%d lines, want the throughput and the rate that was due", len(f.Series))
	}
	if diff := cmp.Diff([]float64{250, 500, 500, 500, 750, 1000, 1000, 1000, 500}, f.Series[0].Y); diff != "" {
		t.Errorf("due by second (-want +got):\n%s", diff)
	}
}
