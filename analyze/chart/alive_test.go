package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// The line with the mean over members continues with the remaining members after one died, and a
// note says so. If a member missed one sample, the line has a gap: the others' mean would be a jump
// that did not happen. The series in the CSV has a gap in both cases.
func TestMeanGoesOnWhenAMemberDies(t *testing.T) {
	const seconds = 12
	samples := func(mb float64, missing ...int) packed.Samples {
		var all []results.Sample
		for i := range seconds + 1 {
			if !slices.Contains(missing, i) {
				all = append(all, runtest.Busy(runtest.Sampled(float64(i), 1, .1*float64(i), mb))...)
			}
		}
		return packed.Of(all...)
	}
	r := &run.Run{Info: run.Info{Tag: "db", Record: &results.DatabaseRun{}}, Machines: run.Machines{Servers: []run.Machine{
		{Samples: samples(10, 2)}, {Samples: samples(20)}, {Samples: samples(60, 6, 7, 8, 9, 10, 11, 12)},
	}}}
	for i := range seconds {
		r.Load.Seconds = append(r.Load.Seconds, run.Second{Unix: runtest.Begin + int64(i), Clients: 1, OK: 1000})
	}
	d := &Data{Runs: []*run.Run{r}, Series: []*Series{NewSeries(r)}}
	f := d.timeFigure(Plot{Column: "AVG-VMRSS-MB", YAxis: "Memory(MB)"})
	y := f.Series[0].Y
	for i, want := range map[int]float64{1: 30, 4: 30, 8: 15, 11: 15} {
		if math.Abs(y[i]-want) > .01 {
			t.Errorf("second %d: %v MB, want %v: %v", i, y[i], want, y)
		}
	}
	cpu := d.timeFigure(Plot{Column: "AVG-CPU"}).Series[0].Y
	if gaps := slices.IndexFunc(cpu[1:5], math.IsNaN); gaps < 0 || math.IsNaN(cpu[8]) {
		t.Errorf("CPU has no gap where one member missed a sample, or one where another died: %v", cpu)
	}
	if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, "db: of 2 of 3 members from ") }) {
		t.Errorf("no note says how many members are left: %q", f.Notes)
	}
	if strict := d.Series[0].column("AVG-VMRSS-MB"); !math.IsNaN(strict[8]) {
		t.Errorf("the series has %v MB where a member is missing", strict[8])
	}
	for _, name := range d.Series[0].Lines(nil).Header {
		if strings.Contains(name, joinedSuffix) || strings.HasSuffix(name, whichSuffix) {
			t.Errorf("the CSV has the column %q", name)
		}
	}
}
