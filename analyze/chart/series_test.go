package chart

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

func TestGapsAreNotZeroAndNotCountedTwice(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	s := NewSeries(runs[0])
	// The second member missed the fourth second of the load; the next sample spans it.
	for name, want := range map[string][]float64{
		"WRITES-COMPLETED-DELTA-1":   {100, 100, 100, 100, 100, 100, 100, 100, 100},
		"WRITES-COMPLETED-DELTA-2":   {100, 100, 100, math.NaN(), 100, 100, 100, 100, 100},
		"AVG-WRITES-COMPLETED-DELTA": {100, 100, 100, math.NaN(), 100, 100, 100, 100, 100},
		"MAX-CPU":                    {300, 301, 302, math.NaN(), 304, 305, 306, 307, 308},
		"AVG-THROUGHPUT":             {248, 495, 495, 495, 743, 990, 990, 990, 495},
		"CONTROL-CLIENT-NUM":         {10, 10, 10, 10, 50, 50, 50, 50, 50},
	} {
		got := s.column(name)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-6 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The sum over the load still includes the missed second.
	if got := runs[0].ServerSum(run.Unshared, run.Of(metric.WriteBytes)); !got.Known() || got.Value != 9*1000*2+9*2000*2 {
		t.Errorf("own writes = %+v, want %d", got, 9*1000*2+9*2000*2)
	}
}

// Values of a long load that are kept without its samples equal those with them, to seven digits.
func TestKeepShort(t *testing.T) {
	read := func() *run.Run {
		runs, err := run.FromFolder(runtest.TwoDatabases(t))
		if err != nil {
			t.Fatalf("read the run: %v", err)
		}
		return runs[0]
	}
	names := []string{"WRITES-COMPLETED-DELTA-2", "AVG-VMRSS-MB", "MAX-CPU", "AVG-THROUGHPUT"}
	whole, of := NewSeries(read()), read()
	short := NewSeries(of)
	short.keepShort(names)
	of.ForgetSamples()
	for _, name := range names {
		want, got := whole.column(name), short.column(name)
		if len(want) == 0 {
			t.Errorf("there is no column %s", name)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-6*math.Abs(a)
		})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTwoStepsInOneSecondKeepTheirWeights(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	for _, g := range runs[0].ByClients() {
		want := map[int]float64{10: 495.25, 50: 990}[g.Clients]
		if got := value(g, NewSeries(runs[0]), "AVG-THROUGHPUT"); got != want {
			t.Errorf("%d clients: %v requests/s, want %v", g.Clients, got, want)
		}
	}
}

// The last keys in a run were written while the members ran, although their last samples found them
// ended. Neither with the samples in the result folder nor with the interpolated file may memory
// fall to zero.
func TestMemoryByKeyOfMembersThatEnded(t *testing.T) {
	raw := append(runtest.Busy(runtest.Sampled(-.5, 0, 0, 40), runtest.Sampled(0, .5, .1, 50), runtest.Sampled(1, 1, .3, 51), runtest.Sampled(2, 1, .6, 52)), runtest.Ended(2.625, .625, .6))
	for name, make := range map[string]func(*testing.T) packed.Samples{
		"raw": func(*testing.T) packed.Samples { return packed.Of(raw...) },
		"interpolated": func(t *testing.T) packed.Samples {
			path := filepath.Join(t.TempDir(), results.FileServerInterpolated)
			if err := os.WriteFile(path, results.SampleTable(results.Interpolate(raw)), 0o600); err != nil {
				t.Fatalf("write the interpolated samples: %v", err)
			}
			return run.FromClassic(run.ClassicFiles{Record: &results.DatabaseRun{}, Servers: []string{path}}).Machines.Servers[0].Samples
		},
	} {
		t.Run(name, func(t *testing.T) {
			samples := make(t)
			r := &run.Run{Info: run.Info{Record: &results.DatabaseRun{}}, Machines: run.Machines{Servers: []run.Machine{{Samples: samples}, {Samples: samples}}}}
			for i := range 3 {
				r.Load.Seconds = append(r.Load.Seconds, run.Second{Unix: runtest.Begin + int64(i), Clients: 1, OK: 1000})
			}
			records := NewSeries(r).MemoryByKey(2)
			if len(records) != 31 {
				t.Fatalf("%d records: %v", len(records), records)
			}
			for i, record := range records[1:] {
				mb := fmt.Sprintf("%d.00", min(51+i/10, 52))
				if diff := cmp.Diff([]string{fmt.Sprint(100 * (i + 1)), mb, mb, mb}, record); diff != "" {
					t.Errorf("record %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}
