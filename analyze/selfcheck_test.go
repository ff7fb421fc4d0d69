package analyze

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// checked gives the fixture's client a self-check that kept so many requests a
// second, but neither ten nor twice as many.
func (f *fixture) checked(rate float64) *results.SelfCheck {
	f.m.SelfCheck = &results.SelfCheck{
		Date: time.Unix(begin-3600, 0).UTC(), Tool: results.Tool{Version: "v1.0.0"}, Host: f.m.Client, Duration: 10 * time.Second,
		ServiceP99:  results.Compared{N: 999, Measured: 20_300_000, True: 20_100_000},
		ResponseP99: results.Compared{N: 10_000, Measured: 900_300_000, True: 900_100_000},
		HighestRate: rate, MissedRates: []float64{10, 2 * rate},
		TimerLateness: results.Spread{N: 1000, P99: 105_000}, ClientLateness: results.Spread{N: 1000, P99: 80_000},
	}
	return f.m.SelfCheck
}

// inOneLine undoes the wrapping of a report.
func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const fixtureCheck = "self-check of 2027-01-15 07:00 UTC: this client paces up to 60/s accurately (not kept: 10/s, 120/s); " +
	"a timer fires 0.105 ms late at p99, a waiting client sends 0.080 ms late"

func TestSelfCheck(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.mixed("mix")
	f.database("plain", 2*time.Millisecond)
	f.checked(60)
	f.m.Config = []byte(`{"path": "mix.yaml"}`)
	r, err := run(t, Options{Folders: []string{f.write()}})
	if err != nil {
		t.Fatal(err)
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
	// The load's last step is due at 80/s; the other database has a closed loop.
	want := Mark{"mix", results.Mark{Code: "self-check", Text: "80 requests/s were due, and the self-check found that this client paces at most 60/s accurately: see LATE and LATENESS"}}
	if marks := marksOf(r, "self-check"); len(marks) != 1 || marks[0] != want || !r.Valid() {
		t.Errorf("marks %+v, want %+v", marks, want)
	}
}

// marksOf are the marks of one code.
func marksOf(r *Report, code string) (marks []Mark) {
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
		mark   string // "" for none
		text   string // of the note, "" for none
	}{
		"fast enough":   {func(m *results.Manifest) { m.SelfCheck.HighestRate = 80 }, "", "paces up to 80/s accurately (not kept: 10/s, 120/s)"},
		"all were kept": {func(m *results.Manifest) { m.SelfCheck.HighestRate, m.SelfCheck.MissedRates = 1e6, nil }, "", "paces up to 1,000,000/s accurately; a timer"},
		"none was kept": {func(m *results.Manifest) { m.SelfCheck.HighestRate, m.SelfCheck.MissedRates = 0, []float64{1000} },
			"80 requests/s were due, and the self-check found that this client paces no rate accurately", "paces no rate that was tried accurately (not kept: 1,000/s)"},
		"a rate that grows": {func(m *results.Manifest) { m.Databases[0].Steps[1].RateEnd = 9000 }, "9,000 requests/s were due", "paces up to 60/s"},
		"killed before a step ended": {func(m *results.Manifest) {
			m.Databases[0].Steps, m.Databases[0].Load.RateEnd = nil, 70
		}, "70 requests/s were due", "paces up to 60/s"},
		"too few waits": {func(m *results.Manifest) { m.SelfCheck.TimerLateness.N = 999 }, "80 requests/s were due",
			"a timer fires 0.105 ms (n 999, few) late at p99, a waiting client sends 0.080 ms late"},
		"another machine": {func(m *results.Manifest) { m.SelfCheck.Host.Name = "other" }, "", ""},
		"no self-check":   {func(m *results.Manifest) { m.SelfCheck = nil }, "", ""},
	} {
		f := newFixture(t, filepath.Join(t.TempDir(), "run"))
		f.mixed("mix")
		f.checked(60)
		c.change(f.m)
		d, err := newDocument(t.Context(), Options{Folders: []string{f.write()}})
		if err != nil {
			t.Fatal(err)
		}
		marks := marksOf(d.Report, "self-check")
		if (c.mark == "") != (len(marks) == 0) || len(marks) > 0 && !strings.HasPrefix(marks[0].Text, c.mark) {
			t.Errorf("%s: marks %+v, want %q", name, marks, c.mark)
		}
		if text := inOneLine(d.Text()); c.text == "" && strings.Contains(text, "paces") || !strings.Contains(text, c.text) {
			t.Errorf("%s: no %q in\n%s", name, c.text, text)
		}
		if f.m.SelfCheck != nil && c.text == "" && !strings.Contains(d.markdown(), "; but of another machine (other, CPUs 4, test)\n") {
			t.Errorf("%s: the README does not say that it is of another machine", name)
		}
	}
}

// Of several runs each client's self-check is told with its columns.
func TestSelfChecksOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for i, rate := range []float64{60, 500} {
		f := newFixture(t, filepath.Join(dir, []string{"a", "b"}[i]))
		f.database([]string{"one", "two"}[i], 2*time.Millisecond)
		f.checked(rate)
		folders = append(folders, f.write())
	}
	d, err := newDocument(t.Context(), Options{Folders: folders, Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"self-check for one of 2027-01-15 07:00 UTC: this client paces up to 60/s", "self-check for two of 2027-01-15 07:00 UTC: this client paces up to 500/s"} {
		if text := inOneLine(d.Text()); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRateThatChanges(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	grows := f.mixed("grows")
	grows.Load.Rate, grows.Load.RateEnd = 1000, 5000
	grows.Steps[0].Rate, grows.Steps[0].RateEnd = 1000, 5000
	grows.Steps[1].Rate, grows.Steps[1].RateEnd = 1000, 62.5
	stays := f.mixed("stays")
	stays.Steps[1].Rate = stays.Steps[0].Rate
	d, err := newDocument(t.Context(), Options{Folders: []string{f.write()}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"RATE":                            "1,000..5,000/s due, 1,000..62.50/s due, poisson",
		"1,000..5,000/s due: AVG-LATENCY": "3.7500 ms",
		"1,000..62.50/s due: AVG-LATENCY": "3.6923 ms",
	} {
		if got := cell(t, d.Report, name, 0).Text; got != want {
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

// TestUnequalFanOut: what a table says of ZooKeeper's parents follows from the
// options that the manifest holds.
func TestUnequalFanOut(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	for tag, options := range map[string]string{"flat": `{"KeyParents": 1}`, "spread": `{"KeyParents": 1000}`} {
		f.mixed(tag).Options = []byte(options)
	}
	d, err := newDocument(t.Context(), Options{Folders: []string{f.write()}})
	if err != nil {
		t.Fatal(err)
	}
	text := inOneLine(d.Text())
	if !strings.Contains(text, "UNEQUAL option KeyParents: ") || !strings.Contains(text, "flat: 1") || !strings.Contains(text, "spread: 1000") {
		t.Errorf("the parents are not told:\n%s", text)
	}
}
