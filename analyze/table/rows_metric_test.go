package table

import (
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
)

// The declaration of a metric is enough for its row.
func TestRowOfAMetric(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	for name, want := range map[metric.Name]Row{
		metric.VoluntarySwitches: {Name: "SERVER-VOLUNTARY-CTXT-SWITCHES", Unit: "switches"},
		metric.RSSAnonBytes:      {Name: "MEMBER-MAX-RSS-ANON-BYTES", Unit: "bytes"},
		metric.CPUSeconds:        {Name: "SERVER-CPU-SECONDS", Unit: "s"},
		metric.Load1:             {Name: "MEMBER-MAX-LOAD-AVERAGE-1-MINUTE", Unit: "tasks"},
	} {
		row := metricRow(metric.System().Must(name))
		if row.Name != want.Name || row.Unit != want.Unit || row.Definition == "" {
			t.Errorf("row of %s is %+v, want %s in %s with a definition", name, row, want.Name, want.Unit)
		}
		text := map[metric.Name]string{
			metric.VoluntarySwitches: "18,000", metric.RSSAnonBytes: "25 MB (member 2)", metric.CPUSeconds: "45.00 sec", metric.Load1: "1.50 (member 1)",
		}[name]
		if cell := row.Cell(runs[0]); cell.Text != text {
			t.Errorf("cell of %s is %q, want %q", name, cell.Text, text)
		}
	}
}

// A metric that the kernels lack has no row, unlike a lost one.
func TestRowOfAnOptionalMetric(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	row := metricRow(metric.System().Must(metric.IOPressureSome))
	if cell := row.Cell(runs[0]); cell.applies() {
		t.Errorf("a metric that no sample knows must have no row, got %+v", cell)
	}
	for i, server := range runs[0].Machines.Servers {
		all := server.Samples.All()
		for at := range all {
			all[at].Set(metric.IOPressureSome, float64(at))
		}
		runs[0].Machines.Servers[i].Samples = packed.Of(all...)
	}
	if cell := row.Cell(runs[0]); !cell.applies() || cell.Value == nil || *cell.Value <= 0 {
		t.Errorf("a metric that samples know must have its row, got %+v", cell)
	}
}

// TestMetricsOfOlderRecords: metrics that a version did not sample are not recorded, and
// those that it sampled are there.
func TestMetricsOfOlderRecords(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	r := runs[0]
	cell := func(name metric.Name) string { return metricRow(metric.System().Must(name)).Cell(r).Text }
	if got := cell(metric.RunDelay); got != "not measured" {
		t.Errorf("run delay of a record of this format without it: want %q, got %q", "not measured", got)
	}
	r.Info.Manifest.Format = 1
	if got := cell(metric.RunDelay); got != "not recorded then" {
		t.Errorf("run delay of an older record: want %q, got %q", "not recorded then", got)
	}
	if got := cell(metric.CPUSeconds); got != "45.00 sec" {
		t.Errorf("processor time of an older record: want %q, got %q", "45.00 sec", got)
	}
	r.Machines.Servers[1].Samples = packed.Samples{}
	r.Machines.Servers[1].Missing = "member 2: no samples"
	if got := cell(metric.CPUSeconds); got != "not measured" {
		t.Errorf("processor time of a member without samples: want %q, got %q", "not measured", got)
	}
}
