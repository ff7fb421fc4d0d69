package results

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// summaryOf returns a population with ok response times and requests that did not end ok.
func summaryOf(ok []time.Duration, u Unanswered) *Summary {
	s := &Summary{Histogram: histogram.New(), Declined: histogram.New(), Unanswered: u}
	for _, d := range ok {
		s.Latency.Add(d)
		histogram.Record(s.Histogram, d)
	}
	return s
}

// Unknown requests rank above all ok ones, with their time-out as bound. Failed or shed requests
// rank above these without a bound: any bound would be a guess.
func TestRankedOverRequestsThatDidNotEndOK(t *testing.T) {
	u := Unanswered{N: 100}
	u.bound(int64(200*time.Millisecond), 50)
	s := summaryOf(slices.Repeat([]time.Duration{time.Millisecond}, 900), u)
	for q, want := range map[float64]Ranked{
		.5:   {NS: int64(time.Millisecond)},
		.9:   {NS: int64(time.Millisecond)},
		.901: {NS: int64(200 * time.Millisecond), AtLeast: true},
		.95:  {NS: int64(200 * time.Millisecond), AtLeast: true},
		.951: {Never: true},
		1:    {Never: true},
	} {
		if got := s.Ranking().At(q); got != want {
			t.Errorf("quantile %v of 900 ok, 50 unknown after 200 ms and 50 failed = %+v, want %+v", q, got, want)
		}
	}
	if got := summaryOf(nil, Unanswered{N: 3}).Ranking().At(.5); !got.Never {
		t.Errorf("median of failed requests = %+v, want no time", got)
	}
	if got := summaryOf(nil, Unanswered{}).Ranking().At(.5); got != (Ranked{}) {
		t.Errorf("median of nothing = %+v, want zero", got)
	}
}

// Ten requests, computed by hand. One slow answer does not raise the bound for a rank above it,
// and each rank has its own bound.
func TestBoundsByHand(t *testing.T) {
	const ms = time.Millisecond
	type at = map[int]Ranked // by rank among ten
	exact := func(d time.Duration) Ranked { return Ranked{NS: int64(d)} }
	least := func(d time.Duration) Ranked { return Ranked{NS: int64(d), AtLeast: true} }
	for name, tc := range map[string]struct {
		ok, declined, bounds []time.Duration
		never                int64
		want                 at
	}{
		// In one order: 1 1 1 1 1 1 >=2 >=2 >=2 1024 ms.
		"one slow answer of seven": {
			ok: []time.Duration{ms, ms, ms, ms, ms, ms, 1024 * ms}, bounds: []time.Duration{2 * ms, 2 * ms, 2 * ms},
			want: at{6: exact(ms), 7: exact(1024 * ms), 8: least(2 * ms), 9: least(2 * ms), 10: least(1024 * ms)},
		},
		// In one order: 1 1 >=2 >=3 4 4 4 >=8 >=16, then one without a bound.
		"bounds between answers": {
			ok: []time.Duration{ms, ms, 4 * ms, 4 * ms, 4 * ms}, bounds: []time.Duration{16 * ms, 2 * ms, 3 * ms, 8 * ms}, never: 1,
			want: at{2: exact(ms), 5: exact(4 * ms), 6: least(4 * ms), 7: least(4 * ms), 8: least(8 * ms), 9: least(16 * ms), 10: {Never: true}},
		},
		// Declined requests were answered: 1 1 2 2 3 4 5 ms, then those that were not.
		"swaps that lost their race": {
			ok: []time.Duration{ms, 2 * ms, 3 * ms, 5 * ms}, declined: []time.Duration{ms, 2 * ms, 4 * ms}, bounds: []time.Duration{8 * ms}, never: 2,
			want: at{2: exact(ms), 4: exact(2 * ms), 5: exact(3 * ms), 6: exact(4 * ms), 7: exact(5 * ms), 8: least(8 * ms), 9: {Never: true}},
		},
		"none was answered": {bounds: []time.Duration{2 * ms, 3 * ms}, never: 8, want: at{1: least(2 * ms), 2: least(3 * ms), 3: {Never: true}}},
		"all were declined": {declined: []time.Duration{ms, ms, ms, ms, ms, ms, ms, ms, ms, 2 * ms}, want: at{1: exact(ms), 9: exact(ms), 10: exact(2 * ms)}},
	} {
		u := Unanswered{N: tc.never}
		for _, b := range tc.bounds {
			u.N++
			u.bound(int64(b), 1)
		}
		s := summaryOf(tc.ok, u)
		for _, d := range tc.declined {
			histogram.Record(s.Declined, d)
		}
		if n := s.Population(); n != 10 {
			t.Fatalf("%s: population of %d, want 10", name, n)
		}
		for rank, want := range tc.want {
			got := s.Ranking().At(float64(rank) / 10)
			if diff := got.NS - want.NS; diff > want.NS/1000 || -diff > want.NS/1000 || want.AtLeast && diff > 0 || got.AtLeast != want.AtLeast || got.Never != want.Never {
				t.Errorf("%s: rank %d of 10 = %+v, want %+v to the histogram's three digits", name, rank, got, want)
			}
		}
	}
}

// A bound is at most the true response time for the request at its rank, whenever the given-up
// requests are answered later, and as large as if they were answered at once. No bound is below
// that of a lower rank.
func TestRankedIsASureBound(t *testing.T) {
	for seed := range uint64(50) {
		draw := rand.New(rand.NewPCG(seed, 1))
		var ok, truth, least []time.Duration
		for range draw.IntN(200) {
			ok = append(ok, time.Duration(1+draw.Int64N(int64(time.Second))))
		}
		truth, least = slices.Clone(ok), slices.Clone(ok)
		slices.Sort(ok)
		var u Unanswered
		for range draw.IntN(100) {
			gaveUp := time.Duration(1 + draw.Int64N([]int64{int64(time.Second), int64(time.Minute), 1000}[seed%3]))
			u.bound(int64(gaveUp), 1)
			least = append(least, gaveUp)
			truth = append(truth, gaveUp+time.Duration(draw.Int64N(1000)))
			u.N++
		}
		u.N += int64(draw.IntN(30))
		slices.Sort(truth)
		slices.Sort(least)
		s, before := summaryOf(ok, u), int64(0)
		for _, q := range []float64{.1, .25, .5, .75, .9, .95, .99, .999, 1} {
			n := s.Population()
			if n == 0 {
				continue
			}
			got, rank := s.Ranking().At(q), int(histogram.Rank(q, n))
			if got.Never != (rank > len(truth)) || got.AtLeast != (rank > len(ok) && rank <= len(truth)) {
				t.Fatalf("seed %d: quantile %v = %+v, rank %d of %d answered and %d with a time", seed, q, got, rank, len(ok), len(truth))
			}
			switch {
			case got.Never:
			case !got.AtLeast:
				if want := float64(ok[rank-1]); float64(got.NS) < want || float64(got.NS) > 1.001*want {
					t.Errorf("seed %d: quantile %v = %+v, want %v", seed, q, got, ok[rank-1])
				}
			case got.NS > int64(truth[rank-1]) || float64(got.NS) < 0.999*float64(least[rank-1])-1:
				t.Errorf("seed %d: quantile %v = %+v, want at most the truth %v, and %v", seed, q, got, truth[rank-1], least[rank-1])
			case got.NS < before:
				t.Errorf("seed %d: quantile %v = %d ns, below the bound of a lower one, %d", seed, q, got.NS, before)
			default:
				before = got.NS
			}
		}
	}
}

// Unsent requests waited from due until the drain ended; requests due first waited longest.
func TestUnsentRequestsWaitedUntilTheDrainEnded(t *testing.T) {
	run := &DatabaseRun{
		Load:  Load{Load: workload.Load{Pace: workload.Pace{Rate: 100}, Limits: workload.Limits{Drain: 2 * time.Second}}},
		Steps: []Step{{Step: workload.Step{Rate: 100}, IssueEnd: time.Unix(104, 0)}},
	}
	var rows []Interval
	for s := range int64(4) {
		rows = append(rows, Interval{Second: 100 + s, Phase: PhaseMeasure, Operation: "write", Due: 100})
	}
	rows[3].Unsent, rows[3].Shed, rows[3].Failed = 150, 3, 2
	u := run.unanswered(rows, nil, nil)[stepOperation{0, "write"}]
	s := &Summary{Histogram: histogram.New(), Declined: histogram.New(), Unanswered: *u}
	if n := s.Population(); n != 155 {
		t.Errorf("population %d, want the 155 requests that did not end ok", n)
	}
	for rank, want := range map[int64]Ranked{
		1: {NS: int64(2 * time.Second), AtLeast: true}, 100: {NS: int64(2 * time.Second), AtLeast: true},
		101: {NS: int64(3 * time.Second), AtLeast: true}, 150: {NS: int64(3 * time.Second), AtLeast: true},
		151: {Never: true},
	} {
		got := s.Ranking().At(float64(rank) / 155)
		if diff := want.NS - got.NS; diff < 0 || diff > want.NS/500 || got.AtLeast != want.AtLeast || got.Never != want.Never {
			t.Errorf("rank %d = %+v, want %+v to the histogram's three digits", rank, got, want)
		}
	}
}

// All unknown requests timed out: the bound is their least exact time, not the start of a
// histogram bucket below it.
func TestTheBoundOfTimeOutsIsExact(t *testing.T) {
	run := &DatabaseRun{Steps: []Step{{}}}
	row := Interval{Second: 1, Phase: PhaseMeasure, Operation: "write", Unknown: 2}
	h := histogram.New()
	for _, d := range []time.Duration{200*time.Millisecond + 1, 200*time.Millisecond + 50_000} {
		row.Service[workload.Unknown].Add(d)
		histogram.Record(h, d)
	}
	totals := map[Series]*hdrhistogram.Histogram{{TimingService, "write", workload.Unknown, 0, PhaseMeasure}: h}
	s := &Summary{Histogram: histogram.New(), Declined: histogram.New(), Unanswered: *run.unanswered([]Interval{row}, nil, totals)[stepOperation{0, "write"}]}
	if got, want := s.Ranking().At(.5), (Ranked{NS: int64(200*time.Millisecond) + 1, AtLeast: true}); got != want {
		t.Errorf("median %+v, want %+v", got, want)
	}
}

// Load progress is read once, however many steps and operations have requests never sent.
func TestProgressIsReadOnce(t *testing.T) {
	start := time.Unix(100, 0)
	run := &DatabaseRun{}
	var rows []Interval
	for step := range 3 {
		run.Steps = append(run.Steps, Step{Index: step, Start: start, IssueEnd: start.Add(time.Second), End: start.Add(time.Second)})
		for _, operation := range []string{"read", "write"} {
			rows = append(rows, Interval{Second: 100, Step: step, Phase: PhaseMeasure, Operation: operation, Due: 9, Unsent: 2})
		}
	}
	read := 0
	found := run.unanswered(rows, func(each func(*Progress)) error {
		read++
		for i := range rows {
			each(&Progress{Step: rows[i].Step, ToNS: int64(400+100*rows[i].Step) * 1e6, Operation: rows[i].Operation, Due: 9})
		}
		return nil
	}, nil)
	if read != 1 || len(found) != 6 {
		t.Errorf("the progress was read %d times for %d steps and operations, want once for 6", read, len(found))
	}
	for at, u := range found {
		if want := int64(600-100*at.step) * 1e6; u.least != want || u.bounds.TotalCount() != 2 {
			t.Errorf("%v: the 2 unsent requests waited %d ns at least, want %d", at, u.least, want)
		}
	}
}

// With 100 ms ticks the bounds are lower than the truth by one tick at most. Ticks in other
// steps, operations and phases do not count.
func TestUnsentRequestsByTick(t *testing.T) {
	start := time.Unix(100, 333e6)
	run := &DatabaseRun{
		Load: Load{Load: workload.Load{Pace: workload.Pace{Rate: 100}, Limits: workload.Limits{Drain: time.Second, WarmUp: time.Second, CoolDown: time.Second}, Extent: workload.Extent{Duration: 4 * time.Second}}},
		Steps: []Step{{Step: workload.Step{Rate: 100, Duration: 4 * time.Second}, Start: start,
			IssueEnd: start.Add(4 * time.Second), End: start.Add(5 * time.Second)}},
	}
	var progress []Progress
	for at := time.Duration(0); at < 4*time.Second; at += ProgressTick {
		for step, operation := range []string{"write", "write", "read"} {
			progress = append(progress, Progress{Step: step % 2, FromNS: int64(at), ToNS: int64(at + ProgressTick), Operation: operation, Due: 10})
		}
	}
	row := Interval{Second: 101, Phase: PhaseMeasure, Operation: "write", Due: 200, Unsent: 25}
	ticks := func(each func(*Progress)) error {
		for i := range progress {
			each(&progress[i])
		}
		return nil
	}
	u := run.unanswered([]Interval{row}, ticks, nil)[stepOperation{0, "write"}]
	s := &Summary{Histogram: histogram.New(), Declined: histogram.New(), Unanswered: *u}
	// The drain ends at 5 s. The last 25 were due from 2.75 to 3 s after the start.
	for rank, want := range map[int64]time.Duration{1: 2 * time.Second, 10: 2 * time.Second, 11: 2100 * time.Millisecond, 20: 2100 * time.Millisecond, 21: 2200 * time.Millisecond, 25: 2200 * time.Millisecond} {
		got := s.Ranking().At(float64(rank) / 25)
		if diff := int64(want) - got.NS; diff < 0 || diff > int64(want)/500 || !got.AtLeast {
			t.Errorf("rank %d of 25 = %+v, want at least %v", rank, got, want)
		}
	}
}
