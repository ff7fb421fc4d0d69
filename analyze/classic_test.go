package analyze

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/google/go-cmp/cmp"
)

// classicDirectory returns a folder with a run by the classic tool and its tables.
func classicDirectory(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DBTESTER_CLASSIC_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "classic")
	}
	dir = filepath.Join(dir, "results-write-60k")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("DBTESTER_CLASSIC_DIR: %v", err)
		}
		t.Skipf("no classic results: %v", err)
	}
	return dir
}

// classicExperiment is the classic file for that run.
func classicExperiment(dir, out string) *Classic {
	const tag = "etcd-v3.6.x-go1.26"
	in := func(name string) string { return filepath.Join(dir, "t-"+name) }
	files := map[string]string{}
	for _, name := range []string{
		results.FileClassicSummary, results.FileClassicPercentile, results.FileClassicTimeseries,
		results.FileClassicByKey, results.FileClassicAll, results.FileClientInterpolated, results.FileDisk,
	} {
		files[name] = in(name)
	}
	return &Classic{
		Title: "Write 60K keys", Description: "One member.\n",
		Runs: []ClassicRun{{
			ClassicFiles: run.ClassicFiles{
				Record: &results.DatabaseRun{
					ID: "etcd__v3_3", Database: "etcd", Tag: tag, State: results.StateComplete, Leader: -1,
					Load: results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Requests: 60500, Clients: 50, Connections: 5}, Sizing: workload.Sizing{KeySize: 256, ValueSize: 1024}}},
				},
				Files: files, Servers: []string{in("1-" + results.FileServerInterpolated)},
			},
			Outputs: map[string]string{fileAggregate: filepath.Join(out, "own", "t-all.csv")},
		}},
		Report: ClassicReport{
			TableCSV: filepath.Join(out, "all.csv"), TableTXT: filepath.Join(out, "all.anything"), PlotDir: filepath.Join(out, "plots"),
			README: filepath.Join(out, "README.md"),
			Images: []Image{{Title: "a", Path: "x/AVG-CPU.svg", Type: "local"}, {Title: "b", Path: "https://example.com/b.svg", Type: "remote"}},
		},
	}
}

func TestClassicTableGivesTheClassicValues(t *testing.T) {
	dir, out := classicDirectory(t), t.TempDir()
	r, err := newDocument(t.Context(), Options{Classic: classicExperiment(dir, out)})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	// Every row whose classic value is wrong, with the right value and the reason.
	exceptions := map[string]string{
		// The first and the last second are partial and are not slow ones.
		"MIN-THROUGHPUT": "4,150 req/sec",
		// The classic sum covers the whole file, including start and stop: 89839113.
		"CLIENT-TOTAL-NETWORK-RX-BYTES-SUM-RAW": "89699775.00", "CLIENT-TOTAL-NETWORK-TX-BYTES-SUM-RAW": "89699775.00",
		// The kernel's kB are 1024 bytes, not 1000.
		"SERVER-MAX-MEMORY-USAGE": "114 MB",
		// The classic sum looked for a column that did not exist and was always 0.
		"SERVER-AVG-SECTORS-READS-DELTA-SUM": "6,200",
	}
	f, err := os.Open(filepath.Join(dir, "all-aggregated.csv"))
	if err != nil {
		t.Fatalf("open the file: %v", err)
	}
	defer f.Close()
	want, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("read the CSV: %v", err)
	}
	got := map[string]string{}
	var names []string
	for _, row := range r.Table.Rows {
		got[row.Name] = row.Cells[0].Text
		names = append(names, row.Name)
	}
	for _, record := range want[1:] {
		name, value := record[0], record[1]
		if right, wrong := exceptions[name]; wrong {
			value = right
		}
		if got[name] != value {
			t.Errorf("%s = %q, want %q", name, got[name], value)
		}
	}
	var classic, ours []string
	for _, record := range want[1:] {
		classic = append(classic, record[0])
	}
	for _, n := range names {
		if strings.Contains("\n"+strings.Join(classic, "\n")+"\n", "\n"+n+"\n") {
			ours = append(ours, n)
		}
	}
	if diff := cmp.Diff(classic, ours); diff != "" {
		t.Errorf("order of the classic rows (-classic +ours):\n%s", diff)
	}
}

func TestClassicOutputsGoWhereTheFileSays(t *testing.T) {
	dir, out := classicDirectory(t), t.TempDir()
	e := classicExperiment(dir, out)
	if _, err := analyzed(t, Options{Classic: e}); err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	for _, path := range []string{"all.csv", "all.txt", "all.json", "README.md", "own/t-all.csv", "plots/report.html", "plots/AVG-LATENCY-MS-BY-KEY.svg"} {
		if _, err := os.Stat(filepath.Join(out, path)); err != nil {
			t.Errorf("stat the file: %v", err)
		}
	}
	readme, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	for _, part := range []string{"\n\n<br><br><hr>\n##### Write 60K keys\n", "![a](./AVG-CPU.svg)", `<img src="https://example.com/b.svg" alt="b">`, "AVG-THROUGHPUT |"} {
		if !strings.Contains(string(readme), part) {
			t.Errorf("README lacks %q:\n%s", part, readme)
		}
	}
	e.Report.TableCSV = e.Runs[0].Servers[0]
	if _, err := analyzed(t, Options{Classic: e}); err == nil || !strings.Contains(err.Error(), "one of the records") {
		t.Errorf("writing over an input: %v", err)
	}
}
