package table

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/abilities/cause"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestRowsOfMembersOwnMetrics has members that reported, by their number: n fsyncs a second with 4
// ms each, more of them slow.
func TestRowsOfMembersOwnMetrics(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	cells := func() map[string]Cell {
		all := map[string]Cell{}
		for _, row := range ownRows() {
			all[row.Name] = row.Cell(runs[0])
		}
		return all
	}
	for name, cell := range cells() {
		if cell.applies() {
			t.Errorf("%s must have no row without reports, got %+v", name, cell)
		}
	}
	load := runs[0].Windows.Load
	for i := range runs[0].Machines.Servers {
		for second := range (load.To-load.From)/1e9 + 3 {
			s := results.NewDatabaseSample()
			s.UnixNano, s.AskedNS, s.Bytes = load.From+(second-1)*1e9, int64(i+1)*1e6, 1000
			n := float64(100 * (int64(i) + 1) * second)
			s.Values.Set(metric.Fsyncs, n)
			s.Values.Set(metric.FsyncSeconds, n*.004)
			s.Values.Set(metric.ProposalsPending, float64(i))
			s.Values.Set(metric.Agreements, 10*float64(i)*float64(second)) // member 1 has no agreements
			s.Values.Set(metric.AgreementSeconds, .02*float64(i)*float64(second))
			s.Values.Set(metric.Queued, 0)
			s.Values.Set(metric.QueueSeconds, 0)
			s.Values.Set(metric.DBBytes, 1e6*float64(second))
			high := n * float64(i) / 10 // 0 for member 1, a tenth for member 2
			s.Histograms[metric.FsyncHistogram] = metric.Buckets{Bounds: []float64{.004, .016, math.Inf(1)}, Counts: []float64{n - high, n, n}}
			runs[0].Machines.Servers[i].Own.Answers.Append(&s)
		}
	}
	got := cells()
	last := len(runs[0].Machines.Servers)
	for name, want := range map[string]string{
		"MEMBER-FSYNC-AVG":             "4.0000 ms (member 1)",
		"MEMBER-AGREEMENT-AVG":         "2.0000 ms (member 2)",
		"MEMBER-FSYNC-p99":             "between 4ms and 16ms (member 2)",
		"MEMBER-METRICS-COST":          map[int]string{2: "2.0000 ms, 1.0 kB (member 2)", 3: "3.0000 ms, 1.0 kB (member 3)"}[last],
		"MEMBER-MAX-PROPOSALS-PENDING": map[int]string{2: "1 (member 2)", 3: "2 (member 3)"}[last],
	} {
		if got[name].Text != want {
			t.Errorf("%s must be %q, got %+v", name, want, got[name])
		}
	}
	if p99 := got["MEMBER-FSYNC-p99"]; p99.Value == nil || *p99.Value != .016 || p99.N == 0 || p99.Low == nil || *p99.Low != .004 || *p99.High != .016 {
		t.Errorf("the value of a bucket must be its upper bound and have its number of fsyncs, got %+v", p99)
	}
	if cell := got["MEMBER-QUEUE-AVG"]; cell.Missing != "there was none in the measured window" {
		t.Errorf("a mean of none must be missing, got %+v", cell)
	}
	if cell := got["MEMBER-COMMIT-AVG"]; cell.applies() {
		t.Errorf("a number that is not reported must have no row, got %+v", cell)
	}
}

// TestLedger has members whose leader synced for half the time, in each of two steps.
func TestLedger(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	r := runs[0]
	cell := func(name string) Cell {
		all := All(runs)
		return all[slices.IndexFunc(all, func(row Row) bool { return row.Name == name })].Cell(r)
	}
	if c := cell("LEDGER-FSYNC"); c.applies() {
		t.Errorf("without the members' numbers there must be no row, got %+v", c)
	}
	for i := range r.Machines.Servers {
		for second := range (r.Windows.Load.To-r.Windows.Load.From)/1e9 + 3 {
			s := results.NewDatabaseSample()
			s.UnixNano = r.Windows.Load.From + (second-1)*1e9
			s.Values.Set(metric.Fsyncs, 500*float64(second))
			s.Values.Set(metric.FsyncSeconds, .5*float64(second))
			r.Machines.Servers[i].Own.Answers.Append(&s)
		}
	}
	sum := map[string]float64{}
	for _, name := range []string{"LEDGER-CLIENT", "LEDGER-FREE-CLIENT", "LEDGER-OUTSIDE", "LEDGER-THROTTLED", "LEDGER-FSYNC", "LEDGER-PEERS", "LEDGER-PROCESSORS", "LEDGER-UNEXPLAINED"} {
		c := cell(name)
		for _, p := range c.Parts {
			if p.Value != nil {
				sum[p.Label] += *p.Value
			}
			if name == "LEDGER-FSYNC" && (p.Value == nil || math.Abs(*p.Value-50) > .1) {
				t.Errorf("a leader that synced for half of the time has %+v", p)
			}
			if name == "LEDGER-OUTSIDE" && p.Text != "not recorded" {
				t.Errorf("a line without an input must say so, got %+v", p)
			}
		}
	}
	if len(sum) != 2 {
		t.Errorf("each kind of step must have a ledger, got %v", sum)
	}
	for label, of := range sum {
		if math.Abs(of-100) > 1e-6 {
			t.Errorf("the lines of %s sum to %g %%", label, of)
		}
	}
}

// TestBottleneck has a leader that synced for most of the time: it is named if its threads' waits
// for processors are known.
func TestBottleneck(t *testing.T) {
	for _, tt := range []struct {
		name           string
		waits, agents  bool
		cell, sentence string
	}{
		{"without agents", false, false, "none found: syncs of the leader's log 90 % [0 .. 90]", ""},
		{"without the waits", false, true, "none found: syncs of the leader's log 90 % [0 .. 90]", ""},
		// A thread waited a tenth of the time, and a twentieth of four processors was used.
		{"with the waits", true, true, "syncs of the leader's log 90 % [75 .. 90]: 4 ms a sync, for 90 % of the time", "Where the mean response time went: a with 50 clients: syncs of the leader's log, 75 to 90 %."},
	} {
		runs, err := run.FromFolder(runtest.TwoDatabases(t))
		if err != nil {
			t.Fatalf("read the fixture: %v", err)
		}
		r := runs[0]
		for i := range r.Machines.Servers {
			machine := &r.Machines.Servers[i]
			first := machine.Samples.All()[0]
			machine.Samples = packed.Samples{}
			for second := range (r.Windows.Load.To-r.Windows.Load.From)/1e9 + 3 {
				own, s := results.NewDatabaseSample(), first
				own.UnixNano = r.Windows.Load.From + (second-1)*1e9
				own.Values.Set(metric.Fsyncs, 225*float64(second))
				own.Values.Set(metric.FsyncSeconds, .9*float64(second))
				machine.Own.Answers.Append(&own)
				if !tt.agents {
					continue
				}
				s.Values, s.UnixNano = metric.System().Values(), own.UnixNano
				s.Values.Set(metric.CPUSeconds, .2*float64(second))
				s.Values.Set(metric.Processes, 1)
				if tt.waits {
					s.Values.Set(metric.RunDelay, .1*float64(second))
				}
				machine.Samples.Append(&s)
			}
		}
		if !tt.agents {
			for i := range r.Info.Record.Members {
				m := &r.Info.Record.Members[i]
				m.Agent, m.Host, m.Release = "", nil, nil
			}
		}
		all := All(runs)
		c := all[slices.IndexFunc(all, func(row Row) bool { return row.Name == "BOTTLENECK" })].Cell(r)
		if len(c.Parts) != 2 || !strings.HasPrefix(c.Parts[1].Text, tt.cell) || c.Parts[1].Low == nil {
			t.Errorf("%s: want %q, got %+v", tt.name, tt.cell, c)
		}
		e := cause.Half{}.Explain([]string{"a", "b"}, [][]*run.Run{{r}, {runs[1]}})
		if e == nil || e.Sentence != tt.sentence || len(e.Databases) != 1 || e.Databases[0].Runs != 1 {
			t.Fatalf("%s: the sentence must be %q, got %+v", tt.name, tt.sentence, e)
		}
		if c := e.Databases[0].Causes; tt.waits && (len(c) != 1 || c[0].Name != "fsync" || c[0].Verdict != "named") {
			t.Errorf("the causes are %+v", c)
		}
	}
}
