package run_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// In a 35-minute run with steady requests and a growing store, only the store drifts. Minutes have
// the quantiles of their merged histograms.
func TestAgeing(t *testing.T) {
	slowtest.Skip(t)
	dir := t.TempDir()
	f := runtest.NewFixture(t, dir)
	f.Long("etcd", 1, 35*60, 2*time.Millisecond)
	f.Long("short", 1, 60, 2*time.Millisecond)
	runs, err := run.FromFolder(f.Write())
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	a := runs[0].Ageing
	if len(a.Steps) != 1 || a.Missing != "" || !a.Grows || a.Steps[0].Label != "" {
		t.Fatalf("ageing %+v, want one step of a load that adds keys", a)
	}
	s := a.Steps[0]
	for k, name := range run.AgeingMeasures {
		m := &s.Measures[k]
		if want := k == run.AgeingStore || k == run.AgeingStoreUsed; m.Missing != "" || m.Drift.N != 35 || m.Found() != want {
			t.Errorf("%s: found %v in %d minutes (%q, p %v), want %v in 35", name, m.Found(), m.Drift.N, m.Missing, m.P, want)
		}
	}
	// The store in the fixture grows from 0, so in 35 minutes by twice its median.
	if change := s.Measures[run.AgeingStore].Change(); math.Abs(change-200) > 5 {
		t.Errorf("the store grows by %v %% of its median, want 200", change)
	}
	sum := histogram.New()
	for line, err := range histogram.ReadLog(filepath.Join(runs[0].Dir, results.FileLatency)) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Start.Unix() >= runtest.Begin+120 && line.Start.Unix() < runtest.Begin+180 {
			sum.Merge(line.Histogram)
		}
	}
	for measure, q := range map[int]float64{run.AgeingP50: 0.5, run.AgeingP99: 0.99} {
		if got, want := s.Measures[measure].Values[2], float64(histogram.Quantile(sum, q))/1e6; got != want {
			t.Errorf("%s of the third minute is %v ms, want %v", run.AgeingMeasures[measure], got, want)
		}
	}
	if s.Requests[2] != sum.TotalCount() {
		t.Errorf("%d requests in the third minute, want %d", s.Requests[2], sum.TotalCount())
	}
	if short := runs[1].Ageing; len(short.Steps) != 0 || !strings.Contains(short.Missing, "too short") {
		t.Errorf("ageing of a minute %+v, want it too short", short)
	}
}

// The stores at all members together are unknown if one member reported nothing.
func TestAgeingOfSilentMember(t *testing.T) {
	slowtest.Skip(t)
	for silent := range 3 {
		dir := t.TempDir()
		f := runtest.NewFixture(t, dir)
		f.Long("etcd", 1, 31*60, 2*time.Millisecond)
		f.Ok(os.Remove(filepath.Join(dir, "etcd", results.DatabaseFile(silent+1))))
		runs, err := run.FromFolder(f.Write())
		if err != nil || len(runs) != 1 || len(runs[0].Ageing.Steps) != 1 {
			t.Fatalf("%d runs, %v, want one with one step", len(runs), err)
		}
		for k, name := range run.AgeingMeasures {
			m := &runs[0].Ageing.Steps[0].Measures[k]
			if known := k != run.AgeingStore && k != run.AgeingStoreUsed; known != (m.Missing == "") {
				t.Errorf("without the store of member %d: %s: missing %q, drift %+v", silent+1, name, m.Missing, m.Drift)
			}
		}
	}
}
