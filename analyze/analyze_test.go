package analyze

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/analyze/table"
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
		t.Fatalf("read the file: %v", err)
	}
	return files
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), write anew with -update:\n%s", name, diff)
	}
}

// analyzed analyzes with few plots and without PNG files, which take long to make.
func analyzed(t *testing.T, o Options) (*Report, error) {
	t.Helper()
	o.Plots = []chart.Plot{{Column: "AVG-CPU", XAxis: "Second", YAxis: "Average CPU(%)"}}
	o.Seconds = true
	return draw(t, o, "")
}

// draw analyzes with a PNG file for only one figure.
func draw(t *testing.T, o Options, whole string) (*Report, error) {
	t.Helper()
	for _, p := range config.DefaultPlots() {
		if whole != "" {
			o.Plots = append(o.Plots, chart.Plot(p))
		}
	}
	d, err := newDocument(t.Context(), o)
	if err != nil {
		return nil, err
	}
	d.out.draw = func(pictures, data string, f figure.Figure, _ bool) (paths []string, err error) {
		return figure.Write(pictures, data, f, f.Name == whole)
	}
	return d.Report, d.write(t.Context())
}

// tabulate analyzes folders without writing anything.
func tabulate(t *testing.T, folders ...string) *Report {
	t.Helper()
	d, err := newDocument(t.Context(), Options{Folders: folders})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	return d.Report
}

// cell returns one cell in a report.
func cell(t *testing.T, r *Report, name string, column int) table.Cell {
	t.Helper()
	for _, row := range r.Table.Rows {
		if row.Name == name {
			return row.Cells[column]
		}
	}
	t.Fatalf("no row %q", name)
	return table.Cell{}
}

func TestReportOfTwoDatabases(t *testing.T) {
	r, err := draw(t, Options{Folders: []string{runtest.TwoDatabases(t)}, Seconds: true}, "LATENCY-HEAT-etcd-v3.6")
	if err != nil {
		t.Fatalf("draw the figure: %v", err)
	}
	golden(t, "two.txt", r.Text())
	files := tree(t, r.Dir)
	golden(t, "two.csv", files["all-aggregated.csv"])
	golden(t, "two-series.csv", files["data/etcd-v3.6-all-aggregated.csv"])
	golden(t, "two-memory.csv", files["data/etcd-v3.6-server-memory-by-key-number.csv"])
	golden(t, "two-clients.csv", files["data/AVG-THROUGHPUT-BY-CLIENT-NUM-aggregated.csv"])
	golden(t, "two.md", files["README.md"])
	for _, name := range []string{
		"AVG-LATENCY-MS", "AVG-THROUGHPUT", "AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES", "AVG-CPU", "MAX-CPU", "AVG-VMRSS-MB",
		"AVG-READS-COMPLETED-DELTA", "AVG-SECTORS-READ-DELTA", "AVG-WRITES-COMPLETED-DELTA", "AVG-SECTORS-WRITTEN-DELTA", "AVG-READ-BYTES-NUM-DELTA",
		"AVG-WRITE-BYTES-NUM-DELTA", "AVG-RECEIVE-BYTES-NUM-DELTA", "AVG-TRANSMIT-BYTES-NUM-DELTA",
		"AVG-LATENCY-MS-BY-KEY", "AVG-LATENCY-MS-BY-KEY-ERROR-POINTS", "AVG-VMRSS-MB-BY-KEY", "AVG-VMRSS-MB-BY-KEY-ERROR-POINTS",
		"AVG-READ-BYTES-NUM-DELTA-BY-KEY", "AVG-WRITE-BYTES-NUM-DELTA-BY-KEY",
		"LATENCY-PERCENTILES", "LATENCY-PERCENTILES-BY-STEP-etcd-v3.6", "LATENCY-PERCENTILES-BY-STEP-slow-v3.6",
		"LATENCY-HEAT-etcd-v3.6", "LATENCY-HEAT-slow-v3.6", "AVG-THROUGHPUT-BY-CLIENTS", "AVG-LATENCY-MS-BY-CLIENTS", "P99-BY-CLIENTS", "NETWORK-TRAFFIC",
		"AVG-CPU-BY-CLIENTS", "AVG-WRITE-BYTES-NUM-DELTA-BY-CLIENTS", "LATENCY-BOXES", "FAILURES",
	} {
		for _, file := range []string{"figures/" + name + ".svg", "data/" + name + ".csv"} {
			if files[file] == "" {
				t.Errorf("%s was not written", file)
			}
		}
	}
	if !strings.HasPrefix(files["figures/LATENCY-HEAT-etcd-v3.6.png"], "\x89PNG") {
		t.Error("no picture was drawn")
	}
	if page := files["report.html"]; strings.Contains(page, "<script src") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("report.html needs something besides itself")
	}
	if r.Valid() {
		t.Error("a run with keys missing is valid")
	}
	var machine struct {
		Valid bool
		Table table.Table
	}
	if err := json.Unmarshal([]byte(files["all-aggregated.json"]), &machine); err != nil {
		t.Fatalf("decode the JSON: %v", err)
	}
	if diff := cmp.Diff(*r.Table, machine.Table); diff != "" || machine.Valid {
		t.Errorf("all-aggregated.json, valid %v (-table +json):\n%s", machine.Valid, diff)
	}
}

func TestSameBytesTwiceAndRecordsUntouched(t *testing.T) {
	dir := runtest.TwoDatabases(t)
	before := tree(t, dir)
	r, err := analyzed(t, Options{Folders: []string{dir}})
	if err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	once := tree(t, dir)
	if _, err := analyzed(t, Options{Folders: []string{dir}}); err != nil {
		t.Fatalf("analyze the runs: %v", err)
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
		if _, err := analyzed(t, Options{Folders: []string{dir}, Out: out}); err == nil || !strings.Contains(err.Error(), "among the records") {
			t.Errorf("writing into %s: %v", out, err)
		}
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatalf("copy the folder: %v", err)
	}
	if diff := cmp.Diff(r.Text(), tabulate(t, moved).Text()); diff != "" {
		t.Errorf("a moved folder gives another report:\n%s", diff)
	}
}

func TestSeveralFoldersBecomeColumns(t *testing.T) {
	first, second := runtest.TwoDatabases(t), runtest.TwoDatabases(t)
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
					t.Fatalf("remove the file: %v", err)
				}
			}
		}
	}
	change := func(edit func(*results.Manifest)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			folder, err := results.Open(dir)
			if err != nil {
				t.Fatalf("open the result folder: %v", err)
			}
			m, err := folder.Manifest()
			if err != nil {
				t.Fatalf("read the manifest: %v", err)
			}
			edit(m)
			if err := folder.WriteManifest(m); err != nil {
				t.Fatalf("write the manifest: %v", err)
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
				t.Fatalf("append to the file: %v", err)
			}
		}
	}
	const (
		served = "10 clients: 495 req/sec; 50 clients: 990 req/sec"
		means  = "10 clients: 4.3882 ms; 50 clients: 4.4500 ms"
	)
	sound := runtest.TwoDatabases(t)
	for _, test := range []struct {
		name  string
		hurt  func(*testing.T, string)
		gap   string            // a mark says
		cells map[string]string // in the first column
	}{
		{"a server's samples are missing", remove(results.ServerFile(2)), "2-server-system-metrics.csv is missing",
			map[string]string{"SERVER-MAX-CPU-USAGE": "not measured", "SERVER-CPU-SECONDS": "not measured", "AVG-THROUGHPUT": served}},
		{"the client's samples are missing", remove(results.FileClient), "client-system-metrics.csv is missing",
			map[string]string{"CLIENT-MAX-CPU-USAGE": "not measured", "AVG-THROUGHPUT": served}},
		{"no total histograms", remove(results.FileTotal), "latency-total.hlog is missing", // those by second are summed
			map[string]string{"Latency p99": "10 clients: 6.90 ms; 50 clients: 6.90 ms", "AVG-LATENCY": means}},
		{"no histograms of seconds", remove(results.FileLatency), "latency.hlog is missing",
			map[string]string{"Latency p99": "10 clients: 6.90 ms; 50 clients: 6.90 ms", "AVG-LATENCY": means}},
		{"no histograms", remove(results.FileTotal, results.FileLatency), "latency-total.hlog is missing",
			map[string]string{"Latency p99": "not measured", "AVG-LATENCY": means}},
		{"no errors", remove(results.FileErrors), "errors.csv is missing",
			map[string]string{"CLIENT-ERROR-COUNT": "59", "FAILED": "59"}},
		{"nothing of the load", remove(results.FileIntervals, results.FileTotal, results.FileLatency), "intervals.csv is missing",
			map[string]string{"AVG-LATENCY": "not measured", "AVG-THROUGHPUT": "not measured", "MAX-THROUGHPUT": "not measured", "OK": "5,941"}},
		{"a row cut short", appendTo(results.FileIntervals, "18000"), "intervals.csv: incomplete last line dropped",
			map[string]string{"AVG-THROUGHPUT": served}},
		{"no ticks, as in older formats", remove(results.FileProgress), "",
			map[string]string{"AVG-THROUGHPUT": served, "MAX-THROUGHPUT": "not recorded then", "MIN-THROUGHPUT": "not recorded then", "AVG-LATENCY": means}},
		{"an unreadable row", appendTo(results.ServerFile(1), "x,y\n"), "1-server-system-metrics.csv is unreadable from line 18 on",
			map[string]string{"SERVER-MAX-CPU-USAGE": "258.00 %"}},
		{"an interrupted run", change(func(m *results.Manifest) {
			d := m.Databases[0]
			d.State, d.Totals, d.Keys, d.LoadEnd, d.Steps[1].End = results.StateInterrupted, nil, nil, time.Time{}, time.Time{}
		}), "INVALID incomplete: the run was interrupted", map[string]string{"OK": "5,941", "FAILED": "59", "MIN-THROUGHPUT": "10 clients: 495 req/sec; 50 clients: 990", "KEYS-FOUND": "not measured"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatalf("copy the folder: %v", err)
			}
			test.hurt(t, dir)
			r := tabulate(t, dir)
			if !strings.Contains(r.Text(), test.gap) {
				t.Errorf("no word of %q in\n%s", test.gap, r.Text())
			}
			for name, want := range test.cells {
				if got := cell(t, r, name, 0); !strings.HasPrefix(got.Text, want) || strings.HasPrefix(want, "not ") != (got.Missing != "") {
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

func TestRatedLoadsTellResponseFromService(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Rate, f.Alike = 750, true
	f.Database("etcd-v3.6", 2*time.Millisecond)
	r := tabulate(t, f.Write())
	for name, want := range map[string]string{
		"AVG-LATENCY": "5.4294 ms", "AVG-SERVICE": "4.4294 ms", "FASTEST-LATENCY": "3.0000 ms",
		"Latency p50": "5.4", "Latency p90": "7.5", "Latency p90, ok only": "7.4", "Service p50": "4.4", "Latency p95": "7.8", "Latency p99": ">= 10,000 ms", "Latency p99.9": "not answered", "SLOWEST-LATENCY": "not answered",
		"Latency p99, ok only": "7.8", "UNSENT": "100", "OFFERED": "6,100",
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

func TestSharedSourcesCountOnce(t *testing.T) {
	r := tabulate(t, runtest.TwoDatabases(t))
	c := cell(t, r, "SERVER-TOTAL-NETWORK-RX-DATA-SUM", 0)
	if c.Value == nil || *c.Value != 9e6 {
		t.Errorf("received = %+v, want 9 s of one interface, 9e6", c)
	}
	if diff := cmp.Diff([]string{"shared by 2 members + client: counted once"}, c.Marks); diff != "" {
		t.Error(diff)
	}
}
