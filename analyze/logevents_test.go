package analyze

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// Log events during the load are listed by kind, with the longest timed event and its line.
func TestWhatTheLogsSay(t *testing.T) {
	r := &run.Run{Info: run.Info{Tag: "etcd", Record: &results.DatabaseRun{}}}
	r.Windows.Load.From = runtest.Begin * 1e9
	at := func(second float64) time.Time {
		return time.Unix(runtest.Begin, 0).Add(time.Duration(second * float64(time.Second)))
	}
	r.Machines.Events = []results.Event{
		{Time: at(0), Kind: "client step"}, // not from a log
		{Time: at(2), Kind: "slow fsync", Member: 2, Took: 1062 * time.Millisecond, Log: "logs/3-etcd.log", Text: "took 1062ms"},
		{Time: at(2.5), Kind: "leader lost", Member: 0, Log: "logs/1-etcd.log", Text: strings.Repeat("x", 300)},
		{Time: at(4), Kind: "slow fsync", Member: 0, Took: 1500 * time.Millisecond, Log: "logs/1-etcd.log", Text: `took 1500ms at "/home/me/data/db" and /x/y.z, 1/2 of /a` + "\nmore"},
	}
	got := logEventsOf([]*run.Run{r, {Info: run.Info{Tag: "silent", Record: &results.DatabaseRun{}}}})
	want := []logEvents{{"etcd", []logEvent{
		{"2.0 .. 4.0", "slow fsync", "1, 3", 2, "1.5s", `took 1500ms at ".../db" and .../y.z, 1/2 of /a`},
		{"2.5", "leader lost", "1", 1, "", strings.Repeat("x", 200) + "..."},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := got[0].Lines[0].String(); text != "2.0 .. 4.0 s: slow fsync, member 1, 3, 2 times, longest 1.5s: took 1500ms at \".../db\" and .../y.z, 1/2 of /a" {
		t.Errorf("the line is %q", text)
	}
}

// The trials of a database have one list of errors.
func TestFailuresOfTrials(t *testing.T) {
	errors := func(timeouts int64) []run.ErrorCount {
		return []run.ErrorCount{
			{Class: "time-out", Text: "first", Count: timeouts, Messages: []run.MessageCount{{Text: "a", Count: timeouts - 1}, {Text: "b", Count: 1}}},
			{Class: "throttled", Count: 2},
		}
	}
	m, n := &results.Manifest{Trial: 1, Trials: 2}, &results.Manifest{Trial: 2, Trials: 2}
	one := &run.Run{Info: run.Info{Tag: "etcd", Manifest: m, Record: &results.DatabaseRun{Tag: "etcd"}}}
	two := &run.Run{Info: run.Info{Tag: "etcd #2", Manifest: n, Record: &results.DatabaseRun{Tag: "etcd"}}}
	one.Load.Errors, two.Load.Errors = errors(5), errors(9)
	want := []columnErrors{{"etcd", []errorLine{
		{"time-out", "first", 14, []messageLine{{"a", 12}, {"b", 2}}}, {Class: "throttled", Count: 4},
	}}}
	if diff := cmp.Diff(want, failuresOf(trials.Groups([]*run.Run{one, two}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if one.Load.Errors[0].Messages[0].Count != 4 {
		t.Error("the errors of a run were changed")
	}
}

func TestPages(t *testing.T) {
	r, err := analyzed(t, Options{Folders: []string{runtest.TwoDatabases(t)}})
	if err != nil {
		t.Fatal(err)
	}
	linksLeadSomewhere(t, r)
	marksStandOnce(t, r)
	figuresStandFirst(t, r)
}

// Every link in a report has a target, even without PNG files, as in published reports.
func linksLeadSomewhere(t *testing.T, r *Report) {
	links := 0
	for name, pattern := range map[string]string{"report.html": `href="([^"]+)"`, "README.md": `\]\(([^)]+)\)`} {
		text := string(readFile(t, filepath.Join(r.Dir, name)))
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			links++
			if id, inside := strings.CutPrefix(found[1], "#"); inside {
				if !strings.Contains(text, `id="`+id+`"`) {
					t.Errorf("%s links to %s, which it lacks", name, found[1])
				}
				continue
			}
			file, err := url.PathUnescape(found[1])
			file, _, _ = strings.Cut(file, "#")
			if err == nil {
				_, err = os.Stat(filepath.Join(r.Dir, file))
			}
			if err != nil {
				t.Errorf("%s links to %s: %v", name, found[1], err)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// The page has the marks once, at its top; separate pictures have them all.
func marksStandOnce(t *testing.T, r *Report) {
	const mark = "3 keys are missing"
	page := string(readFile(t, filepath.Join(r.Dir, "report.html")))
	if n := strings.Count(page, mark); n != 1 || !strings.Contains(page, "not valid: see the reasons that weaken the numbers") {
		t.Errorf("the page has the mark %d times", n)
	}
	if picture := string(readFile(t, filepath.Join(r.Dir, "figures", "AVG-CPU.svg"))); !strings.Contains(picture, mark) {
		t.Error("a picture alone lacks the mark")
	}
}

// The figures with the answer precede the tables.
func figuresStandFirst(t *testing.T, r *Report) {
	for name, order := range map[string][]string{
		"report.html": {`id="headline"`, "<figure", `id="figures"`, `id="other-figures"`, `id="numbers"`, `id="errors"`, `id="how"`},
		"README.md":   {"\n## Figures\n", "\n![", "\n## Numbers\n", "\n## How it was run\n"},
	} {
		text, last := string(readFile(t, filepath.Join(r.Dir, name))), -1
		for _, part := range order {
			at := strings.Index(text, part)
			if at <= last {
				t.Errorf("%s: %q is at %d, after %d", name, part, at, last)
			}
			last = at
		}
	}
}
