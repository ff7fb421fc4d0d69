package analyze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

func TestMixedLoads(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Mixed("mix")
	f.Database("plain", 2*time.Millisecond)
	d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	r := d.Report
	for name, want := range map[string][2]string{
		"AVG-THROUGHPUT":           {"40/s due: 40 req/sec; 80/s due: 78 req/sec", "10 clients: 495 req/sec; 50 clients: 990 req/sec"},
		"MAX-THROUGHPUT":           {"too few whole seconds", "10 clients: 496 req/sec; 50 clients: 990 req/sec"},
		"MIN-THROUGHPUT":           {"too few whole seconds", "10 clients: 495 req/sec; 50 clients: 990 req/sec"},
		"AVG-LATENCY":              {"40/s due: 3.7500 ms; 80/s due: 3.6923 ms [1]", "10 clients: 4.3882 ms [1]; 50 clients: 4.4500 ms [1]"},
		"Latency p50":              {"40/s due: 3.0", "10 clients: 4.3"},
		"Latency p99":              {"40/s due: 6.0", "10 clients: 6.9"},
		"Latency p99.9":            {"40/s due: 6.00 ms *; 80/s due: not answered", "not answered"},
		"Latency p50, ok only":     {"40/s due: -; 80/s due: 3.0", "10 clients: 4.3"},
		"Service p50":              {"40/s due: 1.0", "-"},
		"read: REQUESTS":           {"40/s due: 60 (75 %); 80/s due: 120 (75 %)", "-"},
		"read: Latency p99":        {"40/s due: 3.0", "-"},
		"update: REQUESTS":         {"40/s due: 20 (25 %); 80/s due: 40 (25 %)", "-"},
		"update: AVG-LATENCY":      {"40/s due: 6.0000 ms; 80/s due: 6.0000 ms", "-"},
		"update: Latency p50":      {"40/s due: 6.0", "-"},
		"update: Latency p99":      {"40/s due: 6.00 ms *; 80/s due: not answered", "-"},
		"update: ERRORS":           {"40/s due: 0; 80/s due: conflict 4", "-"},
		"read: ERRORS":             {"40/s due: 0; 80/s due: 0", "-"},
		"write: REQUESTS":          {"-", "10 clients: 2,000 (100 %); 50 clients: 4,000 (100 %)"},
		"MAX-BACKLOG":              {"7", "-"},
		"LATENESS p50":             {"0.060 ms, n 240", "-"},
		"LATENESS p99":             {"2.100 ms, n 240 *", "-"},
		"LATENESS max":             {"3.500 ms, n 240", "-"},
		"SCHEDULING-LAG p99":       {"1.250 ms, n 400 *", "not measured"},
		"WORKLOAD":                 {"ycsb-b", "-"},
		"OPERATION":                {"read 75 %, update 25 %, linearizable", "write"},
		"KEYS":                     {"2,000", "-"},
		"KEY-LAW":                  {"zipfian", "-"},
		"RATE":                     {"40/s due, 80/s due, poisson", "closed loop"},
		"TIMED-FROM":               {table.FromDue, table.FromSent},
		"PAYLOAD":                  {"32 + 100..900", "256 + 1024"},
		"RELEASE":                  {"local 3.6.16", "not measured"},
		"40/s due: AVG-THROUGHPUT": {"40 req/sec", "-"},
		"80/s due: AVG-LATENCY":    {"3.6923 ms", "-"},
	} {
		for column, text := range want {
			if got := cell(t, r, name, column).Shown(); !strings.HasPrefix(got, text) {
				t.Errorf("%s of column %d = %q, want %q", name, column, got, text)
			}
		}
	}
	text := r.Text()
	for _, want := range []string{
		"latencies of mix are response times", "latencies of plain are service times of a closed loop",
		"UNEQUAL operations or read modes: mix: 75 % read, 25 % update, linearizable; plain: write",
		"mix: not a release binary",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no word of %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not measured of plain: Response") {
		t.Error("what cannot be measured is called not measured")
	}
	var figures []string
	for _, f := range d.charts.Figures() {
		if strings.Contains(f.Name, "PERCENTILES") || strings.Contains(f.Name, "HEAT") || f.Name == "BACKLOG" {
			figures = append(figures, f.Name)
		}
	}
	if diff := cmp.Diff([]string{
		"BACKLOG", "LATENCY-PERCENTILES", "LATENCY-HEAT-mix", "LATENCY-HEAT-plain",
		"LATENCY-PERCENTILES-BY-STEP-mix", "LATENCY-PERCENTILES-BY-OPERATION-mix", "LATENCY-PERCENTILES-BY-STEP-plain",
	}, figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// Nothing in a report names a folder on the machine it was made on.
func TestReportsNameNoLocalPath(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.M.Config = []byte(`{"path": "/home/somebody/experiments/mix.yaml"}`)
	f.Mixed("mix")
	dir := f.Write()
	f.Ok(os.Remove(filepath.Join(dir, "mix", results.FileErrors)))
	f.Ok(os.Mkdir(filepath.Join(dir, "mix", results.FileErrors), 0o755)) // unreadable, for root too
	r, err := analyzed(t, Options{Folders: []string{dir, filepath.Join(dir, "none")}, Out: filepath.Join(dir, "report")})
	if err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	files := tree(t, r.Dir)
	for name, content := range files {
		for _, path := range []string{"/home/", "/srv/", dir, os.TempDir()} {
			if strings.Contains(content, path) {
				t.Errorf("%s names %s", name, path)
			}
		}
	}
	for _, want := range []string{
		"dbtester control --config mix.yaml\ndbtester analyze RESULT-FOLDER\n", "- release: local, etcd, 3.6.16, etcd, not a release binary\n",
		"- options: Below.Dir=data Below.Flags=--wal-dir=wal KeyParents=100\n",
		"- load: ycsb-b, read 75 %, update 25 %, linearizable, 2,000 keys before the load (zipfian), 4s, 40/s due, 80/s due, poisson, key + value 32 + 100..900 bytes\n",
	} {
		if !strings.Contains(files["README.md"], want) {
			t.Errorf("README.md does not say %q:\n%s", want, files["README.md"])
		}
	}
	if strings.Contains(files["README.md"], "](/") {
		t.Error("an image is not beside the README")
	}
}

// Five databases fit a terminal with 160 columns, however long their cells are.
func TestFiveDatabasesFitATerminal(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	for i, tag := range []string{"etcd-v3.6.16", "zookeeper-r3.9.5", "consul-v1.21.0", "zetcd-v0.0.5", "cetcd-tip"} {
		record := f.Database(tag, time.Duration(i+1)*3*time.Millisecond)
		record.Fsync = []string{"fdatasync of the log by a quorum before a write is answered", "none: forceSync=no, a write lives in the page cache"}[i%2]
		record.Totals.Sent, record.Totals.Offered = 12_345_678, 12_345_678
		record.Keys = &results.Keys{After: 12_345_678, MinAdded: 12_345_678, MaxAdded: 12_345_678}
		record.Validity = []results.Mark{{Code: "shared host", Text: "the client and at least one member share a machine: they compete for its processors, disk and network"}}
		record.Members[0].Version = "3.6." + strings.Repeat("9", i+1)
	}
	text := tabulate(t, f.Write()).Text()
	if testing.Verbose() {
		t.Log("\n" + text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > table.TableWidth {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}
