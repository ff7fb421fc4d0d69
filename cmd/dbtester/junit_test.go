package main

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// junitRun runs a command with --format junit and parses its output.
func junitRun(t *testing.T, code int, args ...string) testSuite {
	t.Helper()
	var out, errw bytes.Buffer
	if got := run(append(args, "--format", "junit"), strings.NewReader(""), &out, &errw); got != code {
		t.Fatalf("%q: exit code %d, want %d: %s", args, got, code, errw.String())
	}
	var s testSuite
	if err := xml.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%q printed no XML: %v\n%s", args, err, out.String())
	}
	if s.Tests != len(s.Cases) || s.Tests == 0 {
		t.Errorf("%d tests and %d cases", s.Tests, len(s.Cases))
	}
	return s
}

// The case for a comparison fails if a metric is worse, is skipped if nothing is decided, and is an
// error if a run is not valid.
func TestJUnitComparison(t *testing.T) {
	a, b := recordedRuns(t, "a", 4, 2*time.Millisecond, nil), recordedRuns(t, "b", 4, 3*time.Millisecond, nil)
	invalid := recordedRuns(t, "c", 1, 3*time.Millisecond, func(_ *runtest.Fixture, r *results.DatabaseRun) {
		r.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 1\x1b[2J"}}
	})
	compared := func(a, b []string) []string {
		return append(append(append([]string{"compare", "--metric", "p50"}, a...), "--to"), b...)
	}
	if s := junitRun(t, exitWorse, compared(a, b)...); s.Failures != 1 || s.Cases[1].Failure == nil || !strings.Contains(s.Cases[1].Failure.Message, "p50: B is worse: changes below +") {
		t.Errorf("B is worse: %+v", s)
	}
	if s := junitRun(t, exitInconclusive, compared(a[:1], b[:1])...); s.Failures+s.Errors != 0 || s.Skipped != 1 {
		t.Errorf("nothing is decided: %+v", s)
	}
	s := junitRun(t, exitInvalid, compared(a, invalid)...)
	if s.Errors != 1 || s.Cases[0].Error == nil || strings.Contains(s.Cases[0].Error.Message, "\x1b") {
		t.Errorf("a run is not valid: %+v", s)
	}
}

// The case for a report fails for an invalid database and for a need that no database meets.
func TestJUnitReport(t *testing.T) {
	good := recordedRuns(t, "a", 1, 2*time.Millisecond, nil)[0]
	if s := junitRun(t, exitDone, "analyze", "--out", t.TempDir(), good); s.Failures != 0 || s.Cases[0].Class != "dbtester.valid" {
		t.Errorf("a valid run: %+v", s)
	}
	bad := recordedRuns(t, "b", 1, 2*time.Millisecond, func(_ *runtest.Fixture, r *results.DatabaseRun) {
		r.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 1"}}
	})[0]
	if s := junitRun(t, exitDone, "analyze", "--out", t.TempDir(), bad); s.Failures != 1 || !strings.Contains(s.Cases[0].Failure.Message, "server lost") {
		t.Errorf("a run that is not valid: %+v", s)
	}
}
