package results

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// mixedRun returns a read and update mix in two steps that share second 1.
func mixedRun() *DatabaseRun {
	return &DatabaseRun{
		Load:  Load{Load: workload.Load{Content: workload.Content{Operation: "mix", Mix: []workload.Share{{Operation: "update", Weight: 1}, {Operation: "read", Weight: 3}}}}},
		Steps: []Step{{Index: 0, Step: workload.Step{Clients: 1}, Start: at(0), End: at(1.5)}, {Index: 1, Step: workload.Step{Clients: 10}, Start: at(1.5), End: at(2)}},
	}
}

// recordMixed writes records for a mixed load: a row for each operation, with gauges only on an
// operation's last row in a second.
func recordMixed(t *testing.T) (dir string, intervals []Interval) {
	t.Helper()
	dir = t.TempDir()
	row := func(second, step int, phase Phase, op string, ok, failed, backlog, inFlight, keys int64, took time.Duration) {
		i := Interval{
			Second: epoch.Unix() + int64(second), Step: step, Phase: phase, Operation: op, Clients: 1 + 9*step,
			Due: ok + failed, Sent: ok + failed, OK: ok, Failed: failed, Backlog: backlog, InFlight: inFlight, KeysCumulative: keys,
		}
		for range ok {
			i.Service[workload.OK].Add(took)
		}
		intervals = append(intervals, i)
	}
	row(0, 0, PhaseWarmUp, "read", 5, 0, 0, 0, 0, time.Second)
	row(0, 0, PhaseMeasure, "update", 10, 1, 2, 1, 3, 4*time.Millisecond)
	row(0, 0, PhaseMeasure, "read", 30, 0, 4, 6, 3, time.Millisecond)
	row(1, 0, PhaseMeasure, "update", 10, 0, 9, 9, 5, 4*time.Millisecond)
	row(1, 0, PhaseMeasure, "read", 30, 0, 9, 9, 5, time.Millisecond)
	row(1, 1, PhaseMeasure, "update", 20, 2, 0, 2, 8, 8*time.Millisecond)
	row(1, 1, PhaseMeasure, "read", 60, 0, 0, 8, 8, 2*time.Millisecond)
	w, err := NewIntervalWriter(filepath.Join(dir, FileIntervals))
	check(t, err)
	check(t, w.Write(intervals))
	check(t, w.Close())
	totals, err := histogram.NewLogWriter(filepath.Join(dir, FileTotal), epoch)
	check(t, err)
	for i := range intervals {
		v, h := &intervals[i], histogram.New()
		for range v.OK {
			histogram.Record(h, time.Duration(v.Service[workload.OK].MaxNS))
		}
		check(t, totals.Write(epoch, time.Second, Series{TimingService, v.Operation, workload.OK, v.Step, v.Phase}.Tag(), h))
	}
	check(t, totals.Close())
	e, err := NewErrorWriter(filepath.Join(dir, FileErrors))
	check(t, err)
	check(t, e.Write([]ErrorCount{{Second: epoch.Unix(), Phase: PhaseMeasure, Operation: "update", Class: "conflict", Count: 1}}))
	check(t, e.Close())
	return dir, intervals
}

func TestSummarizeOperations(t *testing.T) {
	dir, _ := recordMixed(t)
	s, err := Summarize(dir, mixedRun())
	check(t, err)
	if len(s.Operations) != 2 || len(s.Steps) != 2 {
		t.Fatalf("%d operations, %d steps", len(s.Operations), len(s.Steps))
	}
	update, read := s.Operations[0], s.Operations[1]
	if update.Operation != "update" || read.Operation != "read" {
		t.Errorf("operations %s, %s are not in the order of the mix", update.Operation, read.Operation)
	}
	if s.OK != 160 || update.OK != 40 || read.OK != 120 || update.Failed != 3 || read.Failed != 0 {
		t.Errorf("ok %d = %d + %d, failed %d", s.OK, update.OK, read.OK, update.Failed)
	}
	if s.Window != 2*time.Second || update.Throughput() != 20 || read.Throughput() != 60 || s.Throughput() != 80 {
		t.Errorf("throughput over %v: %v = %v + %v", s.Window, s.Throughput(), update.Throughput(), read.Throughput())
	}
	if mean := update.Latency.Mean(); mean != 6e6 {
		t.Errorf("mean of updates %v", mean)
	}
	if p50, known := read.Quantile(.5); !known || p50 < 990_000 || p50 > 1_010_000 || read.Histogram.TotalCount() != 120 {
		t.Errorf("p50 of reads %d of %d", p50, read.Histogram.TotalCount())
	}
	if s.Histogram.TotalCount() != s.OK || s.Latency.Count != s.OK {
		t.Errorf("%d latencies of %d", s.Histogram.TotalCount(), s.OK)
	}
	diff(t, "errors of updates", []ClassCount{{"conflict", 1}, {ClassUnrecorded, 2}}, update.Errors)
	diff(t, "errors", update.Errors, s.Errors)
}

func TestGaugesOfAMix(t *testing.T) {
	_, intervals := recordMixed(t)
	diff(t, "gauges", []Gauge{
		{Second: epoch.Unix(), Backlog: 6, InFlight: 7, KeysCumulative: 3},
		{Second: epoch.Unix() + 1, Backlog: 0, InFlight: 10, KeysCumulative: 8},
	}, Gauges(intervals))
}

// A mix's classic files cover all operations together.
func TestDeriveMix(t *testing.T) {
	dir, _ := recordMixed(t)
	check(t, Derive(dir, mixedRun()))
	series := mustRead(t, filepath.Join(dir, FileClassicTimeseries))
	rows := strings.Split(strings.TrimSpace(series), "\n")[1:]
	for i, want := range []string{",1,1.000000,1.750000,4.000000,40", ",1,1.000000,1.750000,4.000000,40", ",10,2.000000,3.500000,8.000000,80"} {
		if len(rows) != 3 || !strings.HasSuffix(rows[i], want) {
			t.Errorf("row %d of\n%s does not end in %s", i, series, want)
		}
	}
	if keys := mustRead(t, filepath.Join(dir, FileClassicByKey)); !strings.Contains(keys, "\n160,") {
		t.Errorf("by key: %s", keys)
	}
}
