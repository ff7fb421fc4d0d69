package merge

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// made returns a second with writes that took 1 ms, 2 ms and so on.
func made(step int, sec int64, n int) load.Second {
	r := results.Interval{Step: step, Second: sec, Phase: results.PhaseMeasure, Operation: "write", Clients: 4, Due: int64(n), Sent: int64(n), OK: int64(n), KeysCumulative: sec * int64(n)}
	h := histogram.New()
	l := r.Latency(results.TimingService, workload.OK)
	for i := range n {
		took := time.Duration(i+1) * time.Millisecond
		l.Add(took)
		histogram.Record(h, took)
	}
	s := load.Second{Start: time.Unix(sec, 0).UTC(), Intervals: []results.Interval{r}}
	if n > 0 {
		s.Latencies = []load.Latency{{Series: results.Series{Timing: results.TimingService, Operation: "write", Step: step, Phase: results.PhaseMeasure}, Histogram: h}}
	}
	return s
}

// last marks a second as the last in its step.
func last(s load.Second) load.Second {
	s.Last = true
	return s
}

func writes(out load.Sink, ahead int, names ...string) *Merger {
	return New(out, Options{Operations: []workload.Op{workload.OpWrite}, Generators: names, Ahead: ahead})
}

// TestLostIsCalled: whoever streams seconds learns of each dropped part, and may then call the
// merger. A loss that it names itself is not reported to it.
func TestLostIsCalled(t *testing.T) {
	var m *Merger
	var lost []int
	m = New(newText(), Options{
		Operations: []workload.Op{workload.OpWrite}, Generators: []string{"a", "b", "c"}, Ahead: 10,
		Lost: func(part int, cause error) {
			lost = append(lost, part)
			m.Part(part).Lost(cause)
			if got := m.Losses()[len(lost)]; got.Part != part || !errors.Is(got.Cause, cause) || !strings.Contains(cause.Error(), "more than 10 seconds ahead") {
				t.Errorf("part %d is lost by %q, the merger has %v", part, cause, got)
			}
		},
	})
	m.Part(2).Lost(errors.New("the connection broke"))
	for sec := range int64(12) {
		must(t, m.Part(0).Second(made(0, 101+sec, 5)))
	}
	if len(lost) != 1 || lost[0] != 1 {
		t.Errorf("lost is called with the parts %v, want the second alone", lost)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("a good record is refused: %v", err)
	}
}

// TestSilentGeneratorIsLost: memory is bounded by the seconds that a generator may be ahead.
func TestSilentGeneratorIsLost(t *testing.T) {
	x := newText()
	m := writes(x, 10, "a", "b", "c")
	must(t, m.Part(2).Second(made(0, 101, 5)))
	for sec := range int64(100) {
		must(t, m.Part(0).Second(made(0, 101+sec, 5)))
		if sec > 4 {
			continue
		}
		must(t, m.Part(1).Second(made(0, 101+sec, 5)))
	}
	if len(m.pending) > 10 || len(m.free) > 11 {
		t.Errorf("%d seconds are kept and %d are free, want at most 10 and 11", len(m.pending), len(m.free))
	}
	l := m.Losses()
	if len(l) != 2 || l[0].Generator != "c" || l[0].Second != 101 || l[1].Generator != "b" || l[1].Second != 105 {
		t.Errorf("losses %v, want c after second 101 and b after 105", l)
	}
	if err := m.Part(1).Second(made(0, 106, 5)); !errors.Is(err, ErrLost) {
		t.Errorf("a second of a lost generator: error %v, want %v", err, ErrLost)
	}
	if n := len(x.seconds); n != 100-len(m.pending) {
		t.Errorf("%d seconds are written, and %d wait, of 100", n, len(m.pending))
	}
}

// TestPercentilesAreOfAll: percentiles come from merged histograms. Percentiles from single parts
// do not count.
func TestPercentilesAreOfAll(t *testing.T) {
	x := newText()
	m := writes(x, 0, "a", "b")
	one, other := made(0, 7, 98), made(0, 7, 2)
	for _, s := range []*load.Second{&one, &other} {
		s.Intervals[0].Service[workload.OK].P50 = 1 // nonsense
	}
	must(t, m.Part(0).Second(one))
	must(t, m.Part(1).Second(other))
	got := x.seconds[0].Intervals[0].Service[workload.OK]
	// Of 1, 1, 2, 2, 3 ... 98 ms the 50th is 48 ms.
	if low, high := 47.9e6, 48.1e6; got.Count != 100 || float64(got.P50) < low || float64(got.P50) > high {
		t.Errorf("%+v, want a median of 48 ms over 100 latencies", got)
	}
	if k := x.seconds[0].Intervals[0].KeysCumulative; k != 7*98+7*2 {
		t.Errorf("%d keys, want those of both", k)
	}
}

// TestUnfitRecordsAreRefused: a generator that sends a record that cannot be merged gets an
// error, and the record has no effect on the merge.
func TestUnfitRecordsAreRefused(t *testing.T) {
	x := newText()
	m := writes(x, 0, "a", "b")
	p := m.Part(0)
	must(t, p.Second(made(1, 50, 3)))
	for name, c := range map[string]struct {
		change func(*load.Second)
		want   string
	}{
		"no rows":            {func(s *load.Second) { s.Intervals = nil }, "rows"},
		"an earlier second":  {func(s *load.Second) { *s = made(1, 50, 3) }, "later"},
		"an earlier step":    {func(s *load.Second) { *s = made(0, 51, 3) }, "later"},
		"a step too early":   {func(s *load.Second) { *s = made(2, 51, 3) }, "must end"},
		"unknown operation":  {func(s *load.Second) { s.Intervals[0].Operation = "read" }, "unknown"},
		"a row twice":        {func(s *load.Second) { s.Intervals = append(s.Intervals, s.Intervals[0]) }, "one row"},
		"another second":     {func(s *load.Second) { s.Intervals = append(s.Intervals, made(1, 52, 0).Intervals[0]) }, "second 52"},
		"no histogram":       {func(s *load.Second) { s.Latencies = nil }, "have none"},
		"a histogram twice":  {func(s *load.Second) { s.Latencies = append(s.Latencies, s.Latencies[0]) }, "one histogram"},
		"too many latencies": {func(s *load.Second) { histogram.Record(s.Latencies[0].Histogram, time.Second) }, "must hold"},
		"another shape":      {func(s *load.Second) { s.Latencies[0].Histogram = hdrhistogram.New(1, 1000, 3) }, "digits"},
		"no row":             {func(s *load.Second) { s.Latencies[0].Series.Phase = results.PhaseWarmUp }, "row"},
		"an error of another second": {func(s *load.Second) {
			s.Errors = []results.ErrorCount{{Step: 1, Second: 52, Phase: results.PhaseMeasure, Operation: "write"}}
		}, "errors"},
		"a tick of another step": {func(s *load.Second) { s.Progress = []results.Progress{{Operation: "write"}} }, "ticks"},
		"member 5000": {func(s *load.Second) {
			s.Members = []results.MemberSecond{{Step: 1, Second: 51, Phase: results.PhaseMeasure, Member: 5000}}
		}, "members"},
	} {
		s := made(1, 51, 3)
		c.change(&s)
		if err := p.Second(s); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "generator a") {
			t.Errorf("%s: error %v, want one of generator a with %q", name, err, c.want)
		}
	}
	if err := p.End(time.Unix(50, 0), time.Unix(51, 0)); err == nil {
		t.Error("a step ends before its last second")
	}
	if err := p.Member(load.MemberTotal{Series: results.MemberSeries{Step: 1}, Histogram: results.NewMemberHistogram()}); err == nil {
		t.Error("a member's total comes before the last second")
	}
	must(t, p.Second(last(made(1, 51, 3))))
	if err := p.Second(made(1, 52, 3)); err == nil {
		t.Error("a second follows the last one")
	}
	one := results.MemberSeries{Timing: results.TimingService, Step: 1}
	must(t, p.Member(load.MemberTotal{Series: one, Histogram: results.NewMemberHistogram()}))
	for name, c := range map[string]struct {
		series results.MemberSeries
		shape  *hdrhistogram.Histogram
		want   string
	}{
		"the same again":    {one, results.NewMemberHistogram(), "another of service:member0"},
		"no timing":         {results.MemberSeries{Step: 1, Member: 1}, results.NewMemberHistogram(), "unknown timing"},
		"another step":      {results.MemberSeries{Timing: results.TimingService, Member: 1}, results.NewMemberHistogram(), "step 0"},
		"member 5000":       {results.MemberSeries{Timing: results.TimingService, Step: 1, Member: 5000}, results.NewMemberHistogram(), "got 5000"},
		"another histogram": {results.MemberSeries{Timing: results.TimingService, Step: 1, Member: 1}, histogram.New(), "digits"},
	} {
		err := p.Member(load.MemberTotal{Series: c.series, Histogram: c.shape})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "generator a") {
			t.Errorf("%s: error %v, want one of generator a with %q", name, err, c.want)
		}
	}
	must(t, p.End(time.Unix(50, 0), time.Unix(52, 0)))
	if len(x.seconds) > 0 {
		t.Error("a second is written before the other generator has sent it")
	}
	must(t, m.Part(1).Second(last(made(1, 50, 4))))
	must(t, m.Part(1).End(time.Unix(49, 0), time.Unix(51, 0)))
	series := results.Series{Timing: results.TimingService, Operation: "write", Step: 1, Phase: results.PhaseMeasure}
	if len(x.seconds) != 2 || x.totals[series] != 10 {
		t.Errorf("%d seconds with %d latencies are written, want 2 with 10", len(x.seconds), x.totals[series])
	}
	if k := x.seconds[1].Intervals[0].KeysCumulative; k != 51*3+50*4 {
		t.Errorf("%d keys at the end, want also those of the generator that ended before: %d", k, 51*3+50*4)
	}
	if !x.seconds[1].Last || x.seconds[0].Last {
		t.Error("the second of the two seconds must be the last one")
	}
}

// TestTicksEndTogether: a row from a generator whose step ends within a tick waits for rows from
// others. The client gap is the longest among all.
func TestTicksEndTogether(t *testing.T) {
	x := newText()
	m := writes(x, 0, "a", "b")
	ends, continues, later := last(made(0, 7, 1)), made(0, 7, 1), last(made(0, 8, 1))
	row := results.Progress{Operation: "write", FromNS: 100, ToNS: 200, Due: 1, OK: 1}
	partial, before := row, row
	partial.FromNS, partial.ToNS, before.FromNS, before.ToNS = 200, 212, 100, 200
	ends.Progress, continues.Progress = []results.Progress{row, partial}, []results.Progress{before}
	row.FromNS, row.ToNS = 200, 300
	later.Progress = []results.Progress{row}
	ends.Intervals[0].GapNS, continues.Intervals[0].GapNS = 5, 9
	must(t, m.Part(0).Second(ends))
	must(t, m.Part(1).Second(continues))
	if len(x.seconds) != 1 || len(x.ticks) != 1 || x.seconds[0].Intervals[0].GapNS != 9 {
		t.Errorf("%d seconds with ticks %v and a gap of %d, want one second, the tick from 100 to 200 and a gap of 9", len(x.seconds), x.ticks, x.seconds[0].Intervals[0].GapNS)
	}
	must(t, m.Part(1).Second(later))
	if len(x.ticks) != 2 || !strings.Contains(x.ticks[1], "FromNS:200 ToNS:300") || x.answers != 4 {
		t.Errorf("ticks %v with %d answers, want one from 200 to 300 and 4 answers in all", x.ticks, x.answers)
	}
}
