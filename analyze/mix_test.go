package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

// mixed adds a database with a mix of three reads to one update, due at two rates
// for two seconds each. Of the updates of the second step one in ten failed, and
// the gauges stand on each operation's last row of a second, as a load writes
// them.
func (f *fixture) mixed(tag string) *results.DatabaseRun {
	start := time.Unix(begin, 0).UTC()
	run := &results.DatabaseRun{
		ID: tag, Database: "etcd", Tag: tag, Built: "built-in", State: results.StateComplete, Leader: -1,
		Load: results.Load{
			Workload: "ycsb-b", Mix: []results.Share{{Operation: "read", Weight: 3}, {Operation: "update", Weight: 1}}, ReadMode: "linearizable",
			Keys: 2000, KeyLaw: "zipfian", Duration: 4 * time.Second, Rate: 40, Arrival: "poisson", Clients: 8, Connections: 4,
			KeySize: 32, ValueSize: 100, ValueSizeMax: 900, Drain: time.Second,
		},
		LoadStart: start, LoadEnd: start.Add(4 * time.Second),
		Steps: []results.Step{
			{Index: 0, Clients: 8, Connections: 4, Rate: 40, Start: start, End: start.Add(2 * time.Second)},
			{Index: 1, Clients: 8, Connections: 4, Rate: 80, Start: start.Add(2 * time.Second), End: start.Add(4 * time.Second)},
		},
		Lateness:      &results.Spread{N: 240, P50: 60_000, P99: 2_100_000, P999: 3_000_000, Max: 3_500_000},
		SchedulingLag: &results.Spread{N: 400, P50: 50_000, P99: 1_250_000, Max: 9_000_000},
		Options:       []byte(`{"KeyParents": 100, "Below": {"Dir": "/srv/data", "Flags": ["--wal-dir=/srv/wal"]}}`),
		Members: []results.Member{{Index: 0, Addr: "10.0.0.1", Release: &results.Release{
			Name: "etcd", Version: "3.6.16", Kind: "local", Source: "/home/somebody/etcd", Notes: []string{"not a release binary"},
		}}},
	}
	f.m.Databases = append(f.m.Databases, run)
	dir := filepath.Join(f.dir, tag)
	f.ok(os.MkdirAll(dir, 0o755))
	f.mixedRecords(dir, run)
	return run
}

// mixedRecords writes what the client recorded of a mix: reads take 1 ms and
// updates 4 ms, after waiting 2 ms.
func (f *fixture) mixedRecords(dir string, run *results.DatabaseRun) {
	intervals, err := results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals))
	f.ok(err)
	defer intervals.Close()
	errors, err := results.NewErrorWriter(filepath.Join(dir, results.FileErrors))
	f.ok(err)
	defer errors.Close()
	lines, err := results.NewLatencyWriter(filepath.Join(dir, results.FileLatency), run.LoadStart)
	f.ok(err)
	defer lines.Close()
	var t results.Totals
	for n := range int64(4) {
		step := int(n / 2)
		for o, op := range run.Load.Mix {
			row := results.Interval{Second: begin + n, Step: step, Phase: results.PhaseMeasure, Operation: op.Operation, Clients: 8}
			row.Due = int64(op.Weight) * 10 * int64(step+1)
			row.Sent = row.Due
			if step == 1 && op.Operation == "update" {
				row.Failed = 2
				f.ok(errors.Write([]results.ErrorCount{{Second: row.Second, Step: 1, Phase: row.Phase, Operation: "update", Class: "conflict", Count: 2, FirstText: "changed"}}))
			}
			row.OK = row.Sent - row.Failed
			row.Backlog, row.InFlight, row.KeysCumulative = n+int64(o), 2, 7*n
			took := []time.Duration{time.Millisecond, 4 * time.Millisecond}[o]
			response, service := results.NewHistogram(), results.NewHistogram()
			for range row.OK {
				row.Service[results.OK].Add(took)
				row.Response[results.OK].Add(took + 2*time.Millisecond)
				results.Record(service, took)
				results.Record(response, took+2*time.Millisecond)
			}
			f.ok(intervals.Write([]results.Interval{row}))
			at := results.Series{Operation: op.Operation, Step: step, Phase: row.Phase}
			at.Timing = results.TimingResponse
			f.ok(lines.Write(time.Unix(row.Second, 0), time.Second, at.Tag(), response))
			at.Timing = results.TimingService
			f.ok(lines.Write(time.Unix(row.Second, 0), time.Second, at.Tag(), service))
			t.Offered, t.Sent, t.OK, t.Failed = t.Offered+row.Due, t.Sent+row.Sent, t.OK+row.OK, t.Failed+row.Failed
		}
	}
	run.Totals = &t
}

func TestMixedLoads(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.mixed("mix")
	f.database("plain", 2*time.Millisecond)
	d, err := newDocument(t.Context(), Options{Folders: []string{f.write()}})
	if err != nil {
		t.Fatal(err)
	}
	r := d.Report
	for name, want := range map[string][2]string{
		"AVG-THROUGHPUT":           {"59 req/sec", "743 req/sec"},
		"MAX-THROUGHPUT":           {"78 req/sec", "990 req/sec"},
		"MIN-THROUGHPUT":           {"40 req/sec", "495 req/sec"},
		"AVG-LATENCY":              {"3.7119 ms", "4.4294 ms"},
		"Latency p50":              {"3.0", "4.4"},
		"Response p50":             {"3.0", "-"},
		"Service p50":              {"1.0", "-"},
		"read: REQUESTS":           {"180 (75 %)", "-"},
		"read: Latency p99":        {"3.0", "-"},
		"update: REQUESTS":         {"60 (25 %)", "-"},
		"update: AVG-LATENCY":      {"6.0000 ms", "-"},
		"update: Latency p50":      {"6.0", "-"},
		"update: ERRORS":           {"conflict 4", "-"},
		"read: ERRORS":             {"0", "-"},
		"write: REQUESTS":          {"-", "6,000 (100 %)"},
		"MAX-BACKLOG":              {"7", "-"},
		"LATENESS p50":             {"0.060 ms, n 240", "-"},
		"LATENESS p99":             {"2.100 ms *, n 240", "-"},
		"LATENESS max":             {"3.500 ms, n 240", "-"},
		"SCHEDULING-LAG p99":       {"1.250 ms *, n 400", "not measured"},
		"WORKLOAD":                 {"ycsb-b", "-"},
		"OPERATION":                {"read 75 %, update 25 %, linearizable", "write"},
		"KEYS":                     {"2,000", "-"},
		"KEY-LAW":                  {"zipfian", "-"},
		"RATE":                     {"40/s due, 80/s due, poisson", "closed loop"},
		"TIMED-FROM":               {fromDue, fromSent},
		"PAYLOAD":                  {"32 + 100..900", "256 + 1024"},
		"RELEASE":                  {"local 3.6.16", "not measured"},
		"40/s due: AVG-THROUGHPUT": {"40 req/sec", "-"},
		"80/s due: AVG-LATENCY":    {"3.6923 ms", "-"},
	} {
		for column, text := range want {
			if got := cell(t, r, name, column).Text; !strings.HasPrefix(got, text) {
				t.Errorf("%s of column %d = %q, want %q", name, column, got, text)
			}
		}
	}
	text := r.Text()
	for _, want := range []string{
		"latencies of mix are response times", "latencies of plain are service times of a closed loop",
		"UNEQUAL operations or read modes: mix: read 75 %, update 25 %, linearizable; plain: write",
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
	for _, f := range d.figures() {
		if strings.Contains(f.Name, "PERCENTILES") || strings.Contains(f.Name, "HEAT") || f.Name == "BACKLOG" {
			figures = append(figures, f.Name)
		}
	}
	if diff := cmp.Diff([]string{
		"LATENCY-PERCENTILES", "LATENCY-PERCENTILES-BY-STEP-mix", "LATENCY-PERCENTILES-BY-OPERATION-mix", "LATENCY-PERCENTILES-BY-STEP-plain",
		"LATENCY-HEAT-mix", "LATENCY-HEAT-plain", "BACKLOG",
	}, figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// A heat map holds every answered request once, in the row of its latency.
func TestHeatMapHoldsEveryRequest(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.mixed("mix")
	columns, err := readFolder(f.write())
	if err != nil {
		t.Fatal(err)
	}
	g, lines := columns[0].heat.grid(1)
	var sums []float64
	for i, rows := range g.Counts {
		sum := 0.0
		for row, n := range rows {
			if sum += n; n > 0 && !(g.Y[row] <= 3 && 3 < g.Y[row+1]) && !(g.Y[row] <= 6 && 6 < g.Y[row+1]) {
				t.Errorf("%v requests of second %d between %v and %v ms", n, i, g.Y[row], g.Y[row+1])
			}
		}
		sums = append(sums, sum)
	}
	if diff := cmp.Diff([]float64{40, 40, 78, 78}, sums); diff != "" {
		t.Errorf("requests by second (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{0, 1, 2, 3, 4}, g.X); diff != "" {
		t.Error(diff)
	}
	if lines[1].Name != "p90" || len(lines[0].Y) != 4 {
		t.Errorf("lines %+v", lines)
	}
	for length, want := range map[int64]int64{1: 1, 120: 1, 121: 2, 3600: 30, 86_400: 900, 1_000_000: 10_800} {
		if got := binSeconds(length); got != want {
			t.Errorf("%d s in bins of %d s, want %d", length, got, want)
		}
	}
}

// Nothing in a report names a folder of the machine it was made on.
func TestReportsNameNoLocalPath(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.m.Config = []byte(`{"path": "/home/somebody/experiments/mix.yaml"}`)
	f.mixed("mix")
	dir := f.write()
	f.ok(os.Remove(filepath.Join(dir, "mix", results.FileErrors)))
	f.ok(os.Mkdir(filepath.Join(dir, "mix", results.FileErrors), 0o755)) // unreadable, for root too
	r, err := run(t, Options{Folders: []string{dir, filepath.Join(dir, "none")}, Out: filepath.Join(dir, "report")})
	if err != nil {
		t.Fatal(err)
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

// Five databases fit a terminal of 160 columns, however long their cells are.
func TestFiveDatabasesFitATerminal(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	for i, tag := range []string{"etcd-v3.6.16", "zookeeper-r3.9.5", "consul-v1.21.0", "zetcd-v0.0.5", "cetcd-tip"} {
		run := f.database(tag, time.Duration(i+1)*3*time.Millisecond)
		run.Fsync = []string{"fdatasync of the log by a quorum before a write is answered", "none: forceSync=no, a write lives in the page cache"}[i%2]
		run.Totals.Sent, run.Totals.Offered = 12_345_678, 12_345_678
		run.Keys = &results.Keys{After: 12_345_678, MinAdded: 12_345_678, MaxAdded: 12_345_678}
		run.Validity = []results.Mark{{Code: "shared host", Text: "the client and at least one member share a machine: they compete for its processors, disk and network"}}
		run.Members[0].Version = "3.6." + strings.Repeat("9", i+1)
	}
	text := tabulate(t, f.write()).Text()
	if testing.Verbose() {
		t.Log("\n" + text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > tableWidth {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"short", "short"},
		{"one two three", "one two\n  three"},
		{"averyveryverylongword here", "averyveryv\n  erylongw\n  ord here"},
	} {
		if got := fold(test.in, 10, "  "); got != test.want {
			t.Errorf("fold(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestBoundaries(t *testing.T) {
	start := time.Unix(begin, 0)
	load := func(tag string, key int, starts ...time.Duration) *column {
		c := &column{tag: tag, key: key, run: &results.DatabaseRun{}, window: span{from: start.UnixNano()}}
		for i, s := range starts {
			c.run.Steps = append(c.run.Steps, results.Step{Index: i, Clients: 10 * (i + 1), Start: start.Add(s)})
			c.seconds = append(c.seconds, second{unix: begin + int64(s/time.Second), clients: 10 * (i + 1)})
		}
		return c
	}
	texts := func(columns ...*column) (out []string) {
		for _, b := range (&document{columns: columns}).boundaries() {
			out = append(out, fmt.Sprintf("%v %s %d", b.X, b.Label, b.Key))
		}
		return out
	}
	a, b := load("a", 1, 0, 8*time.Second), load("b", 2, 0, 8900*time.Millisecond)
	late, again := load("late", 3, 0, 12*time.Second), load("late", 3, 0, 20*time.Second)
	for _, test := range []struct {
		name    string
		columns []*column
		want    []string
	}{
		{"one", []*column{a}, []string{"0 10 clients 0", "8 20 clients 0"}},
		{"shared", []*column{a, b}, []string{"0 10 clients 0", "8 20 clients 0"}},
		{"of their own", []*column{a, late}, []string{"0 10 clients 1", "8 20 clients 1", "0 10 clients 3", "12 20 clients 3"}},
		{"of one colour", []*column{late, again}, nil},
		{"of one step", []*column{load("c", 1, 0)}, nil},
	} {
		if diff := cmp.Diff(test.want, texts(test.columns...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
