package analyze

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/sidecar"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/google/go-cmp/cmp"
)

// names are the rows in a report.
func names(r *Report) (out []string) {
	for _, row := range r.Table.Rows {
		out = append(out, row.Name)
	}
	return out
}

// wantCells checks how the cells in a column begin; one that is not measured must give the reason.
func wantCells(t *testing.T, r *Report, column int, want map[string]string) {
	t.Helper()
	for name, text := range want {
		text, reason, unmeasured := strings.Cut(text, "not measured: ")
		got := cell(t, r, name, column)
		switch {
		case unmeasured && (got.Text != "not measured" || got.Missing != reason || got.Value != nil):
			t.Errorf("%s = %+v, want it not measured: %s", name, got, reason)
		case !unmeasured && (!strings.HasPrefix(got.Text, text) || got.Missing != ""):
			t.Errorf("%s = %+v, want %s", name, got, text)
		}
	}
}

// TestKilledRun: control was killed during the load. The manifest was written when the load
// started, and the members' records were not collected.
func TestKilledRun(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	whole := names(tabulate(t, f.Write()))
	f.M.State, f.M.Ended, record.State = results.StateRunning, time.Time{}, results.StateRunning
	record.LoadStart, record.LoadEnd, record.Steps, record.Totals, record.Keys = time.Time{}, time.Time{}, nil, nil, nil
	for i := range record.Members {
		record.Members[i].Disk, record.Members[i].Clock = nil, nil
		f.Ok(os.Remove(filepath.Join(f.Dir, record.Tag, results.ServerFile(i+1))))
	}
	r := tabulate(t, f.Write())
	if diff := cmp.Diff(slices.DeleteFunc(whole, func(n string) bool { return n == "INSIDE-SHARE-WORST-STEP" }), names(r)); diff != "" {
		t.Errorf("rows of the whole run and of the killed one (-whole +killed):\n%s", diff)
	}
	wantCells(t, r, 0, map[string]string{
		"OK": "5,941", "SHARED-HOST": "2 members + client",
		"KEYS-FOUND":           "not measured: the database's own count of its keys was not recorded",
		"DURABLE":              "not measured: the file systems of the data directories were not recorded",
		"SERVER-CPU-SECONDS":   "not measured: member 1: no samples",
		"MEMBER-MAX-MEMORY":    "not measured: member 1: no samples",
		"DISK-SPACE-ALLOCATED": "not measured: 0 of 2 data directories were measured",
		"INSIDE-SHARE":         "not measured: the time inside calls was not recorded",
		"CLAMPED":              "not measured: only the totals at the end of a run include it",
		"OTHER-CPU-SHARE":      "not measured: no machine was sampled twice during the load",
		"OTHER-WRITTEN-MB":     "not measured: no machine was sampled twice during the load",
	})
	text := strings.Join(strings.Fields(r.Text()), " ")
	for _, want := range []string{"etcd-v3.6: shared host: the client and", "not measured: KEYS-FOUND: the database", "INVALID incomplete: according to the manifest the run has not ended"} {
		if !strings.Contains(text, want) {
			t.Errorf("no word of %q in\n%s", want, r.Text())
		}
	}
}

// TestLostMember: one of two members lost its samples, and the key count is lost too.
func TestLostMember(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	record.Keys.Error = "context deadline exceeded"
	record.Members[0].Addr = "10.0.0.1"
	record.Validity = []results.Mark{{Code: mark.SharedHost, Text: "as control found"}}
	record.Members[1].Disk = nil
	f.Ok(os.Remove(filepath.Join(f.Dir, record.Tag, results.ServerFile(1))))
	r := tabulate(t, f.Write())
	wantCells(t, r, 0, map[string]string{
		"SHARED-HOST":        "2 members + client",
		"DURABLE":            "yes: ext4, fdatasync p50 400 us; not recorded for 1 of 2 members",
		"KEYS-FOUND":         "not measured: context deadline exceeded",
		"SERVER-CPU-SECONDS": "not measured: member 1: no samples",
	})
	if n := strings.Count(r.Text(), "shared host: "); n != 1 {
		t.Errorf("%d marks of a shared host:\n%s", n, r.Text())
	}
	// Not even the agent reported where the member ran.
	record.Members[0].Host = nil
	wantCells(t, tabulate(t, f.Write()), 0, map[string]string{"SHARED-HOST": "1 member + client"})
	record.Members[0].Addr = "127.0.0.9"
	wantCells(t, tabulate(t, f.Write()), 0, map[string]string{"SHARED-HOST": "2 members + client"})
}

// TestNothingWasSent: for a load that did not begin, no count is 0.
func TestNothingWasSent(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.M.Databases = []*results.DatabaseRun{{
		ID: "etcd", Database: "etcd", Tag: "etcd", State: results.StateFailed, Error: "no quorum\nconnection refused", Leader: -1, Built: run.BuiltIn,
		Load:    results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Requests: 100, Clients: 1, Connections: 1}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8}}},
		Members: []results.Member{{Addr: "127.0.0.1", Endpoint: "127.0.0.1:2379"}},
	}}
	r := tabulate(t, f.Write())
	want := map[string]string{"AVG-LATENCY": "not measured: intervals.csv is missing", "KEYS-FOUND": "not measured: the database's own count of its keys was not recorded"}
	for _, name := range []string{"TOTAL-REQUEST-NUMBER", "CLIENT-ERROR-COUNT", "OFFERED", "SENT", "OK", "FAILED", "UNKNOWN", "UNSENT", "ERRORS"} {
		want[name] = "not measured: no request was recorded"
	}
	wantCells(t, r, 0, want)
	wantCells(t, r, 0, map[string]string{"SHARED-HOST": "1 member + client"}) // on a loopback address
	if text := r.Text(); strings.Contains(text, "system-metrics.csv is missing\netcd: gap: 1-") || strings.Contains(strings.Join(names(r), " "), "MEMBER-MAX") {
		t.Errorf("members without agents are missed:\n%s", text)
	}
	if got := r.Table.Columns[0].Text; got != "etcd" || !strings.Contains(r.Text(), "the run failed: no quorum; connection refused") {
		t.Errorf("%s:\n%s", got, r.Text())
	}
	if text := r.Summary(); strings.Contains(text, "0 answered") || !strings.Contains(text, "not measured") {
		t.Errorf("summary:\n%s", text)
	}
}

// TestErrorsWithoutTheirFile: without the file the error count is still known.
func TestErrorsWithoutTheirFile(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	f.Ok(os.Remove(filepath.Join(f.Dir, record.Tag, results.FileErrors)))
	wantCells(t, tabulate(t, f.Write()), 0, map[string]string{"ERRORS": "unrecorded 59"})
}

// Below a class are its messages with their counts, the most frequent first. Records that are
// older than messages have only the first text.
func TestErrorMessages(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	path := filepath.Join(f.Dir, record.Tag, results.FileErrors)
	if text := tabulate(t, f.Write()).Text(); !strings.Contains(text, "\"throttled\" (count 59), first: too many requests\n") || strings.Contains(text, "times: ") {
		t.Errorf("records without messages:\n%s", text)
	}
	w, err := results.NewErrorWriter(path)
	f.Ok(err)
	for i := range 14 {
		f.Ok(w.Write([]results.ErrorCount{{Second: 1, Class: "throttled", Count: int64(i + 1), Message: fmt.Sprintf("reason %c of <N>", 'a'+i)}}))
	}
	f.Ok(w.Close())
	r := tabulate(t, f.Dir)
	text := r.Text()
	var at []int
	for _, want := range []string{`"throttled" (count 164)`, "- 14 times: reason n of <N>", "- 5 times: reason e of <N>", "- 10 times: 4 other messages, see errors.csv"} {
		at = append(at, strings.Index(text, want))
	}
	if !slices.IsSorted(at) || at[0] < 0 || strings.Contains(text, "reason d") {
		t.Errorf("messages with their counts are at %v of:\n%s", at, text)
	}
}

// exported is a run whose classic files were exported, and the classic file that
// names them.
func exported(t *testing.T, f *runtest.Fixture, record *results.DatabaseRun) *Classic {
	t.Helper()
	dir := filepath.Join(f.Write(), record.Tag)
	f.Ok(results.Derive(dir, record))
	in := run.ClassicFiles{Files: map[string]string{}}
	to := t.TempDir()
	export := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		f.Ok(err)
		path := filepath.Join(to, "t-"+name)
		f.Ok(os.WriteFile(path, data, 0o644))
		return path
	}
	for _, name := range []string{results.FileClassicSummary, results.FileClassicPercentile, results.FileClassicTimeseries, results.FileClassicByKey, results.FileClientInterpolated} {
		in.Files[name] = export(name)
	}
	in.Servers = []string{export("1-" + results.FileServerInterpolated), export("2-" + results.FileServerInterpolated)}
	in.Record = stated(record.Tag)
	in.Record.Load = results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Clients: 10}, Sizing: workload.Sizing{KeySize: 256, ValueSize: 1024}}}
	return &Classic{Title: "Write 6K keys", Report: ClassicReport{PlotDir: t.TempDir()}, Runs: []ClassicRun{{ClassicFiles: in}}}
}

// stated returns the record of a run that only has a known tag.
func stated(tag string) *results.DatabaseRun {
	return &results.DatabaseRun{ID: "etcd__v3_6", Database: "etcd", Tag: tag, State: results.StateComplete, Leader: -1}
}

func tabulateClassic(t *testing.T, e *Classic) *Report {
	t.Helper()
	d, err := newDocument(t.Context(), Options{Classic: e})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	return d.Report
}

// TestClassicFilesMissing: a missing file of a classic run is named, and nothing missing counts as
// 0.
func TestClassicFilesMissing(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	e := exported(t, f, record)
	in := e.Runs[0]
	wantCells(t, tabulateClassic(t, e), 0, map[string]string{"OK": "5,941", "ERRORS": "throttled 59", "AVG-LATENCY": "4.4294 ms", "Latency p99": "6.85"})
	for _, test := range []struct {
		file string
		want map[string]string
	}{
		{results.FileClassicPercentile, map[string]string{"Latency p10": "not measured: $ is missing", "Latency p99.9": "not measured: $ is missing", "OK": "5,941"}},
		{results.FileClassicTimeseries, map[string]string{
			"OK": "not measured: $ is missing", "SENT": "not measured: $ is missing", "TOTAL-REQUEST-NUMBER": "not measured: $ is missing", "MAX-THROUGHPUT": "not measured: $ is missing",
			"ERRORS": "throttled 59", "AVG-LATENCY": "4.4294 ms", "AVG-THROUGHPUT": "743", "Latency p99": "6.85", "OFFERED": "not measured: a classic run does not record it",
		}},
		{results.FileClassicSummary, map[string]string{
			"TOTAL-SECONDS": "not measured: $ is missing", "AVG-THROUGHPUT": "not measured: $ is missing", "AVG-LATENCY": "not measured: $ is missing", "STDDEV-LATENCY": "not measured: $ is missing",
			"ERRORS": "not measured: $ is missing", "CLIENT-ERROR-COUNT": "not measured: $ is missing", "TOTAL-REQUEST-NUMBER": "not measured: $ is missing", "OK": "5,941", "Latency p99": "6.85",
		}},
	} {
		path := in.Files[test.file]
		f.Ok(os.Rename(path, path+".away"))
		for name, text := range test.want {
			test.want[name] = strings.ReplaceAll(text, "$", filepath.Base(path))
		}
		wantCells(t, tabulateClassic(t, e), 0, test.want)
		f.Ok(os.Rename(path+".away", path))
	}
}

// TestClassicRunThatCannotBeRead: an unreadable run is an error, or one column less.
func TestClassicRunThatCannotBeRead(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	e := exported(t, f, f.Database("etcd-v3.6", 2*time.Millisecond))
	away := func(name string) string { return filepath.Join(t.TempDir(), name) }
	e.Runs = append(e.Runs, ClassicRun{ClassicFiles: run.ClassicFiles{
		Record: stated("etcd-none"), Files: map[string]string{results.FileClassicSummary: away("summary.csv")}, Servers: []string{away("1.csv")},
	}})
	r := tabulateClassic(t, e)
	if diff := cmp.Diff([]string{"etcd-none"}, r.Unread); diff != "" || !strings.Contains(r.Text(), "etcd-none: gap: none of its files can be read") {
		t.Errorf("unread (-want +got):\n%s%s", diff, r.Text())
	}
	wantCells(t, r, 1, map[string]string{"OK": "not measured: client-latency-throughput-timeseries.csv is not named in the experiment file"})
	e.Runs = e.Runs[1:]
	_, err := Run(t.Context(), Options{Classic: e})
	if err == nil || !strings.Contains(err.Error(), "no file can be read\netcd-none: client-") || !strings.Contains(err.Error(), "summary.csv is missing") {
		t.Errorf("a report of nothing: %v", err)
	}
	if files, err := os.ReadDir(e.Report.PlotDir); len(files) > 0 || err != nil {
		t.Errorf("wrote %v, %v", files, err)
	}
}

// TestClassicSidecar: a classic run gets the facts that its files have no place for from the
// manifest, as in the result folder.
func TestClassicSidecar(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Rate, f.Alike = 750, true
	record := f.Database("etcd-v3.5", 2*time.Millisecond)
	record.Label = "v3_5" // 3.6.16 ran
	record.Validity = []results.Mark{{Code: "unsent", Invalid: true, Text: "100 of 6,100 requests"}, {Code: mark.SharedHost, Text: "as control found"}}
	f.M.Validity = []results.Mark{{Code: "self-check", Text: "of another machine"}}
	e := exported(t, f, record)
	plain := tabulateClassic(t, e)
	if got := plain.Table.Columns[0].Text; got != "etcd-v3.5" || len(plain.Marks) == 0 || !plain.Valid() {
		t.Errorf("without what control left: %s, %+v", got, plain.Marks)
	}
	summary := e.Runs[0].Files[results.FileClassicSummary]
	f.Ok(sidecar.Write(summary, f.M))
	r, folder := tabulateClassic(t, e), tabulate(t, f.Dir)
	if got := r.Table.Columns[0].Text; got != "etcd-v3.5 (ran 3.6.16)" || r.Valid() {
		t.Errorf("header %s, marks %v", got, r.Marks)
	}
	var marks []run.Mark
	for _, m := range r.Marks {
		if m.Code == "unsent" || m.Code == mark.SharedHost || m.Code == "self-check" {
			marks = append(marks, m)
		}
	}
	if len(marks) != 3 {
		t.Errorf("marks %v", r.Marks)
	}
	for _, name := range []string{
		"TOTAL-SECONDS", "TOTAL-REQUEST-NUMBER", "AVG-THROUGHPUT", "VERSION", "MEMBERS", "LEADER", "FSYNC", "DURABLE", "SHARED-HOST",
		"OFFERED", "SENT", "OK", "FAILED", "UNSENT", "QUEUED", "KEYS-FOUND", "ERRORS", "CLIENT-ERROR-COUNT", "TIMED-FROM", "RATE", "CLIENTS", "SERVER-AVG-DISK-SPACE-USAGE", "DISK-SPACE-ALLOCATED",
	} {
		if got, want := cell(t, r, name, 0), cell(t, folder, name, 0); got.Text != want.Text {
			t.Errorf("%s = %q, in the result folder %q", name, got.Text, want.Text)
		}
	}
	if text := r.Text(); strings.Contains(text, "the members were not asked") || !strings.Contains(text, "INVALID unsent") {
		t.Errorf("table:\n%s", text)
	}
	// Files of another run lie there now.
	data, err := os.ReadFile(summary)
	f.Ok(err)
	f.Ok(os.WriteFile(summary, append(data, '\n'), 0o644))
	if r := tabulateClassic(t, e); r.Table.Columns[0].Text != "etcd-v3.5" || !strings.Contains(r.Text(), "summary.run.json is not used: ") {
		t.Errorf("beside another run:\n%s", r.Text())
	}
}

// TestReportOfSeveralRuns: the report lies where it can be distinguished from the runs' folders.
func TestReportOfSeveralRuns(t *testing.T) {
	base := t.TempDir()
	var dirs []string
	for _, name := range []string{"one/1", "one/2", "other/1"} {
		f := runtest.NewFixture(t, filepath.Join(base, "results", name))
		f.Database("etcd", 2*time.Millisecond)
		dirs = append(dirs, f.Write())
	}
	for _, test := range []struct {
		dirs []string
		want string
	}{
		{dirs[:1], "results/one/1/report"}, {dirs[:2], "results/one/report"}, {dirs, "results/report"}, {dirs[1:], "results/report"},
	} {
		r := tabulate(t, test.dirs...)
		if got, err := filepath.Rel(base, r.Dir); got != test.want || err != nil {
			t.Errorf("report of %q in %s, want %s", test.dirs, got, test.want)
		}
	}
	if _, err := newOutput(Options{Folders: []string{"/a/1", "/b/1"}}); err == nil || !strings.Contains(err.Error(), "name the folder") {
		t.Errorf("a report in the root: %v", err)
	}
	r, err := analyzed(t, Options{Folders: dirs[:2]})
	if err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	for dir, want := range map[string]bool{r.Dir: true, dirs[0]: false, filepath.Dir(dirs[0]): false, filepath.Join(r.Dir, fileReadme): false} {
		if IsReport(dir) != want {
			t.Errorf("IsReport(%s) = %v", dir, !want)
		}
	}
	if _, err := os.Stat(filepath.Join(base, "results", results.DirReport)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a report in the folder of all results: %v", err)
	}
}
