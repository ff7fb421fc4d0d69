package table

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/ability/capacity"
)

// TestSectionRows: a search has rows, however it ended; runs without a search have no rows.
func TestSectionRows(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	if rows := sectionRows(runs); len(rows) != 0 {
		t.Errorf("without a search there are %d rows", len(rows))
	}
	slo := capacity.Plan{Latency: 20 * time.Millisecond, At: 99, Share: 80, Hold: time.Minute}
	found := &capacity.Result{Plan: slo, Reason: "found", Rate: 21_412, Low: 20_100, High: 22_300, Counted: 27, Stalled: 1, Held: 20_100, Holds: 2}
	runs[0].Capacity = &run.Capacity{Result: found, Windows: []capacity.Window{{DBBytes: 1e6}, {DBBytes: -1}, {DBBytes: 3e6}}}
	for _, tt := range []struct {
		c    capacity.Result
		want string // in the first row
	}{
		{capacity.Result{Plan: slo, Reason: "client-limited", EndedAt: 12_000}, "client-limited at 12,000/s"},
		{capacity.Result{Plan: slo, Reason: "store full", EndedAt: 900}, "store full at 900/s"},
		{capacity.Result{Plan: slo, Reason: "stalls", Stalled: 9, Counted: 20}, "stalls in 9 of 20 windows"},
		{capacity.Result{Plan: slo, Reason: "stalls", Counted: 20}, "fails at any rate"},
		{capacity.Result{Plan: slo, Reason: "stalls", Stalled: 1, Counted: 20}, "fails at any rate"},
		{capacity.Result{Plan: slo, Reason: "below the least rate", EndedAt: 12.5}, "below 12.50/s"},
		{capacity.Result{Plan: slo, Reason: "below the least rate", EndedAt: 13}, "below 13/s"},
		{capacity.Result{Plan: slo, Reason: "searching"}, "the search did not finish"},
	} {
		runs[1].Capacity = &run.Capacity{Result: &tt.c}
		rows := sectionRows(runs)
		if got := rows[0].Cell(runs[1]); got.Text != tt.want || got.Value != nil || got.Missing == "" {
			t.Errorf("%s: %+v, want %q", tt.c.Reason, got, tt.want)
		}
		if got := rows[1].Cell(runs[1]); got.Value != nil || got.Missing == "" {
			t.Errorf("%s: the latency at no capacity is %+v", tt.c.Reason, got)
		}
		for _, note := range Unequal(runs, nil) {
			if strings.HasPrefix(note, "rates") {
				t.Errorf("searches that ended at different rates are unequal: %s", note)
			}
		}
	}
	got := map[string]string{}
	for _, row := range sectionRows(runs) {
		got[row.Name] = strings.Join(row.Cell(runs[0]).Lines(), "; ")
	}
	for name, want := range map[string]string{
		"CAPACITY (p99 <= 20 ms)": "21,412 req/sec; 20,100 .. 22,300 req/sec",
		"HELD AT (p99 <= 20 ms)":  "20,100 req/sec; for 1m0s",
		"CAPACITY-WINDOWS":        "27; 1 stalled, 0 void",
		"CAPACITY-STORE":          "3.0 MB; from 1.0 MB",
	} {
		if got[name] != want {
			t.Errorf("%s must be %q, got %q", name, want, got[name])
		}
	}
	for held, want := range map[string]capacity.Result{
		"client-limited":  {Plan: slo, Reason: "found", Rate: 1000, EndedAt: 900, Unheld: "client-limited"},
		"none of 6 rates": {Plan: slo, Reason: "found", Rate: 1000, Holds: 6},
	} {
		runs[1].Capacity = &run.Capacity{Result: &want}
		if got := sectionRows(runs)[2].Cell(runs[1]); got.Text != held || got.Missing == "" {
			t.Errorf("nothing was held: %+v, want %q", got, held)
		}
	}
	p99 := cellOf(runs[0].Stages[0].Latency.Due.Quantile(.99), millisText).Text
	if text := got["LATENCY AT CAPACITY (p99 <= 20 ms)"]; strings.TrimSuffix(text, " *") != p99 {
		t.Errorf("the latency at capacity is %q, and the p99 %q", text, p99)
	}
}
