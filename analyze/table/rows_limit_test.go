package table

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// TestRowsOfLimits has members whose group is throttled in as many of the ten periods in each
// second as their number, and whose memory is the most in the third second.
func TestRowsOfLimits(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	cells := func() map[string]Cell {
		all := map[string]Cell{}
		for _, row := range All(runs) {
			switch row.Name {
			case "CPU-LIMIT", "THROTTLED", "MEMORY-LIMIT", "MEMORY-PEAK", "MEMORY-PEAK-PAGE-CACHE":
				all[row.Name] = row.Cell(runs[0])
			}
		}
		return all
	}
	for name, cell := range cells() {
		if cell.applies() {
			t.Errorf("%s must have no row without limits, got %+v", name, cell)
		}
	}
	runs[0].Info.Record.Resources = &resources.Limits{CPUs: 0.25, Period: 100 * time.Millisecond, MemoryBytes: 2e9}
	if got := Unequal(runs, nil); len(got) == 0 {
		t.Error("runs with and without limits must be unequal")
	}
	load := runs[0].Windows.Load
	for i := range runs[0].Machines.Servers {
		machine := &runs[0].Machines.Servers[i]
		first := machine.Samples.All()[0]
		machine.Samples = packed.Samples{}
		for second := range (load.To-load.From)/1e9 + 3 {
			s := first
			s.Values = metric.System().Values()
			s.UnixNano = load.From + (second-1)*1e9
			s.Values.Set(metric.GroupThrottledPeriods, float64(int64(i+1)*second))
			memory, cache := 1e6*float64(i+1), 1e5
			if second == 3 {
				memory, cache = 5*memory, 3e5*float64(i+1)
			}
			s.Values.Set(metric.GroupMemoryBytes, memory)
			s.Values.Set(metric.GroupCacheBytes, cache)
			machine.Samples.Append(&s)
		}
	}
	got := cells()
	last := len(runs[0].Machines.Servers)
	for name, want := range map[string]string{
		"CPU-LIMIT":              "0.25 processors, GOMAXPROCS 1",
		"THROTTLED":              map[int]string{2: "20.00 % (member 2)", 3: "30.00 % (member 3)"}[last],
		"MEMORY-LIMIT":           "2.0 GB, GOMEMLIMIT 1.8 GB",
		"MEMORY-PEAK":            map[int]string{2: "10 MB (member 2)", 3: "15 MB (member 3)"}[last],
		"MEMORY-PEAK-PAGE-CACHE": map[int]string{2: "600 kB (member 2)", 3: "900 kB (member 3)"}[last],
	} {
		if got[name].Text != want {
			t.Errorf("%s must be %q, got %+v", name, want, got[name])
		}
	}
}
