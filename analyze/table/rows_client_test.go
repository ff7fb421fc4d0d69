package table

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// TestRowsOfGenerators: with several generators a row shows the largest value and the number of its
// generator, and the self-check throughput is the lowest.
func TestRowsOfGenerators(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	record := runs[0].Info.Record
	record.LoadEnd = record.LoadStart.Add(10 * time.Second)
	record.Lateness, record.SchedulingLag, record.Stops, record.SelfCheck = nil, nil, nil, nil
	late := func(p99, most int64) *results.Spread { return &results.Spread{N: 5000, P99: p99, Max: most} }
	check := func(added int64, perSecond float64) *results.LoadCheck {
		return &results.LoadCheck{P50: results.Compared{N: 5000, Measured: 1e6 + added, True: 1e6}, RequestsPerSecond: perSecond}
	}
	record.Generators = []results.Generator{
		{SchedulingLag: late(1e6, 9e6), Stops: &results.Stops{N: 1, TotalNS: 2e8, Longest: results.Stretch{Length: 200 * time.Millisecond}}, SelfCheck: check(30_000, 900)},
		{SchedulingLag: late(2e6, 5e6), Stops: &results.Stops{N: 9, TotalNS: 5e8, Longest: results.Stretch{Length: 90 * time.Millisecond}}, SelfCheck: check(20_000, 700)},
		{Lost: "it died"},
	}
	got := map[string]string{}
	for _, row := range clientRows() {
		got[row.Name] = row.Cell(runs[0]).Text
	}
	for name, want := range map[string]string{
		"SCHEDULING-LAG p99":     "2.000 ms, n 5,000 (generator 2)",
		"CLIENT-STOPPED-SHARE":   "5.00 % (generator 2)",
		"CLIENT-STOPPED-LONGEST": "200 ms, n 1 (generator 1)",
		"SELF-CHECK-ADDED p50":   "0.030 ms, n 5,000 (generator 1)",
		"SELF-CHECK-THROUGHPUT":  "700 req/s (generator 2)",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	record.Generators[1].SelfCheck.Unavailable = "no server"
	if cell := selfCheckThroughput(runs[0]); cell.Missing != "no server" {
		t.Errorf("the throughput of a check that one generator lacks is %+v, want the reason", cell)
	}
}

func TestSpreadCell(t *testing.T) {
	for _, tc := range []struct {
		q    float64
		n    int64
		want string
		mark bool
	}{
		{.50, 19, "28.901 ms, n 19 *", true}, {.50, 20, "28.901 ms, n 20", false},
		{.99, 999, "28.901 ms, n 999 *", true}, {.99, 1000, "28.901 ms, n 1,000", false},
		{1, 2, "28.901 ms, n 2", false},
	} {
		got := spreadCell(tc.q, 28_901_000, tc.n)
		if got.Shown() != tc.want || (len(got.Marks) == 1 && got.Marks[0] == run.FewMark) != tc.mark {
			t.Errorf("q %g of %d: %q, marks %q", tc.q, tc.n, got.Text, got.Marks)
		}
	}
}
