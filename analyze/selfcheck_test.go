package analyze

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// inOneLine undoes the line wrapping in a report.
func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const fixtureCheck = "self-check of 2027-01-15 07:00 UTC: this client paces up to 60/s accurately (not kept: 10/s, 120/s); " +
	"a timer fires 0.105 ms late at p99, a waiting client sends 0.080 ms late"

func TestSelfCheck(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Mixed("mix")
	f.Database("plain", 2*time.Millisecond)
	f.Checked(60)
	f.M.Config = []byte(`{"path": "mix.yaml"}`)
	r, err := analyzed(t, Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	if text := inOneLine(r.Text()); strings.Count(text, fixtureCheck) != 1 {
		t.Errorf("not once %q in\n%s", fixtureCheck, text)
	}
	files := tree(t, r.Dir)
	for _, want := range []string{
		"- " + strings.Replace(fixtureCheck, "self-check of", "self-check: of", 1) +
			"; response p99 measured 900.300 ms, true 900.100 ms (n 10,000); service p99 measured 20.300 ms, true 20.100 ms (n 999, few); by dbtester v1.0.0\n",
		"dbtester selfcheck --json selfcheck.json\ndbtester control --selfcheck selfcheck.json --config mix.yaml\ndbtester analyze RESULT-FOLDER\n",
	} {
		if !strings.Contains(files["README.md"], want) {
			t.Errorf("README.md does not say %q:\n%s", want, files["README.md"])
		}
	}
	if !strings.Contains(files["report.html"], "this client paces up to 60/s accurately") {
		t.Error("the page does not tell of the self-check")
	}
	// The last step is due at 80/s; the other database has a closed loop.
	want := run.Mark{Tag: "mix", Mark: results.Mark{Code: "self-check", Text: "80 requests/s were due, but in the self-check this client paced at most 60/s accurately: see LATE and LATENESS"}}
	if marks := marksOf(r, "self-check"); len(marks) != 1 || marks[0].String() != want.String() || !r.Valid() {
		t.Errorf("marks %+v, want %+v", marks, want)
	}
}

// marksOf returns the marks with one code.
func marksOf(r *Report, code string) (marks []run.Mark) {
	for _, m := range r.Marks {
		if m.Code == code {
			marks = append(marks, m)
		}
	}
	return marks
}

func TestSelfCheckOfOtherRates(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*results.Manifest)
		mark   string // "" for no mark
		text   string // in the note, "" for no note
	}{
		"fast enough":   {func(m *results.Manifest) { m.SelfCheck.HighestRate = 80 }, "", "paces up to 80/s accurately (not kept: 10/s, 120/s)"},
		"all were kept": {func(m *results.Manifest) { m.SelfCheck.HighestRate, m.SelfCheck.MissedRates = 1e6, nil }, "", "paces up to 1,000,000/s accurately; a timer"},
		"none was kept": {func(m *results.Manifest) { m.SelfCheck.HighestRate, m.SelfCheck.MissedRates = 0, []float64{1000} },
			"80 requests/s were due, but in the self-check this client paced no rate accurately", "paces none of the tried rates accurately (not kept: 1,000/s)"},
		"a rate that grows": {func(m *results.Manifest) { m.Databases[0].Steps[1].RateEnd = 9000 }, "9,000 requests/s were due", "paces up to 60/s"},
		"killed before a step ended": {func(m *results.Manifest) {
			m.Databases[0].Steps, m.Databases[0].Load.RateEnd = nil, 70
		}, "70 requests/s were due", "paces up to 60/s"},
		"too few waits": {func(m *results.Manifest) { m.SelfCheck.TimerLateness.N = 999 }, "80 requests/s were due",
			"a timer fires 0.105 ms (n 999, few) late at p99, a waiting client sends 0.080 ms late"},
		"another machine": {func(m *results.Manifest) { m.SelfCheck.Host.Name = "other" }, "", ""},
		"no self-check":   {func(m *results.Manifest) { m.SelfCheck = nil }, "", ""},
	} {
		f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
		f.Mixed("mix")
		f.Checked(60)
		c.change(f.M)
		d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
		if err != nil {
			t.Fatalf("make the document: %v", err)
		}
		marks := marksOf(d.Report, "self-check")
		if (c.mark == "") != (len(marks) == 0) || len(marks) > 0 && !strings.HasPrefix(marks[0].Text, c.mark) {
			t.Errorf("%s: marks %+v, want %q", name, marks, c.mark)
		}
		if text := inOneLine(d.Text()); c.text == "" && strings.Contains(text, "paces") || !strings.Contains(text, c.text) {
			t.Errorf("%s: no %q in\n%s", name, c.text, text)
		}
		if f.M.SelfCheck != nil && c.text == "" && !strings.Contains(d.markdown(), "; but of another machine (other, CPUs 4, test)\n") {
			t.Errorf("%s: the README does not say that it is of another machine", name)
		}
	}
}

// For several runs the self-check of each client is reported with its columns.
func TestSelfChecksOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for i, rate := range []float64{60, 500} {
		f := runtest.NewFixture(t, filepath.Join(dir, []string{"a", "b"}[i]))
		f.Database([]string{"one", "two"}[i], 2*time.Millisecond)
		f.Checked(rate)
		folders = append(folders, f.Write())
	}
	d, err := newDocument(t.Context(), Options{Folders: folders, Out: dir})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	for _, want := range []string{"self-check for one of 2027-01-15 07:00 UTC: this client paces up to 60/s", "self-check for two of 2027-01-15 07:00 UTC: this client paces up to 500/s"} {
		if text := inOneLine(d.Text()); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRateThatChanges(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	grows := f.Mixed("grows")
	grows.Load.Rate, grows.Load.RateEnd = 1000, 5000
	grows.Steps[0].Rate, grows.Steps[0].RateEnd = 1000, 5000
	grows.Steps[1].Rate, grows.Steps[1].RateEnd = 1000, 62.5
	stays := f.Mixed("stays")
	stays.Steps[1].Rate = stays.Steps[0].Rate
	d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	for name, want := range map[string]string{
		"RATE":                            "1,000..5,000/s due, 1,000..62.50/s due, poisson",
		"1,000..5,000/s due: AVG-LATENCY": "3.7500 ms",
		"1,000..62.50/s due: AVG-LATENCY": "3.6923 ms",
	} {
		if got := cell(t, d.Report, name, 0).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	text := inOneLine(d.Text())
	for _, want := range []string{
		"UNEQUAL rates: grows: 1,000..5,000/s due, 1,000..62.50/s due, poisson; stays: 40/s due, poisson",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if want := "- steps: 8 clients on 4 connections, 1,000..5,000/s due, took 2s; "; !strings.Contains(d.markdown(), want) {
		t.Errorf("the README does not say %q", want)
	}
}

// TestUnequalFanOut: a table's note on ZooKeeper's parents follows from the options in the
// manifest.
func TestUnequalFanOut(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	for tag, options := range map[string]string{"flat": `{"KeyParents": 1}`, "spread": `{"KeyParents": 1000}`} {
		f.Mixed(tag).Options = []byte(options)
	}
	d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("make the document: %v", err)
	}
	text := inOneLine(d.Text())
	if !strings.Contains(text, "UNEQUAL option KeyParents: ") || !strings.Contains(text, "flat: 1") || !strings.Contains(text, "spread: 1000") {
		t.Errorf("the parents are not told:\n%s", text)
	}
}

// TestSelfCheckOfALoad: measurements before a load have their own rows, and the command
// line requests them again.
func TestSelfCheckOfALoad(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	rated, closed, other := f.Mixed("mix"), f.Database("plain", 2*time.Millisecond), f.Database("other", 2*time.Millisecond)
	rated.SelfCheck = &results.LoadCheck{
		Clients: 10, Connections: 10, Rate: 80, Duration: 3 * time.Second, Delay: 2 * time.Millisecond,
		P50: results.Compared{N: 240, Measured: 2_300_000, True: 2_100_000}, P99: results.Compared{N: 240, Measured: 4_500_000, True: 2_500_000},
		Lateness: &results.Spread{N: 240, P50: 50_000, P99: 900_000}, RequestsPerSecond: 80,
	}
	check := *rated.SelfCheck
	check.Rate, check.Lateness, check.RequestsPerSecond = 0, nil, 4123.4
	check.P99.N, check.P50.N = 12_370, 12_370
	closed.SelfCheck = &check
	other.SelfCheck = &results.LoadCheck{Unavailable: "not available for other"}
	f.M.Config = []byte(`{"path": "mix.yaml"}`)
	r, err := analyzed(t, Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("analyze the runs: %v", err)
	}
	text := inOneLine(r.Text())
	for _, want := range []string{
		"0.200 ms, n 240", "0.200 ms, n 12,370", "2.000 ms, n 240 *", "2.000 ms, n 12,370", "0.900 ms, n 240 *", "4,123 req/s", "80 req/s",
		"not measured of other: SELF-CHECK-ADDED p50, SELF-CHECK-ADDED p99, SELF-CHECK-LATENESS p99, SELF-CHECK-THROUGHPUT: not available for other",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report must have %q:\n%s", want, r.Text())
		}
	}
	if text := tree(t, r.Dir)["README.md"]; !strings.Contains(text, "dbtester control --selfcheck auto --config mix.yaml\n") {
		t.Errorf("README.md must have the command line with its self-check:\n%s", text)
	}
}
