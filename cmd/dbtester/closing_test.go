package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/results"
)

// outcomeOf returns the outcome for some trials with some databases. The last database in each
// trial is not valid.
func outcomeOf(trials, databases int) *control.Outcome {
	out := &control.Outcome{}
	for t := range trials {
		out.Folders = append(out.Folders, fmt.Sprintf("results/x/%d", t+1))
		for d := range databases {
			v := control.Verdict{Trial: t + 1, Trials: trials, Tag: fmt.Sprintf("db-%d", d+1), State: results.StateComplete, Loaded: true}
			if d == databases-1 {
				v.Marks = []results.Mark{{Code: "server lost", Invalid: true}}
			}
			out.Verdicts = append(out.Verdicts, v)
		}
	}
	return out
}

// The lines about run folders and databases keep a bound, and invalid ones come first if not all
// fit.
func TestVerdictLines(t *testing.T) {
	for _, tt := range []struct {
		trials, databases, n int
		want                 []string
	}{
		{1, 2, 5, []string{"results in results/x/1", "db-1: valid", "db-2: not valid: server lost"}},
		{2, 2, 4, []string{
			"... and 2 more lines; dbtester analyze --all prints all",
			"trial 1 of 2: db-2: not valid: server lost", "trial 2 of 2: db-2: not valid: server lost",
			"... and 2 more lines; dbtester analyze --all prints all",
		}},
	} {
		got := streams{}.verdictLines(outcomeOf(tt.trials, tt.databases), tt.n)
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%d trials of %d databases in %d lines:\n%s\nwant\n%s", tt.trials, tt.databases, tt.n,
				strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	for n := range 20 {
		if got := (streams{}).verdictLines(outcomeOf(5, 5), n); len(got) > max(n, 1) {
			t.Errorf("%d lines, want at most %d", len(got), max(n, 1))
		}
	}
}

// A search without a capacity ends with exit code 3 and its reason, but does not hide a failed run.
func TestNoCapacity(t *testing.T) {
	out := outcomeOf(2, 1)
	out.Verdicts[1].Unfound = control.Unfound{What: "capacity", Why: "it lies below 12.5 requests/s"}
	failed, invalid := errors.New("broken"), error(&invalidError{[]string{"etcd: server lost"}})
	for _, tt := range []struct {
		err  error
		code int
		last string
	}{
		{nil, exitInvalid, "dbtester: no capacity was found: db-1, trial 2 of 2: it lies below 12.5 requests/s\n"},
		{invalid, exitInvalid, "dbtester: no capacity was found: db-1, trial 2 of 2: it lies below 12.5 requests/s\n"},
		{failed, exitFailed, "dbtester: broken\n"},
	} {
		var errw strings.Builder
		a := &app{streams: streams{err: &errw}}
		if code := a.exitCode(withNotFound(tt.err, out)); code != tt.code || !strings.HasSuffix(errw.String(), tt.last) {
			t.Errorf("after %v: exit code %d and\n%swant %d and at the end\n%s", tt.err, code, errw.String(), tt.code, tt.last)
		}
	}
	if err := withNotFound(nil, outcomeOf(1, 1)); err != nil {
		t.Errorf("without a search: %v, want nil", err)
	}
}
