package control

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestAchieved counts rows, each over 100 ms, at a rate of 100/s.
func TestAchieved(t *testing.T) {
	t.Parallel()
	const tick, second = 100 * time.Millisecond, time.Second
	start := time.Unix(1000, 500_000_000)
	rows := func(from, to time.Duration, due, ok int64) (list []results.Progress) {
		for ; from < to; from += tick {
			list = append(list, results.Progress{FromNS: int64(from), ToNS: int64(from + tick), Due: due, OK: ok})
		}
		return list
	}
	for name, tc := range map[string]struct {
		load              workload.Load
		issueEnd, end     time.Duration
		rows              []results.Progress
		answered, offered float64
	}{
		"kept up": {
			load: workload.Load{Extent: workload.Extent{Duration: 2 * second}}, issueEnd: 2 * second, end: 8 * second,
			rows:     slices.Concat(rows(0, 2*second, 10, 10), rows(2*second, 2*second+tick, 0, 5)),
			answered: 200, offered: 200,
		},
		"half of the rate": {
			load: workload.Load{Extent: workload.Extent{Duration: 2 * second}}, issueEnd: 2 * second, end: 4 * second,
			rows:     slices.Concat(rows(0, 2*second, 10, 5), rows(2*second, 4*second, 0, 5)),
			answered: 100, offered: 200,
		},
		"a number of requests, half of the rate": {
			issueEnd: 2 * second, end: 4 * second,
			rows:     slices.Concat(rows(0, 2*second, 10, 5), rows(2*second, 4*second, 0, 5)),
			answered: 100, offered: 200,
		},
		"a number of requests that ends within a row": {
			issueEnd: second + tick/2, end: 2 * second,
			rows:     slices.Concat(rows(0, second, 10, 10), rows(second, second+tick, 5, 4), rows(2*second, 2*second+tick, 0, 1)),
			answered: 104, offered: 105,
		},
		"with warm-up and cool-down": {
			load: workload.Load{Limits: workload.Limits{WarmUp: second, CoolDown: second}, Extent: workload.Extent{Duration: 4 * second}}, issueEnd: 4 * second, end: 4 * second,
			rows: rows(0, 4*second, 10, 8), answered: 160, offered: 200,
		},
	} {
		s := results.Step{Start: start, End: start.Add(tc.end), IssueEnd: start.Add(tc.issueEnd), Step: workload.Step{Rate: 100, Duration: tc.load.Duration}}
		run := &results.DatabaseRun{Load: results.Load{Load: tc.load}, Steps: []results.Step{s}}
		if answered, offered := achieved(tc.rows, run, s, 0); answered != tc.answered || offered != tc.offered {
			t.Errorf("%s: want %g of %g, got %g of %g", name, tc.answered, tc.offered, answered, offered)
		}
		want := tc.offered
		if tc.load.WarmUp == 0 {
			want *= 1 - 0.01/tc.issueEnd.Seconds()
		}
		if _, offered := achieved(tc.rows, run, s, 10*time.Millisecond); math.Abs(offered-want) > 1e-9 {
			t.Errorf("%s, with answers after 10 ms: want %g offered, got %g", name, want, offered)
		}
	}
}

// TestClientDelay has client delays, and response times of 2 ms.
func TestClientDelay(t *testing.T) {
	t.Parallel()
	measured := results.Latency{Count: 100, SumNS: int64(100 * 2 * time.Millisecond)}
	idle := &results.Spread{N: 1000, P50: 80_000, P99: 100_000, P999: 100_000}
	busy := &results.Spread{N: 1000, P50: 2_100_000, P99: 9_100_000, P999: 9_100_000}
	stopped := &results.Spread{N: 700, P50: 80_000, P99: 100_000, P999: 2_990_000_000}
	for name, tc := range map[string]struct {
		lag   *results.Spread
		stops *results.Stops
		sent  time.Duration // the delay of all requests before they were sent
		want  time.Duration // for each request
	}{
		"nothing sampled":              {},
		"too few samples":              {lag: &results.Spread{N: 19, P50: 9e6}},
		"timers of an idle machine":    {lag: idle},
		"half of the timers 2 ms late": {lag: busy, want: 1_070_000},
		"sent late":                    {lag: idle, sent: 50 * time.Millisecond, want: 500 * time.Microsecond},
		"sent late and read late":      {lag: busy, sent: 50 * time.Millisecond, want: 1_570_000},
		"a stop in the timers' lag":    {lag: stopped, stops: &results.Stops{N: 1, TotalNS: 3e9}, sent: 50 * time.Millisecond, want: 500 * time.Microsecond},
		"late timers beside a stop":    {lag: &results.Spread{N: 500, P50: 2_100_000, P99: 9_100_000, P999: 3e9}, stops: &results.Stops{N: 1, TotalNS: 3e9}, want: 1_061_000},
		"longer lags than the stops":   {lag: &results.Spread{N: 1000, P50: 12_100_000, P99: 12_100_000, P999: 12_100_000}, stops: &results.Stops{N: 10, TotalNS: 5e9}, want: 1_000_000},
		"no more than the responses":   {lag: &results.Spread{N: 1000, P50: 1e9, P99: 1e9, P999: 1e9}, want: 2 * time.Millisecond},
	} {
		got := clientDelay(int64(tc.sent), tc.lag, tc.stops, measured)
		if got == nil || (got.Is/100-tc.want).Abs() > time.Microsecond || got.Of != 200*time.Millisecond {
			t.Errorf("%s: want %v for each request of 2ms, got %+v", name, tc.want, got)
		}
	}
	if got := clientDelay(0, busy, nil, results.Latency{}); got != nil {
		t.Errorf("no request ended ok: want no evidence, got %+v", got)
	}
}

// TestStopIsCountedOnce has the record from a closed loop with 20 clients whose process was stopped
// for 3 s. Each client had a request in flight, so the client caused 60 s. The stop is also the
// longest lag of its timers.
func TestStopIsCountedOnce(t *testing.T) {
	t.Parallel()
	lag := &results.Spread{N: 898, P50: 82_000, P99: 98_000, P999: 2_993_684_479}
	stops := &results.Stops{N: 1, TotalNS: 2_999_000_000}
	got := clientDelay(59_860_000_000, lag, stops, results.Latency{Count: 50_507, SumNS: int64(240 * time.Second)})
	if want := 59_860 * time.Millisecond; got == nil || got.Is != want {
		t.Errorf("want %v, got %+v", want, got)
	}
}

// TestWrongValues counts wrong values in every phase, and no other errors.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := results.NewErrorWriter(dir + "/" + results.FileErrors)
	if err != nil {
		t.Fatalf("make the file of errors: %v", err)
	}
	row := func(step int, phase results.Phase, class database.Class, n int64) results.ErrorCount {
		return results.ErrorCount{Step: step, Phase: phase, Operation: string(workload.OpRead), Class: string(class), Count: n}
	}
	err = w.Write([]results.ErrorCount{
		row(0, results.PhaseWarmUp, database.ClassWrongValue, 1), row(1, results.PhaseMeasure, database.ClassWrongValue, 2),
		row(1, results.PhaseMeasure, database.ClassTimeout, 4), row(2, results.PhaseCoolDown, database.ClassWrongValue, 8),
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatalf("write the errors: %v", err)
	}
	if n, err := wrongValues(dir); n != 11 || err != nil {
		t.Errorf("want 11 wrong values, got %d, %v", n, err)
	}
	if n, err := wrongValues(t.TempDir()); n != 0 || err != nil {
		t.Errorf("without a file of errors: want none, got %d, %v", n, err)
	}
}

// TestWaiting has ten clients that waited for one second in all.
func TestWaiting(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	s := results.Step{Start: start, IssueEnd: start.Add(4 * time.Second), End: start.Add(9 * time.Second), WaitingNS: 1e9}
	s.Clients = 10
	run := &results.DatabaseRun{Steps: []results.Step{s}}
	run.Load.WarmUp = time.Second
	if got, want := *waiting(run, s), (judge.Part{Is: time.Second, Of: 80 * time.Second}); got != want {
		t.Errorf("until the last answer: want %v, got %v", want, got)
	}
	s.Duration = 4 * time.Second
	if got, want := *waiting(run, s), (judge.Part{Is: time.Second, Of: 30 * time.Second}); got != want {
		t.Errorf("until issuing ended: want %v, got %v", want, got)
	}
}

// TestExcusedFailures counts failures that are part of the workload.
func TestExcusedFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := results.NewErrorWriter(dir + "/" + results.FileErrors)
	if err != nil {
		t.Fatalf("make the file of errors: %v", err)
	}
	row := func(step int, phase results.Phase, operation workload.Op, class string, n int64) results.ErrorCount {
		return results.ErrorCount{Step: step, Phase: phase, Operation: string(operation), Class: class, Count: n}
	}
	if err := w.Write([]results.ErrorCount{
		row(0, results.PhaseMeasure, workload.OpSwap, "conflict", 1), row(0, results.PhaseWarmUp, workload.OpSwap, "conflict", 2),
		row(0, results.PhaseMeasure, workload.OpWrite, "conflict", 4), row(1, results.PhaseMeasure, workload.OpSwap, "conflict", 8),
		row(1, results.PhaseMeasure, workload.OpRead, "not found", 16), row(1, results.PhaseMeasure, workload.OpRead, "time-out", 32),
	}); err != nil {
		t.Fatalf("write the errors: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close the writer: %v", err)
	}
	swaps := workload.Load{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpSwap, Weight: 1}}}}
	deletes := swaps
	deletes.Mix = append(deletes.Mix, workload.Share{Operation: workload.OpDelete, Weight: 1})
	for _, tc := range []struct {
		load workload.Load
		want map[int]int64
	}{{swaps, map[int]int64{0: 1, 1: 8}}, {deletes, map[int]int64{0: 1, 1: 24}}} {
		got, err := excusedFailures(dir, tc.load)
		if err != nil || got[0] != tc.want[0] || got[1] != tc.want[1] {
			t.Errorf("%s: want %v excused by step, got %v, %v", tc.load.Describe(), tc.want, got, err)
		}
	}
	if got, err := excusedFailures(t.TempDir(), deletes); err != nil || len(got) > 0 {
		t.Errorf("without a file of errors: want none excused, got %v, %v", got, err)
	}
}

// TestInFlightAtEnd: requests that a healthy cluster has in flight at the end of a window do not
// count against the rate, but a backlog does.
func TestInFlightAtEnd(t *testing.T) {
	step := results.Step{Step: workload.Step{Clients: 20, Rate: 100}}
	for service, want := range map[time.Duration]time.Duration{
		0: 0, 50 * time.Millisecond: 50 * time.Millisecond, time.Second: 200 * time.Millisecond,
	} {
		if got := inFlightAtEnd(step, service); got != want {
			t.Errorf("20 clients at 100/s with a mean service time of %v: got %v, want %v", service, got, want)
		}
	}
}

// TestWaits: the backlog grows by two requests in each row, for 500 ms and also after the window.
func TestWaits(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	s := results.Step{Start: start, IssueEnd: start.Add(500 * time.Millisecond), End: start.Add(2 * time.Second),
		Step: workload.Step{Rate: 100, Duration: 500 * time.Millisecond}}
	run := &results.DatabaseRun{Steps: []results.Step{s}}
	var rows []results.Progress
	for n := range int64(8) {
		rows = append(rows,
			results.Progress{FromNS: n * 1e8, ToNS: (n + 1) * 1e8, Operation: "read", Due: 5, OK: 2, Failed: 1, InFlight: 0},
			results.Progress{FromNS: n * 1e8, ToNS: (n + 1) * 1e8, Operation: "write", Due: 5, OK: 4, InFlight: n + 1},
			results.Progress{Step: 1, FromNS: n * 1e8, ToNS: (n + 1) * 1e8, Operation: "write", Due: 100},
		)
	}
	if got := waits(rows, run, s); got != 10 {
		t.Errorf("want 10 requests that waited: 50 were due, 35 ended and 5 were in flight, got %d", got)
	}
	run.Generators = []results.Generator{{Lost: "it died", Totals: &results.Totals{Offered: 9, OK: 5}, Steps: []results.GeneratorStep{{Index: s.Index}}}}
	if got := waits(rows, run, s); got != 6 {
		t.Errorf("want 6 requests that waited: 4 of the 10 were in flight on a lost generator, got %d", got)
	}
	if got := waits(nil, run, s); got != 0 {
		t.Errorf("without rows: want 0, got %d", got)
	}
}
