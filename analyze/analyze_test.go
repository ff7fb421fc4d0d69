package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tree is every file below dir with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write anew with -update:\n%s", name, diff)
	}
}

// run analyzes with few plots and without PNG files, which take long to make.
func run(t *testing.T, o Options) (*Report, error) {
	t.Helper()
	o.Plots = []config.Plot{{Column: "AVG-CPU", XAxis: "Second", YAxis: "Average CPU(%)"}}
	return draw(t, o, "")
}

// draw analyzes with a PNG file of one figure only.
func draw(t *testing.T, o Options, whole string) (*Report, error) {
	t.Helper()
	d, err := newDocument(t.Context(), o)
	if err != nil {
		return nil, err
	}
	d.out.draw = func(dir string, f figure.Figure) (paths []string, err error) {
		if f.Name == whole {
			return figure.Write(dir, f)
		}
		for extension, draw := range map[string]func(io.Writer, figure.Figure) error{".svg": figure.SVG, ".csv": figure.CSV} {
			var b bytes.Buffer
			path := filepath.Join(dir, f.Name+extension)
			paths = append(paths, path)
			err = errors.Join(err, draw(&b, f), os.WriteFile(path, b.Bytes(), 0o644))
		}
		return paths, err
	}
	return d.Report, d.write(t.Context())
}

// tabulate analyzes folders without writing anything.
func tabulate(t *testing.T, folders ...string) *Report {
	t.Helper()
	d, err := newDocument(t.Context(), Options{Folders: folders})
	if err != nil {
		t.Fatal(err)
	}
	return d.Report
}

// cell is one cell of a report.
func cell(t *testing.T, r *Report, name string, column int) Cell {
	t.Helper()
	for _, row := range r.Table.Rows {
		if row.Name == name {
			return row.Cells[column]
		}
	}
	t.Fatalf("no row %q", name)
	return Cell{}
}

func TestReportOfTwoDatabases(t *testing.T) {
	r, err := draw(t, Options{Folders: []string{twoDatabases(t)}}, "LATENCY-HEAT-etcd-v3.6")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "two.txt", r.Text())
	files := tree(t, r.Dir)
	golden(t, "two.csv", files["all-aggregated.csv"])
	golden(t, "two-series.csv", files["etcd-v3.6-all-aggregated.csv"])
	golden(t, "two-memory.csv", files["etcd-v3.6-server-memory-by-key-number.csv"])
	golden(t, "two-clients.csv", files["AVG-THROUGHPUT-BY-CLIENT-NUM-aggregated.csv"])
	golden(t, "two.md", files["README.md"])
	for _, name := range []string{
		"AVG-LATENCY-MS", "AVG-THROUGHPUT", "AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES", "AVG-CPU", "MAX-CPU", "AVG-VMRSS-MB",
		"AVG-READS-COMPLETED-DELTA", "AVG-SECTORS-READ-DELTA", "AVG-WRITES-COMPLETED-DELTA", "AVG-SECTORS-WRITTEN-DELTA", "AVG-READ-BYTES-NUM-DELTA",
		"AVG-WRITE-BYTES-NUM-DELTA", "AVG-RECEIVE-BYTES-NUM-DELTA", "AVG-TRANSMIT-BYTES-NUM-DELTA",
		"AVG-LATENCY-MS-BY-KEY", "AVG-LATENCY-MS-BY-KEY-ERROR-POINTS", "AVG-VMRSS-MB-BY-KEY", "AVG-VMRSS-MB-BY-KEY-ERROR-POINTS",
		"AVG-READ-BYTES-NUM-DELTA-BY-KEY", "AVG-WRITE-BYTES-NUM-DELTA-BY-KEY",
		"LATENCY-PERCENTILES", "LATENCY-PERCENTILES-BY-STEP-etcd-v3.6", "LATENCY-PERCENTILES-BY-STEP-slow-v3.6",
		"LATENCY-HEAT-etcd-v3.6", "LATENCY-HEAT-slow-v3.6", "AVG-THROUGHPUT-BY-CLIENTS", "AVG-LATENCY-MS-BY-CLIENTS", "NETWORK-TRAFFIC",
	} {
		for _, extension := range []string{".svg", ".csv"} {
			if files[name+extension] == "" {
				t.Errorf("%s%s was not written", name, extension)
			}
		}
		if !strings.Contains(files["README.md"], "("+name+".svg)") {
			t.Errorf("the README does not show %s", name)
		}
	}
	if !strings.HasPrefix(files["LATENCY-HEAT-etcd-v3.6.png"], "\x89PNG") {
		t.Error("no picture was drawn")
	}
	if page := files["report.html"]; strings.Contains(page, "<script") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("report.html needs something besides itself")
	}
	if r.Valid() {
		t.Error("a run with keys missing is valid")
	}
	var machine struct {
		Valid bool
		Table Table
	}
	if err := json.Unmarshal([]byte(files["all-aggregated.json"]), &machine); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*r.Table, machine.Table); diff != "" || machine.Valid {
		t.Errorf("all-aggregated.json, valid %v (-table +json):\n%s", machine.Valid, diff)
	}
}

func TestSameBytesTwiceAndRecordsUntouched(t *testing.T) {
	dir := twoDatabases(t)
	before := tree(t, dir)
	r, err := run(t, Options{Folders: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	once := tree(t, dir)
	if _, err := run(t, Options{Folders: []string{dir}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, tree(t, dir)); diff != "" {
		t.Errorf("the second analysis differs:\n%s", diff)
	}
	for name, content := range before {
		if once[name] != content {
			t.Errorf("record %s was changed", name)
		}
	}
	for _, path := range r.Files {
		if inside, _ := filepath.Rel(dir, path); !strings.HasPrefix(inside, results.DirReport+"/") {
			t.Errorf("%s was written outside the report", inside)
		}
	}
	for _, out := range []string{dir, filepath.Join(dir, "etcd-v3.6")} {
		if _, err := run(t, Options{Folders: []string{dir}, Out: out}); err == nil || !strings.Contains(err.Error(), "among the records") {
			t.Errorf("writing into %s: %v", out, err)
		}
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Text(), tabulate(t, moved).Text()); diff != "" {
		t.Errorf("a moved folder gives another report:\n%s", diff)
	}
}

func TestSeveralFoldersBecomeColumns(t *testing.T) {
	first, second := twoDatabases(t), twoDatabases(t)
	r := tabulate(t, first, second)
	var tags []string
	for _, c := range r.Table.Columns {
		tags = append(tags, c.Tag)
	}
	if diff := cmp.Diff([]string{"etcd-v3.6", "slow-v3.6", "etcd-v3.6 #2", "slow-v3.6 #2"}, tags); diff != "" {
		t.Error(diff)
	}
	if want := filepath.Join(filepath.Dir(filepath.Dir(first)), results.DirReport); r.Dir != want {
		t.Errorf("report in %s, want %s", r.Dir, want)
	}
}

func TestPartialSets(t *testing.T) {
	remove := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, n := range names {
				if err := os.Remove(filepath.Join(dir, "etcd-v3.6", n)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	change := func(edit func(*results.Manifest)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			folder, err := results.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			m, err := folder.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			edit(m)
			if err := folder.WriteManifest(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	appendTo := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "etcd-v3.6", name), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(text)
				f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	sound := twoDatabases(t)
	for _, test := range []struct {
		name  string
		hurt  func(*testing.T, string)
		gap   string            // a mark says
		cells map[string]string // of the first column
	}{
		{"a server's samples are missing", remove(results.ServerFile(2)), "2-server-system-metrics.csv is missing",
			map[string]string{"SERVER-MAX-CPU-USAGE": "not measured", "SERVER-CPU-SECONDS": "not measured", "AVG-THROUGHPUT": "743 req/sec"}},
		{"the client's samples are missing", remove(results.FileClient), "client-system-metrics.csv is missing",
			map[string]string{"CLIENT-MAX-CPU-USAGE": "not measured", "AVG-THROUGHPUT": "743 req/sec"}},
		{"no total histograms", remove(results.FileTotal), "latency-total.hlog is missing", // the seconds' are summed
			map[string]string{"Latency p99": "6.852607 ms", "AVG-LATENCY": "4.4294 ms"}},
		{"no histograms of seconds", remove(results.FileLatency), "latency.hlog is missing",
			map[string]string{"Latency p99": "6.852607 ms", "AVG-LATENCY": "4.4294 ms"}},
		{"no histograms", remove(results.FileTotal, results.FileLatency), "latency-total.hlog is missing",
			map[string]string{"Latency p99": "not measured", "AVG-LATENCY": "4.4294 ms"}},
		{"no errors", remove(results.FileErrors), "errors.csv is missing",
			map[string]string{"CLIENT-ERROR-COUNT": "59", "FAILED": "59"}},
		{"nothing of the load", remove(results.FileIntervals, results.FileTotal, results.FileLatency), "intervals.csv is missing",
			map[string]string{"AVG-LATENCY": "not measured", "AVG-THROUGHPUT": "not measured", "MAX-THROUGHPUT": "not measured", "OK": "5,941"}},
		{"a row cut short", appendTo(results.FileIntervals, "18000"), "intervals.csv: incomplete last line dropped",
			map[string]string{"AVG-THROUGHPUT": "743 req/sec"}},
		{"an unreadable row", appendTo(results.ServerFile(1), "x,y\n"), "1-server-system-metrics.csv is unreadable from line 18 on",
			map[string]string{"SERVER-MAX-CPU-USAGE": "258.00 %"}},
		{"an interrupted run", change(func(m *results.Manifest) {
			d := m.Databases[0]
			d.State, d.Totals, d.Keys, d.LoadEnd, d.Steps[1].End = results.StateInterrupted, nil, nil, time.Time{}, time.Time{}
		}), "the run is interrupted", map[string]string{"OK": "5,941", "FAILED": "59", "MIN-THROUGHPUT": "495 req/sec", "KEYS-FOUND": "not measured"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			test.hurt(t, dir)
			r := tabulate(t, dir)
			if !strings.Contains(r.Text(), test.gap) {
				t.Errorf("no word of %q in\n%s", test.gap, r.Text())
			}
			for name, want := range test.cells {
				if got := cell(t, r, name, 0); !strings.HasPrefix(got.Text, want) || (want == "not measured") != (got.Missing != "") {
					t.Errorf("%s = %+v, want %s", name, got, want)
				}
			}
		})
	}
	if _, err := Run(t.Context(), Options{Folders: []string{t.TempDir()}}); err == nil {
		t.Error("an empty folder is a report")
	}
	if _, err := Run(t.Context(), Options{}); err == nil {
		t.Error("no folder is a report")
	}
	r := tabulate(t, sound, filepath.Join(t.TempDir(), "none"))
	if !strings.Contains(r.Text(), "none cannot be read") {
		t.Errorf("no word of the folder that is missing:\n%s", r.Text())
	}
}

func TestPercentilesOfFewRequestsAreMarked(t *testing.T) {
	for _, test := range []struct {
		n    int
		sure []string // all others up to p99.99 are marked
	}{
		{1, nil},
		{5, nil},
		{99, []string{"p10", "p25", "p50", "p75"}},
		{100, []string{"p10", "p25", "p50", "p75", "p90"}},
		{1000, []string{"p10", "p25", "p50", "p75", "p90", "p95", "p99"}},
		{100_000, []string{"p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"}},
	} {
		h := results.NewHistogram()
		var l results.Latency
		for i := range test.n {
			d := time.Duration(i+1) * time.Microsecond
			results.Record(h, d)
			l.Add(d)
		}
		d := distributionOf(l, h)
		var sure []string
		for _, p := range percentiles {
			c := percentile(d, p.q)
			if c.Value == nil || *c.Value <= 0 {
				t.Errorf("n=%d: %s = %+v", test.n, p.name, c)
				continue
			}
			// Request i took i us: the value is the rank, give or take rounding it and
			// the histogram's 0.1 %.
			if want := p.q * float64(test.n) / 1000; math.Abs(*c.Value-want) > .001+want/500 {
				t.Errorf("n=%d: %s = %v ms, want %v", test.n, p.name, *c.Value, want)
			}
			marked := strings.HasSuffix(c.Text, " *")
			if marked != (len(c.Marks) == 1) {
				t.Errorf("n=%d: %s = %+v", test.n, p.name, c)
			}
			if !marked {
				sure = append(sure, p.name)
			}
		}
		if diff := cmp.Diff(test.sure, sure); diff != "" {
			t.Errorf("n=%d: percentiles without a mark (-want +got):\n%s", test.n, diff)
		}
	}
}

func TestOfferedPercentilesCountWhatWasNeverAnswered(t *testing.T) {
	answered, failed := results.NewHistogram(), results.NewHistogram()
	var ok results.Latency
	for range 900 {
		results.Record(answered, time.Millisecond)
		ok.Add(time.Millisecond)
	}
	for range 50 {
		results.Record(failed, 5*time.Second)
	}
	d := offeredDistribution(ok, answered, unanswered{h: failed, n: 50, least: int64(10 * time.Second)})
	for q, want := range map[float64]string{.50: "1.0", .90: "1.0", .92: ">= 4999.", .96: ">= 9999."} {
		if got := percentile(d, q).Text; !strings.HasPrefix(got, want) {
			t.Errorf("p%v = %s, want %s...", q*100, got, want)
		}
	}
}

// However soon requests fail, what was offered is no better than what was answered.
func TestOfferedPercentilesAreNotBelowThoseOfTheAnswered(t *testing.T) {
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 1))
		h, failed := results.NewHistogram(), results.NewHistogram()
		var ok results.Latency
		for range draw.IntN(200) {
			took := time.Duration(1 + draw.Int64N(int64(time.Second)))
			results.Record(h, took)
			ok.Add(took)
		}
		for range draw.IntN(200) { // as soon, later, or at once
			results.Record(failed, time.Duration(1+draw.Int64N([]int64{int64(time.Second), int64(time.Minute), 1000}[seed%3])))
		}
		lost := unanswered{h: failed, n: draw.Int64N(50), least: int64(time.Second)}
		response, offered := distributionOf(ok, h), offeredDistribution(ok, h, lost)
		before, slowest := 0.0, float64(ok.MaxNS)/1e6
		for _, p := range percentiles {
			all, why := offered.quantile(p.q)
			if why != "" {
				continue
			}
			if answered, why := response.quantile(p.q); why == "" && all.ms < answered.ms {
				t.Errorf("seed %d: offered %s is %v ms, of the answered %v", seed, p.name, all.ms, answered.ms)
			}
			if all.ms < before || all.atLeast && all.ms < slowest {
				t.Errorf("seed %d: offered %s is %v ms, one below it %v, the slowest answered %v", seed, p.name, all.ms, before, slowest)
			}
			before = all.ms
		}
	}
}

func TestRatedLoadsTellResponseFromService(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.rate = 750
	f.database("etcd-v3.6", 2*time.Millisecond)
	r := tabulate(t, f.write())
	for name, want := range map[string]string{
		"AVG-LATENCY": "5.4294 ms", "AVG-SERVICE": "4.4294 ms", "FASTEST-LATENCY": "3.0000 ms",
		"Latency p50": "5.4", "Service p50": "4.4", "Offered p50": "5.", "Offered p99": ">= 9999.", "UNSENT": "100", "OFFERED": "6,100",
		"INSIDE-SHARE": "",
	} {
		if want == "" {
			for _, row := range r.Table.Rows {
				if row.Name == name {
					t.Errorf("%s = %s at a rate", name, row.Cells[0].Text)
				}
			}
			continue
		}
		if got := cell(t, r, name, 0).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s = %s, want %s...", name, got, want)
		}
	}
}

func TestGapsAreNotZeroAndNotCountedTwice(t *testing.T) {
	columns, err := readFolder(twoDatabases(t))
	if err != nil {
		t.Fatal(err)
	}
	s := newSeries(columns[0])
	// The second member missed the load's fourth second; the next sample spans it.
	for name, want := range map[string][]float64{
		"WRITES-COMPLETED-DELTA-1":   {100, 100, 100, 100, 100, 100, 100, 100, 100},
		"WRITES-COMPLETED-DELTA-2":   {100, 100, 100, math.NaN(), 100, 100, 100, 100, 100},
		"AVG-WRITES-COMPLETED-DELTA": {100, 100, 100, math.NaN(), 100, 100, 100, 100, 100},
		"MAX-CPU":                    {300, 301, 302, math.NaN(), 304, 305, 306, 307, 308},
		"AVG-THROUGHPUT":             {248, 495, 495, 495, 743, 990, 990, 990, 495},
		"CONTROL-CLIENT-NUM":         {10, 10, 10, 10, 50, 50, 50, 50, 50},
	} {
		got := s.column(name)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-6 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The sum over the load still has the missed second.
	v, _, _, why := columns[0].serverSum(apart, ownWrites)
	if why != "" || v != 9*1000*2+9*2000*2 {
		t.Errorf("own writes = %v %s, want %d", v, why, 9*1000*2+9*2000*2)
	}
}

func TestSharedSourcesCountOnce(t *testing.T) {
	r := tabulate(t, twoDatabases(t))
	c := cell(t, r, "SERVER-TOTAL-NETWORK-RX-DATA-SUM", 0)
	if c.Value == nil || *c.Value != 9e6 {
		t.Errorf("received = %+v, want 9 s of one interface, 9e6", c)
	}
	if diff := cmp.Diff([]string{"shared by 2 members + client: counted once"}, c.Marks); diff != "" {
		t.Error(diff)
	}
}

func TestTwoStepsInOneSecondKeepTheirWeights(t *testing.T) {
	columns, err := readFolder(twoDatabases(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range columns[0].byClients() {
		want := map[int]float64{10: 495.25, 50: 990}[g.clients]
		if got := g.value(newSeries(columns[0]), "AVG-THROUGHPUT"); got != want {
			t.Errorf("%d clients: %v requests/s, want %v", g.clients, got, want)
		}
	}
	var a sums
	a.add(sums{count: 56, sum: 56 * .81, min: .1, max: 2})
	a.add(sums{count: 1634, sum: 1634 * 5.77, min: .2, max: 9})
	if mean := a.sum / a.count; math.Abs(mean-5.606) > .001 {
		t.Errorf("mean of two steps = %v", mean)
	}
}
