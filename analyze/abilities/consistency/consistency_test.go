package consistency

import (
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/results"
)

// TestCells: a run without a verdict has no cells and differs from no other run, and a mode that
// promises less never looks like a pass.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		verdict     consistency.Verdict
		text, words string // in LINEARIZABLE
		fact        string
		value       float64
	}{
		{consistency.Verdict{}, "", "", "", 0},
		{consistency.Verdict{Form: consistency.Unasked}, "", "", "no", 0},
		{consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 1200, Judged: 1200}}, "no violation among all 1,200", "", "yes", 0},
		{consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 12, Judged: 10}}, "no violation among 10 judged of 12", "", "yes", 0},
		{consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 12, Judged: 10, Violations: judge.Violations{Phantom: 1}}}, "1 violation among 10 judged of 12: phantom 1", "", "yes", 1},
		{consistency.Verdict{Form: consistency.Measured, Counts: judge.Counts{Operations: 12, Judged: 10}}, "", "not judged", "yes", 0},
		{consistency.Verdict{Form: consistency.Unjudged, Why: "small values"}, "", "not judged", "no", 0},
	} {
		record := &results.DatabaseRun{}
		if err := consistency.Record().Set(&record.Records, c.verdict); err != nil {
			t.Fatal(err)
		}
		r := &run.Run{Info: run.Info{Record: record}}
		m, text := (Half{}).Rows()[0].Cell(r)
		if text != c.text || m.Words != c.words || m.Inapplicable != (c.verdict.Form == "" || c.verdict.Form == consistency.Unasked) || m.Value != c.value {
			t.Errorf("%+v: cell %+v, %q", c.verdict, m, text)
		}
		if got := (Half{}).Facts()[0].Of(r); got != c.fact {
			t.Errorf("%+v: answers judged: %q, want %q", c.verdict, got, c.fact)
		}
	}
}

// TestJudged: the finding for several runs summarizes their verdicts, and a run without one is
// named.
func TestJudged(t *testing.T) {
	of := func(verdicts ...consistency.Verdict) (runs []*run.Run) {
		for _, v := range verdicts {
			record := &results.DatabaseRun{}
			if err := consistency.Record().Set(&record.Records, v); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, &run.Run{Info: run.Info{Record: record}})
		}
		return runs
	}
	good := consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 12, Judged: 10}}
	bad := consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 5, Judged: 5, Violations: judge.Violations{Phantom: 2}}}
	stale := consistency.Verdict{Form: consistency.Measured, Counts: judge.Counts{Operations: 12, Judged: 10}}
	for _, c := range []struct {
		runs []*run.Run
		want string
	}{
		{of(consistency.Verdict{}), ""},
		{of(consistency.Verdict{Form: consistency.Unasked}), ""},
		{of(consistency.Verdict{Form: consistency.Unjudged, Why: "small values"}), ""},
		{of(consistency.Verdict{Form: consistency.Unjudged, Why: "a generator was lost", Parts: 1}), "not judged"},
		{of(consistency.Verdict{Form: consistency.Unjudged, Why: "sent again", Counts: judge.Counts{Operations: 12, Judged: 10}}), "not judged"},
		{of(good, good), "no violation among 20 judged of 24"},
		{of(good, bad), "2 violations among 15 judged of 17"},
		{of(stale), "not judged"},
		{of(good, stale), "no violation among 10 judged of 12; 1 of 2 runs not judged"},
	} {
		if got := (Half{}).Findings()[0].Of(c.runs); got != c.want {
			t.Errorf("%d runs: %q, want %q", len(c.runs), got, c.want)
		}
	}
}

// TestLost: keys that could not be judged do not count as those that kept their last write.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		held    judge.HeldKeys
		notRead string
		want    string
	}{
		{judge.HeldKeys{Keys: 10, Read: 10}, "", "none of 10 keys"},
		{judge.HeldKeys{Keys: 10, Read: 10, Older: 2, Gone: 1}, "", "3: 2 an older value, 1 not there, of 10 keys"},
		{judge.HeldKeys{Keys: 10, Read: 10, Older: 4}.AppliedTwice(), "", "none of 6 keys; 4 could not be judged"},
		{judge.HeldKeys{Keys: 10, Read: 8}, "time was over", "none of 8 keys (2 not read: time was over)"},
		{judge.HeldKeys{Keys: 10, Read: 10}, "generator 2 was lost", "none of 10 keys (others not read: generator 2 was lost)"},
	} {
		m, text := lost(&consistency.Verdict{Form: consistency.Judged, Held: &c.held, NotReadBack: c.notRead})
		if text != c.want || m.N != c.held.Read-c.held.NotJudged {
			t.Errorf("%+v: %q of %d, want %q", c.held, text, m.N, c.want)
		}
	}
}

// TestStale: reads whose values are not remembered are stated, because the count and the times
// leave them out.
func TestStale(t *testing.T) {
	v := consistency.Verdict{Form: consistency.Measured, Counts: judge.Counts{Operations: 12, Judged: 10, StaleReads: 3, Unrecognised: 2}}
	const want = "3 of 10 requests, 2 more returned a value that was replaced too long ago to be remembered, or that no request wrote"
	if _, text := stale(&v); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestCost: the judge has a time only if it judged or measured the load.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		verdict consistency.Verdict
		text    string
	}{
		{consistency.Verdict{Form: consistency.Unjudged, Why: "small values"}, ""},
		{consistency.Verdict{Form: consistency.Judged, Counts: judge.Counts{Operations: 300_000, Judged: 300_000}, TookNS: 42e6}, "0.042 s, 0.14 µs for a request"},
		{consistency.Verdict{Form: consistency.Measured, Counts: judge.Counts{Operations: 1000}, TookNS: 2e6, Waits: 1}, "0.002 s, 2.00 µs for a request; clients waited 1 time"},
	} {
		m, text := cost(&c.verdict)
		if text != c.text || m.Inapplicable != (c.text == "") || m.Value != float64(c.verdict.TookNS)/1e9 {
			t.Errorf("%+v: cell %+v, %q, want %q", c.verdict, m, text, c.text)
		}
	}
}
