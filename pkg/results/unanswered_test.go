package results

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// summaryOf is a population of ok response times and of requests that did not end ok.
func summaryOf(ok []time.Duration, u Unanswered) *Summary {
	s := &Summary{Histogram: histogram.New(), Unanswered: u}
	for _, d := range ok {
		s.Latency.Add(d)
		histogram.Record(s.Histogram, d)
	}
	return s
}

// Unknown requests rank above all that ended ok with their time-out as bound, and
// failed or shed ones above those without any: a made-up bound would be a guess.
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
		if got := s.Ranked(q); got != want {
			t.Errorf("quantile %v of 900 ok, 50 unknown after 200 ms and 50 failed = %+v, want %+v", q, got, want)
		}
	}
	if got := summaryOf(nil, Unanswered{N: 3}).Ranked(.5); !got.Never {
		t.Errorf("median of failed requests = %+v, want no time", got)
	}
	if got := summaryOf(nil, Unanswered{}).Ranked(.5); got != (Ranked{}) {
		t.Errorf("median of nothing = %+v, want zero", got)
	}
}

// A bound is at most the true response time of the request at its rank, whenever the
// requests that were given up had been answered later, and no rank is below one
// before it.
func TestRankedIsASureBound(t *testing.T) {
	for seed := range uint64(50) {
		draw := rand.New(rand.NewPCG(seed, 1))
		var ok, truth []time.Duration
		for range draw.IntN(200) {
			ok = append(ok, time.Duration(1+draw.Int64N(int64(time.Second))))
		}
		slowest := time.Duration(0)
		if len(ok) > 0 {
			slowest = slices.Max(ok)
		}
		truth = append(truth, ok...)
		var u Unanswered
		for range draw.IntN(100) {
			gaveUp := time.Duration(1 + draw.Int64N([]int64{int64(time.Second), int64(time.Minute), 1000}[seed%3]))
			u.bound(int64(gaveUp), 1)
			truth = append(truth, max(gaveUp+time.Duration(draw.Int64N(1000)), slowest))
			u.N++
		}
		never := draw.IntN(30)
		u.N += int64(never)
		slices.Sort(truth)
		s, before := summaryOf(ok, u), int64(0)
		for _, q := range []float64{.1, .25, .5, .75, .9, .95, .99, .999, 1} {
			n := s.Population()
			if n == 0 {
				continue
			}
			got, rank := s.Ranked(q), int(histogram.Rank(q, n))
			if got.Never != (rank > len(truth)) {
				t.Fatalf("seed %d: quantile %v = %+v, rank %d of %d with a time", seed, q, got, rank, len(truth))
			}
			if got.Never {
				continue
			}
			if want := float64(truth[rank-1]); got.AtLeast && float64(got.NS) > want || !got.AtLeast && float64(got.NS) > 1.001*want {
				t.Errorf("seed %d: quantile %v = %+v, above the truth %v", seed, q, got, truth[rank-1])
			}
			if got.NS < before {
				t.Errorf("seed %d: quantile %v = %d ns, below a lower one's %d", seed, q, got.NS, before)
			}
			before = got.NS
		}
	}
}

// What was never sent waited from due until the drain ended: the requests that were
// due first, longest.
func TestUnsentRequestsWaitedUntilTheDrainEnded(t *testing.T) {
	run := &DatabaseRun{
		Load:  Load{Load: workload.Load{Rate: 100, Drain: 2 * time.Second}},
		Steps: []Step{{Step: workload.Step{Rate: 100}, IssueEnd: time.Unix(104, 0)}},
	}
	var rows []Interval
	for s := range int64(4) {
		rows = append(rows, Interval{Second: 100 + s, Phase: PhaseMeasure, Operation: "write", Due: 100})
	}
	rows[3].Unsent, rows[3].Shed, rows[3].Failed = 150, 3, 2
	u := run.unanswered(rows, nil)[stepOperation{0, "write"}]
	s := &Summary{Histogram: histogram.New(), Unanswered: *u}
	if n := s.Population(); n != 155 {
		t.Errorf("population %d, want the 155 requests that did not end ok", n)
	}
	for rank, want := range map[int64]Ranked{
		1: {NS: int64(2 * time.Second), AtLeast: true}, 100: {NS: int64(2 * time.Second), AtLeast: true},
		101: {NS: int64(3 * time.Second), AtLeast: true}, 150: {NS: int64(3 * time.Second), AtLeast: true},
		151: {Never: true},
	} {
		got := s.Ranked(float64(rank) / 155)
		if diff := want.NS - got.NS; diff < 0 || diff > want.NS/500 || got.AtLeast != want.AtLeast || got.Never != want.Never {
			t.Errorf("rank %d = %+v, want %+v to the histogram's three digits", rank, got, want)
		}
	}
}

// All unknown requests timed out: the bound is the least of their exact times, not
// the start of a histogram's bucket below it.
func TestTheBoundOfTimeOutsIsExact(t *testing.T) {
	run := &DatabaseRun{Steps: []Step{{}}}
	row := Interval{Second: 1, Phase: PhaseMeasure, Operation: "write", Unknown: 2}
	h := histogram.New()
	for _, d := range []time.Duration{200*time.Millisecond + 1, 200*time.Millisecond + 50_000} {
		row.Service[Unknown].Add(d)
		histogram.Record(h, d)
	}
	totals := map[Series]*hdrhistogram.Histogram{{TimingService, "write", Unknown, 0, PhaseMeasure}: h}
	s := &Summary{Histogram: histogram.New(), Unanswered: *run.unanswered([]Interval{row}, totals)[stepOperation{0, "write"}]}
	if got, want := s.Ranked(.5), (Ranked{NS: int64(200*time.Millisecond) + 1, AtLeast: true}); got != want {
		t.Errorf("median %+v, want %+v", got, want)
	}
}
