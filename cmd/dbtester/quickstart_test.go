package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestQuickstart runs the command that newcomers run first, in full.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel() // no other test in this process uses the same hosts
	eventually(t, "the ports of 127.0.0.1 to 127.0.0.3 are free", func() bool {
		return portsFree([]string{"127.0.0.1", "127.0.0.2", "127.0.0.3"})
	})
	p := newPlace(t)
	c := p.start("quickstart", "--results", p.path("results"))
	c.exits(exitDone, patience)
	p.tidy()
	wantText(t, "output", c.out.String(), `\nreport in results/.*/report/report.html\nevery row: dbtester analyze --all results/.*\nnext: dbtester quickstart .*\n$`)
	if lines := strings.Count(c.out.String(), "\n"); lines > closingLines {
		t.Errorf("it ends with %d lines, want at most %d", lines, closingLines)
	}
	wantText(t, "progress", c.err.String(), `wait for a quorum`, `1 client, `, `100 clients, .* 0 errors`, `stop members`)
	runs := p.runs()
	if len(runs) != 1 {
		t.Fatalf("%d result folders", len(runs))
	}
	m := manifest(t, runs[0])
	if m.State != results.StateComplete || !m.Local || len(m.Databases) != 1 {
		t.Fatalf("manifest: %+v", m)
	}
	db := m.Databases[0]
	if k := db.Keys; k == nil || k.Error != "" || k.Found() != db.Totals.OK || db.Totals.Unknown != 0 {
		t.Errorf("keys %+v of %+v", k, db.Totals)
	}
	for _, member := range db.Members {
		if len(member.Exit) != 1 || member.Exit[0] != "etcd: exit 0 after interrupt" {
			t.Errorf("member %d: %v", member.Index+1, member.Exit)
		}
	}
	report := runs[0].Path(results.DirReport)
	wantFigures(t, report)
	wantFilled(t, filepath.Join(report, "all-aggregated.json"))
	for _, name := range []string{"AVG-CPU", "AVG-WRITE-BYTES-NUM-DELTA", "AVG-THROUGHPUT", "AVG-VMRSS-MB"} {
		wantMoves(t, filepath.Join(report, "data", name+".csv"))
	}
	for _, name := range []string{"README.md", "report.html", "all-aggregated.txt", "all-aggregated.csv"} {
		if info, err := os.Stat(filepath.Join(report, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantFigures checks that every time plot exists, and every figure in each form.
func wantFigures(t *testing.T, report string) {
	t.Helper()
	for _, plot := range config.DefaultPlots() {
		if _, err := os.Stat(filepath.Join(report, "figures", plot.Column+".svg")); err != nil {
			t.Errorf("stat the file: %v", err)
		}
	}
	figures, err := filepath.Glob(filepath.Join(report, "figures", "*.svg"))
	if err != nil || len(figures) < 21 {
		t.Errorf("%d figures, %v", len(figures), err)
	}
	for _, svg := range figures {
		name := strings.TrimSuffix(filepath.Base(svg), ".svg")
		if info, err := os.Stat(filepath.Join(report, "data", name+".csv")); err != nil || info.Size() == 0 {
			t.Errorf("no data of %s: %v", name, err)
		}
	}
}

// wantFilled checks that every table cell has a value, a text, or the reason why it is empty.
func wantFilled(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	var report struct {
		Table struct {
			Rows []struct {
				Name, Unit, Definition string
				Cells                  []struct{ Text, Missing string }
			}
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatalf("decode the JSON: %v", err)
	}
	var names []string
	for _, row := range report.Table.Rows {
		if !dependsOnKernel(row.Name) && row.Name != "STALLS-COINCIDED" { // which only stalls have
			names = append(names, row.Name)
		}
	}
	if diff := cmp.Diff(quickstartRows(), names); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for _, row := range report.Table.Rows {
		if row.Definition == "" || len(row.Cells) != 1 || row.Cells[0].Text == "" {
			t.Errorf("row %+v", row)
		}
		if row.Cells[0].Missing != "" {
			t.Logf("%s: %s", row.Name, row.Cells[0].Missing)
		}
	}
}

// dependsOnKernel reports whether a row exists only on machines with its metric.
func dependsOnKernel(row string) bool {
	return slices.ContainsFunc(metric.System().Metrics(), func(m metric.Metric) bool {
		return m.Optional && (row == "SERVER-"+m.Column || row == "MEMBER-MAX-"+m.Column)
	})
}

// quickstartRows are the rows in a table about one stepped load of writes.
func quickstartRows() []string {
	return strings.Split(strings.TrimSpace(`
TOTAL-SECONDS
TOTAL-REQUEST-NUMBER
MAX-THROUGHPUT
AVG-THROUGHPUT
MIN-THROUGHPUT
FASTEST-LATENCY
AVG-LATENCY
SLOWEST-LATENCY
Latency p10
Latency p25
Latency p50
Latency p75
Latency p90
Latency p95
Latency p99
Latency p99.9
Latency p99.99
SUCCESS
WITHOUT-SERVER-SHARE
LARGEST-GAP
STALLS
SERVER-TOTAL-NETWORK-RX-DATA-SUM
SERVER-TOTAL-NETWORK-RX-DATA-BYTES-SUM-RAW
SERVER-TOTAL-NETWORK-TX-DATA-SUM
SERVER-TOTAL-NETWORK-TX-DATA-BYTES-SUM-RAW
CLIENT-TOTAL-NETWORK-RX-SUM
CLIENT-TOTAL-NETWORK-RX-BYTES-SUM-RAW
CLIENT-TOTAL-NETWORK-TX-SUM
CLIENT-TOTAL-NETWORK-TX-BYTES-SUM-RAW
SERVER-MAX-CPU-USAGE
SERVER-MAX-MEMORY-USAGE
CLIENT-MAX-CPU-USAGE
CLIENT-MAX-MEMORY-USAGE
CLIENT-ERROR-COUNT
SERVER-AVG-READS-COMPLETED-DELTA-SUM
SERVER-AVG-SECTORS-READS-DELTA-SUM
SERVER-AVG-WRITES-COMPLETED-DELTA-SUM
SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM
SERVER-AVG-DISK-SPACE-USAGE
DISK-SPACE-ALLOCATED
STDDEV-LATENCY
1 client: AVG-THROUGHPUT
1 client: AVG-LATENCY
1 client: Latency p99
10 clients: AVG-THROUGHPUT
10 clients: AVG-LATENCY
10 clients: Latency p99
100 clients: AVG-THROUGHPUT
100 clients: AVG-LATENCY
100 clients: Latency p99
KEYS-FOUND
LINEARIZABLE
JUDGE-SECONDS
LOST-WRITES
OFFERED
SENT
OK
FAILED
UNKNOWN
SHED
UNSENT
QUEUED
LATE
RECONNECTS
CLAMPED
ERRORS
LOG-EVENTS
member 1: REQUESTS
member 1: AVG-LATENCY
member 1: Latency p99, ok only
member 2: REQUESTS
member 2: AVG-LATENCY
member 2: Latency p99, ok only
member 3: REQUESTS
member 3: AVG-LATENCY
member 3: Latency p99, ok only
leader: REQUESTS
leader: AVG-LATENCY
followers: REQUESTS
followers: AVG-LATENCY
INSIDE-SHARE
INSIDE-SHARE-WORST-STEP
SCHEDULING-LAG p99
CLIENT-STOPPED-SHARE
CLIENT-STOPPED-LONGEST
OTHER-CPU-SHARE
OTHER-WRITTEN-MB
CLIENT-CPU-SECONDS
SERVER-CPU-SECONDS
MEMBER-MAX-CPU
MEMBER-MAX-MEMORY
MEMBER-MAX-RSS-ANON
MEMBER-PEAK-RSS
SERVER-OWN-DISK-READ
SERVER-OWN-DISK-WRITTEN
MEMBER-MAX-DISK-WRITTEN
MEMBER-LEAST-DISK-FREE
CLIENT-MAX-RSS-ANON
SAMPLES
CLOCK-OFFSET
TIME-SERVICE
SERVER-RUN-DELAY-SECONDS
MEMBER-FSYNCS
MEMBER-FSYNC-AVG
MEMBER-FSYNC-p99
MEMBER-COMMIT-AVG
MEMBER-COMMIT-p99
MEMBER-SNAPSHOTS
MEMBER-PROPOSALS-APPLIED
MEMBER-PROPOSALS-FAILED
MEMBER-MAX-PROPOSALS-PENDING
MEMBER-LEADER-CHANGES
MEMBER-DB-SIZE
MEMBER-DB-USED
MEMBER-MAX-HEAP
MEMBER-PAUSES
MEMBER-PEER-TRIP-AVG
MEMBER-APPLY-AVG
MEMBER-METRICS-COST
BOTTLENECK
LEDGER-CLIENT
LEDGER-OUTSIDE
LEDGER-THROTTLED
LEDGER-FSYNC
LEDGER-PEERS
LEDGER-PROCESSORS
LEDGER-UNEXPLAINED
VERSION
RELEASE
MEMBERS
OPERATION
RATE
TIMED-FROM
LOAD
CLIENTS
PAYLOAD
LEADER
TRANSPORT
FSYNC
DURABLE
SHARED-HOST
`), "\n")
}

// wantMoves checks that a series has more than 15 points at different positions, and more than one
// value.
func wantMoves(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("open the file: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("read the CSV: %v", err)
	}
	xs, ys := map[string]bool{}, map[string]bool{}
	for _, row := range rows[1:] {
		if row[1] != "" {
			xs[row[0]], ys[row[1]] = true, true
		}
	}
	if len(xs) <= 15 || len(ys) < 3 {
		t.Errorf("%s: %d places, %d values", filepath.Base(path), len(xs), len(ys))
	}
}
