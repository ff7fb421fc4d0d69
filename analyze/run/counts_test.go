package run

import (
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestReadsAreOfOperationsThatReturnValues(t *testing.T) {
	intervals := []results.Interval{{Operation: "range", OK: 1}, {Operation: "swap", OK: 2}, {Operation: "update", OK: 4}, {Operation: "read", OK: 8, Failed: 16}}
	if got := readsOf(intervals, Measure{}, ""); got.Int() != 11 {
		t.Errorf("reads = %+v, want 11", got)
	}
	if got := readsOf(nil, Counted(36), "intervals.csv is missing"); got.Missing != "intervals.csv is missing" || got.Inapplicable {
		t.Errorf("reads = %+v: bytes were read, so that their number is missing", got)
	}
	if got := readsOf(nil, Counted(0), ""); !got.Inapplicable {
		t.Errorf("reads = %+v, want none to be measured", got)
	}
}

// TestCountsOfKilledRuns: without totals the requests are counted from the intervals, and
// without intervals they are unknown, even if 0.
func TestCountsOfKilledRuns(t *testing.T) {
	var gaps Gaps
	killed := &results.DatabaseRun{}
	c := folderCounts(killed, []results.Interval{{Due: 9, Sent: 8, OK: 5, Failed: 2, Unknown: 1, Unsent: 1}}, &gaps)
	if c.Offered.Int() != 9 || c.Failures.Int() != 3 || c.Lost().Int() != 4 || c.Clamped.Known() || len(gaps.List) != 1 {
		t.Errorf("counts %+v, gaps %q", c, gaps.List)
	}
	c = folderCounts(killed, nil, &gaps)
	for _, m := range []Measure{c.Offered, c.OK, c.Failures, c.Lost()} {
		if m.Missing != "no request was recorded" {
			t.Errorf("%+v, want the reason why it is missing", m)
		}
	}
}

// TestBytesWritten: older versions did not count them, and a load that sends no value has no such
// bytes.
func TestBytesWritten(t *testing.T) {
	for operation, known := range map[workload.Op]bool{workload.OpRead: true, workload.OpDelete: true, workload.OpWrite: false, workload.OpSwap: false} {
		record := &results.DatabaseRun{Load: results.Load{Load: workload.Load{Content: workload.Content{Operation: operation}}}, Totals: &results.Totals{OK: 7}}
		if got := folderCounts(record, nil, &Gaps{}).BytesWritten; got.Known() != known || got.Value != 0 {
			t.Errorf("%s without a count: %+v, want known %v", operation, got, known)
		}
		record.Totals.BytesWritten = 9
		if got := folderCounts(record, nil, &Gaps{}).BytesWritten; got.Int() != 9 {
			t.Errorf("%s: %+v, want 9 bytes", operation, got)
		}
	}
}
