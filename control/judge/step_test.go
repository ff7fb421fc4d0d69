package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestSteps has each share at its bounds, below and above them.
func TestSteps(t *testing.T) {
	t.Parallel()
	const n = 100_000 // requests that were due
	outcome := func(failed, unknown int64) Step {
		return Step{Index: 1, Clients: 20, OK: n - failed - unknown, Failed: failed, Unknown: unknown}
	}
	answered := func(ok float64) Step {
		return Step{Clients: 5, OK: n, Rated: true, Answered: ok, Offered: n}
	}
	waited := func(d time.Duration) Step { return Step{Clients: 5, OK: n, Waiting: &Part{d, 1000 * time.Second}} }
	delayed := func(d time.Duration) Step {
		return Step{Clients: 5, OK: n, ClientDelay: &Part{d, 1000 * time.Second}}
	}
	shared := func(e *Evidence) { e.Run.Members[1].Host.BootID = "client" }
	bound := func(e *Evidence) { e.Run.Load.Bind = workload.BindClient }
	for name, tc := range map[string]struct {
		step   Step
		change func(*Evidence)
		code   string
		// text is the text of the mark, "" for no mark.
		text    string
		invalid bool
	}{
		"no failure":                {step: outcome(0, 0)},
		"failed at the mark":        {step: outcome(100, 0)},
		"failed above the mark":     {outcome(101, 0), nil, mark.Failed, "step 2, 20 clients: 0.101 % of the requests failed: 101 of 100,000 (mark above 0.1 %)", false},
		"failed at invalid":         {outcome(1000, 0), nil, mark.Failed, "step 2, 20 clients: 1 % of the requests failed: 1,000 of 100,000 (mark above 0.1 %)", false},
		"failed above invalid":      {outcome(1001, 0), nil, mark.Failed, "step 2, 20 clients: 1.001 % of the requests failed: 1,001 of 100,000 (invalid above 1 %)", true},
		"failed hardly above it":    {Step{Clients: 1, OK: 2969, Failed: 30}, nil, mark.Failed, "step 1, 1 client: 1.0003 % of the requests failed: 30 of 2,999 (invalid above 1 %)", true},
		"all failed":                {outcome(n, 0), nil, mark.Failed, "step 2, 20 clients: 100 % of the requests failed: 100,000 of 100,000 (invalid above 1 %)", true},
		"unknown at the mark":       {step: outcome(0, 100)},
		"unknown above the mark":    {outcome(0, 101), nil, mark.Outcomes, "step 2, 20 clients: 0.101 % of the requests have an unknown outcome: 101 of 100,000 (mark above 0.1 %)", false},
		"unknown above invalid":     {outcome(0, 1001), nil, mark.Outcomes, "step 2, 20 clients: 1.001 % of the requests have an unknown outcome: 1,001 of 100,000 (invalid above 1 %)", true},
		"achieved at the mark":      {step: answered(99_000)},
		"achieved below the mark":   {answered(98_999), nil, mark.Rate, "step 1, 5 clients: 98.999 % of the offered requests ended ok in the window: 98,999 of 100,000 (mark below 99 %)", false},
		"achieved at invalid":       {answered(95_000), nil, mark.Rate, "step 1, 5 clients: 95 % of the offered requests ended ok in the window: 95,000 of 100,000 (mark below 99 %)", false},
		"achieved below invalid":    {answered(94_999), nil, mark.Rate, "step 1, 5 clients: 94.999 % of the offered requests ended ok in the window: 94,999 of 100,000 (invalid below 95 %)", true},
		"no rate to achieve":        {step: Step{OK: n, Answered: 1, Offered: n}},
		"waiting at the mark":       {step: waited(time.Second)},
		"waiting above the mark":    {waited(1100 * time.Millisecond), nil, mark.Waiting, "step 1, 5 clients: clients had no server for 0.11 % of their time: 1.1 s of 17 min (mark above 0.1 %)", false},
		"waiting at invalid":        {waited(50 * time.Second), nil, mark.Waiting, "step 1, 5 clients: clients had no server for 5 % of their time: 50 s of 17 min (mark above 0.1 %)", false},
		"waiting above invalid":     {waited(51 * time.Second), nil, mark.Waiting, "step 1, 5 clients: clients had no server for 5.1 % of their time: 51 s of 17 min (invalid above 5 %)", true},
		"client delay at the mark":  {step: delayed(50 * time.Second)},
		"client delay above it":     {delayed(51 * time.Second), nil, mark.Saturated, "step 1, 5 clients: 5.1 % of the response times is delay in the client itself: 51 s of 17 min (mark above 5 %)", false},
		"client delay at invalid":   {delayed(250 * time.Second), nil, mark.Saturated, "step 1, 5 clients: 25 % of the response times is delay in the client itself: 4.2 min of 17 min (mark above 5 %)", false},
		"client delay invalid":      {delayed(251 * time.Second), nil, mark.Saturated, "step 1, 5 clients: 25.1 % of the response times is delay in the client itself: 4.2 min of 17 min (invalid above 25 %)", true},
		"delay on a shared machine": {delayed(251 * time.Second), shared, mark.Saturated, "step 1, 5 clients: 25 % of the response times is delay in the client itself: 4.2 min of 17 min (mark above 5 %)", false},
		"the rate is the result": {Step{Clients: 5, OK: 450, Shed: 550, Rated: true, Overloads: true, Answered: 450, Offered: 1000}, nil, mark.Rate,
			"step 1, 5 clients: 45 % of the offered requests ended ok in the window: 450 of 1,000; the step overloads on purpose, so this is its result", false},
		"queueing at the mark": {step: Step{OK: 1000, Queued: 10, Rated: true, Answered: 1000, Offered: 1000}},
		"queueing at 100 % achieved": {Step{Clients: 5, OK: 1000, Queued: 11, Waits: 7, Rated: true, Answered: 1000, Offered: 1000}, nil, mark.Queueing,
			"step 1, 5 clients: 1.1 % of the requests found every client busy when they were due: 11 of 1,000, and 7 waited when the window ended (mark above 1 %)", false},
		"queueing of users": {Step{Clients: 5, OK: 1000, Queued: 11, Rated: true, Answered: 1000, Offered: 1000}, bound, mark.Queueing,
			"step 1, 5 clients: 1.1 % of the requests found their own client busy when they were due: 11 of 1,000, and 0 waited when the window ended (mark above 1 %)", false},
		"queueing on purpose":       {step: Step{OK: 1000, Queued: 500, Rated: true, Overloads: true, Answered: 1000, Offered: 1000}},
		"queueing in a closed loop": {step: Step{OK: 1000, Queued: 500}},
		"one request is unsent": {Step{Clients: 5, OK: n - 1, Unsent: 1, Rated: true, Answered: n, Offered: n}, nil, mark.Unsent,
			"step 1, 5 clients: 0.001 % of the requests were due but not sent: 1 of 100,000 within 2 s after the end (mark above 0 %)", false},
		"unsent at invalid": {Step{Clients: 5, OK: 99, Unsent: 1, Rated: true, Answered: 100, Offered: 100}, nil, mark.Unsent,
			"step 1, 5 clients: 1 % of the requests were due but not sent: 1 of 100 within 2 s after the end (mark above 0 %)", false},
		"unsent of a load that accepts any share of its rate": {Step{Clients: 5, OK: 1, Unsent: 99, Rated: true, Overloads: true, Answered: 100, Offered: 100}, func(e *Evidence) {
			e.Run.Load.Judge = workload.DefaultJudge()
			e.Run.Load.Judge.Achieved.Invalid = 0
		}, mark.Unsent, "step 1, 5 clients: 99 % of the requests were due but not sent: 99 of 100 within 2 s after the end (mark above 0 %)", false},
		"unsent within the file's bounds": {Step{Clients: 5, OK: 98, Unsent: 2, Rated: true, Overloads: true, Answered: 100, Offered: 100}, func(e *Evidence) {
			e.Run.Load.Judge = workload.DefaultJudge()
			e.Run.Load.Judge.Unsent = workload.Bounds{Mark: 2, Invalid: 100}
		}, "", "", false},
		"late at the mark": {step: Step{OK: 1000, Late: 10, Rated: true, Answered: 1000, Offered: 1000}},
		"late above it": {Step{Clients: 5, OK: 1000, Late: 11, Rated: true, Answered: 1000, Offered: 1000}, nil, mark.Late,
			"step 1, 5 clients: 1.1 % of the requests were sent over 1 ms late though a client was free: 11 of 1,000 (mark above 1 %)", false},
		"swaps that lost a race": {step: Step{OK: 500, Failed: 500, Excused: 500, Rated: true, Answered: 500, Offered: 1000}},
		"only swaps that lost":   {step: Step{Failed: 500, Excused: 500}},
		"expected failures": {outcome(n, 0), expects(workload.Expect{Failed: 100}), mark.Expected,
			"step 2, 20 clients: 100 % of the requests failed: 100,000 of 100,000; the experiment expects up to 100 %", false},
		"expected with a rate": {Step{Clients: 5, Failed: 10, Rated: true, Offered: 10}, expects(workload.Expect{Failed: 100}), mark.Expected,
			"step 1, 5 clients: 100 % of the requests failed: 10 of 10; the experiment expects up to 100 %", false},
		"at the expected share": {outcome(0, 16_000), expects(workload.Expect{Unknown: 16}), mark.Expected,
			"step 2, 20 clients: 16 % of the requests have an unknown outcome: 16,000 of 100,000; the experiment expects up to 16 %", false},
		"above the expected share": {outcome(0, 16_001), expects(workload.Expect{Unknown: 16}), mark.Outcomes,
			"step 2, 20 clients: 16 % of the requests have an unknown outcome: 16,001 of 100,000 (invalid above 1 %)", true},
		"bounds of the file": {outcome(2000, 0), func(e *Evidence) {
			e.Run.Load.Judge = workload.DefaultJudge()
			e.Run.Load.Judge.Failed = workload.Bounds{Mark: 2, Invalid: 100}
		}, "", "", false},
		"bounds that allow all failures": {outcome(n, 0), func(e *Evidence) {
			e.Run.Load.Judge = workload.DefaultJudge()
			e.Run.Load.Judge.Failed = workload.Bounds{Mark: 100, Invalid: 100}
		}, mark.Nothing, "step 2, 20 clients: none of 100,000 requests ended ok", true},
		"all shed on purpose": {Step{Clients: 5, Shed: 7, Rated: true, Overloads: true, Offered: 7, Answered: 0}, nil, mark.Nothing,
			"step 1, 5 clients: none of 7 requests ended ok", true},
		"nothing was due": {Step{Clients: 5}, nil, mark.Nothing, "step 1, 5 clients: no request was due in the measured window", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodRun()
			e.Steps = []Step{tc.step}
			if tc.change != nil {
				tc.change(&e)
			}
			got := slices.DeleteFunc(plainMarks(e), func(m results.Mark) bool {
				return m.Code == mark.SharedHost || (m.Code == mark.Rate || m.Code == mark.Queueing) && tc.code == mark.Nothing
			})
			var want []results.Mark
			if tc.text != "" {
				want = []results.Mark{{Code: tc.code, Text: tc.text, Invalid: tc.invalid}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

func expects(x workload.Expect) func(*Evidence) {
	return func(e *Evidence) { e.Run.Load.Expect = x }
}

// TestSweepMayEndInNothing: a database may answer nothing at rates beyond its throughput, but not
// at all rates in a sweep.
func TestSweepMayEndInNothing(t *testing.T) {
	t.Parallel()
	served := Step{Clients: 5, OK: 1000, Rated: true, Overloads: true, Swept: true, Answered: 1000, Offered: 1000}
	none := Step{Index: 1, Clients: 5, Unsent: 1000, Rated: true, Overloads: true, Swept: true, Offered: 1000}
	for name, steps := range map[string][]Step{"valid": {served, none}, "invalid": {none}} {
		e := goodRun()
		e.Steps = steps
		marks := plainMarks(e)
		at := slices.IndexFunc(marks, func(m results.Mark) bool { return m.Code == mark.Nothing })
		if at < 0 || marks[at].Invalid != (name == "invalid") {
			t.Errorf("%s: %+v", name, marks)
		}
	}
}

// TestSweptFailures: requests that fail at one rate in a sweep, or in the hold after a search, are
// a mark; elsewhere they make the run invalid.
func TestSweptFailures(t *testing.T) {
	t.Parallel()
	failing := func(swept bool) []Step {
		return []Step{
			{Clients: 5, OK: 1000, Rated: true, Swept: swept, Overloads: swept, Answered: 1000, Offered: 1000},
			{Index: 1, Clients: 5, OK: 960, Failed: 40, Rated: true, Swept: swept, Overloads: swept, Answered: 1000, Offered: 1000},
		}
	}
	for name, tt := range map[string]struct {
		steps         []Step
		held, invalid bool
	}{
		"steps":              {failing(false), false, true},
		"a sweep":            {failing(true), false, false},
		"a hold":             {failing(false)[1:], true, false},
		"a hold of nothing":  {[]Step{{Clients: 5, Failed: 1000, Rated: true, Offered: 1000}}, true, false},
		"after another end":  {failing(false)[1:], false, true},
		"a sweep of nothing": {[]Step{{Clients: 5, Failed: 1000, Rated: true, Swept: true, Overloads: true, Offered: 1000}}, false, true},
	} {
		e := goodRun()
		for i := range tt.steps {
			tt.steps[i].Held = tt.held
		}
		e.Steps = tt.steps
		failed := false
		for _, m := range plainMarks(e) {
			failed = failed || m.Code == mark.Failed
		}
		if invalid := plainMarks(e)[0].Invalid; !failed || invalid != tt.invalid {
			t.Errorf("%s: %+v, want invalid %v", name, plainMarks(e), tt.invalid)
		}
	}
}

// TestMarksHideNoOther has a rate missed because a client was late.
func TestMarksHideNoOther(t *testing.T) {
	t.Parallel()
	e := goodRun()
	e.Steps = []Step{
		{Clients: 1, OK: 1000, Rated: true, Answered: 1000, Offered: 1000},
		{Index: 1, Clients: 1, OK: 1000, Late: 100, Queued: 500, Rated: true, Answered: 500, Offered: 1000, ClientDelay: &Part{1, 10}},
	}
	var got []string
	for _, m := range plainMarks(e) {
		got = append(got, m.Code)
	}
	if want := []string{mark.Rate, mark.Queueing, mark.Late, mark.Saturated}; !slices.Equal(got, want) {
		t.Errorf("marks: want %q, got %q", want, got)
	}
}

// TestUnsentIsInvalid: more than 1 % of the requests were never sent. The run is invalid, even if
// the load does not mention unsent requests.
func TestUnsentIsInvalid(t *testing.T) {
	t.Parallel()
	e := goodRun()
	e.Steps = []Step{
		{Clients: 5, OK: 1000, Rated: true, Answered: 1000, Offered: 1000},
		{Index: 1, Clients: 5, OK: 989, Unsent: 11, Rated: true, Answered: 995, Offered: 1000},
	}
	want := results.Mark{Code: mark.Unsent, Invalid: true,
		Text: "step 2, 5 clients: 1.1 % of the requests were due but not sent: 11 of 1,000 within 2 s after the end (invalid above 1 %)"}
	if m := plainMarks(e)[0]; !cmp.Equal(m, want) {
		t.Errorf("first mark: want %+v, got %+v", want, m)
	}
}

// TestUsedUp has a client on a shared machine that used up the processors itself.
func TestUsedUp(t *testing.T) {
	t.Parallel()
	e := goodRun()
	e.Run.Members[1].Host.BootID = "client"
	e.Clients[0].Samples = samples(e.Run.LoadStart, []float64{390, 390})
	e.Steps = []Step{{OK: 1000, ClientDelay: &Part{30, 100}}}
	if m := plainMarks(e)[0]; m.Code != mark.Saturated || !m.Invalid {
		t.Errorf("first mark: want an invalid %q, got %+v", mark.Saturated, m)
	}
}

// TestOwnDelayOnSharedHost has a client on a shared machine that caused most of the response times.
// Sending late makes the run invalid, late timers do not.
func TestOwnDelayOnSharedHost(t *testing.T) {
	t.Parallel()
	for own, invalid := range map[time.Duration]bool{24: false, 26: true} {
		e := goodRun()
		e.Run.Members[1].Host.BootID = "client"
		e.Steps = []Step{{OK: 1000, ClientDelay: &Part{90, 100}, ClientOwn: &Part{own, 100}}}
		if m := plainMarks(e)[0]; m.Code != mark.Saturated || m.Invalid != invalid {
			t.Errorf("%d %% recorded: want %q, invalid %v, got %+v", own, mark.Saturated, invalid, m)
		}
	}
}

// TestNothingAnswered draws steps without an ok request: no step is valid unless the load expects
// its failures, or they are part of the workload.
func TestNothingAnswered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string) int64 { return rapid.SampledFrom([]int64{0, 1, 7, 100_000}).Draw(t, name) }
		percent := func(name string) workload.Percent {
			return workload.Percent(rapid.SampledFrom([]float64{0, 0.1, 50, 99.9, 100}).Draw(t, name))
		}
		s := Step{
			Failed: count("failed"), Unknown: count("unknown"), Shed: count("shed"), Unsent: count("unsent"),
			Rated: rapid.Bool().Draw(t, "rated"), Overloads: rapid.Bool().Draw(t, "overloads"),
		}
		s.Offered = float64(s.due())
		e := goodRun()
		e.Steps = []Step{s}
		bounds := func(name string) workload.Bounds { return workload.Bounds{Mark: percent(name), Invalid: percent(name)} }
		e.Run.Load.Judge = workload.Judge{Achieved: bounds("achieved"), Failed: bounds("failed"), Unknown: bounds("unknown")}
		e.Run.Load.Expect = workload.Expect{Failed: percent("expected failed"), Unknown: percent("expected unknown")}
		marks := plainMarks(e)
		invalid := slices.ContainsFunc(marks, func(m results.Mark) bool { return m.Invalid })
		expected := slices.ContainsFunc(marks, func(m results.Mark) bool { return m.Code == mark.Expected })
		if !invalid && !expected {
			t.Fatalf("no request of %+v ended ok: want an invalid mark, got %+v", s, marks)
		}
		if expected && !invalid && s.Shed+s.Unsent > 0 {
			t.Fatalf("%+v expects failures and has shed or unsent requests: want an invalid mark, got %+v", s, marks)
		}
	})
}
