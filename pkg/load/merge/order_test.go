package merge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// event is one call to a generator part.
type event struct {
	second *load.Second
	member *load.MemberTotal
	ended  bool
	start  time.Time
	end    time.Time
}

// tape is a sink that keeps records from a generator.
type tape struct {
	mu     sync.Mutex
	events []event
}

func copyOf(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	c := hdrhistogram.New(h.LowestTrackableValue(), h.HighestTrackableValue(), int(h.SignificantFigures()))
	c.Merge(h)
	return c
}

func (p *tape) add(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

func (p *tape) Second(s load.Second) error {
	s.Intervals, s.Errors, s.Progress, s.Members = slices.Clone(s.Intervals), slices.Clone(s.Errors), slices.Clone(s.Progress), slices.Clone(s.Members)
	s.Latencies, s.Failures = slices.Clone(s.Latencies), slices.Clone(s.Failures)
	for _, list := range [][]load.Latency{s.Latencies, s.Failures} {
		for i := range list {
			list[i].Histogram = copyOf(list[i].Histogram)
		}
	}
	p.add(event{second: &s})
	return nil
}

func (p *tape) Total(load.Total) error { return nil }

func (p *tape) Member(t load.MemberTotal) error {
	t.Histogram = copyOf(t.Histogram)
	p.add(event{member: &t})
	return nil
}

// tapes records all parts.
func tapes(t *testing.T, of int) []*tape {
	t.Helper()
	all := make([]*tape, of)
	for g := range all {
		all[g] = &tape{}
	}
	issue(t, mixed(), steps(), of, func(g int) load.Sink { return all[g] }, func(g int, r load.StepResult) {
		all[g].add(event{ended: true, start: r.Start, end: r.End})
	})
	return all
}

// play passes an event to a part.
func play(p *Part, e event) error {
	switch {
	case e.second != nil:
		return p.Second(*e.second)
	case e.member != nil:
		return p.Member(*e.member)
	}
	return p.End(e.start, e.end)
}

// text prints the records it receives. Ticks are apart.
type text struct {
	lines, ticks []string
	seconds      []load.Second // without histograms
	totals       map[results.Series]int64
	answers      int64 // in ticks
}

func newText() *text { return &text{totals: map[results.Series]int64{}} }

// show prints the buckets with counts.
func show(h *hdrhistogram.Histogram) string {
	var b strings.Builder
	buckets := histogram.Packed()
	buckets.MergeFrom(h)
	for value, n := range buckets.ForEachBucket {
		fmt.Fprintf(&b, "%d:%d ", value, n)
	}
	return b.String()
}

func (x *text) Second(s load.Second) error {
	for _, r := range s.Intervals {
		x.lines = append(x.lines, fmt.Sprintf("%+v", r))
	}
	for _, e := range s.Errors {
		x.lines = append(x.lines, fmt.Sprintf("%+v", e))
	}
	for _, m := range s.Members {
		x.lines = append(x.lines, fmt.Sprintf("%+v", m))
	}
	for _, l := range slices.Concat(s.Latencies, s.Failures) {
		x.lines = append(x.lines, l.Series.Tag()+" "+show(l.Histogram))
	}
	for _, p := range s.Progress {
		x.ticks = append(x.ticks, fmt.Sprintf("%+v", p))
		x.answers += p.OK
	}
	s.Intervals, s.Latencies, s.Failures = slices.Clone(s.Intervals), nil, nil
	x.seconds = append(x.seconds, s)
	return nil
}

func (x *text) Total(t load.Total) error {
	x.totals[t.Series] += t.Histogram.TotalCount()
	x.lines = append(x.lines, fmt.Sprintf("%s %v %v %s", t.Series.Tag(), t.Start, t.End, show(t.Histogram)))
	return nil
}

func (x *text) Member(t load.MemberTotal) error {
	x.lines = append(x.lines, fmt.Sprintf("%+v %v %v %s", t.Series, t.Start, t.End, show(t.Histogram)))
	return nil
}

// merged plays tapes in an order drawn from a seed, each tape in its own order. Lost is the
// number of the generator lost after some events, or -1.
func merged(t *testing.T, out load.Sink, all []*tape, seed uint64, lost, after int) *Merger {
	t.Helper()
	names := make([]string, len(all))
	for g := range names {
		names[g] = fmt.Sprintf("10.0.0.%d", g+1)
	}
	m := New(out, Options{Operations: mixed().Operations(), Generators: names})
	draw := rand.New(rand.NewPCG(seed, 1))
	at := make([]int, len(all))
	for {
		var ready []int
		for g := range all {
			// One more event by the lost one is the loss.
			if n := len(all[g].events); g == lost && at[g] <= after || g != lost && at[g] < n {
				ready = append(ready, g)
			}
		}
		if len(ready) == 0 {
			return m
		}
		g := ready[draw.IntN(len(ready))]
		if g == lost && at[g] == after {
			m.Part(g).Lost(errors.New("the connection broke"))
		} else if err := play(m.Part(g), all[g].events[at[g]]); err != nil {
			t.Fatalf("event %d of generator %d: %v", at[g], g, err)
		}
		at[g]++
	}
}

// testArrival: whichever generator is ahead, the record is the same.
func testArrival(t *testing.T, all []*tape) {
	t.Helper()
	want := newText()
	whole(t, merged(t, want, all, 0, -1, 0))
	for seed := range uint64(3) {
		got := newText()
		whole(t, merged(t, got, all, seed+1, -1, 0))
		if !slices.Equal(want.lines, got.lines) || !slices.Equal(want.ticks, got.ticks) {
			t.Fatalf("order %d: %s", seed, cmp.Diff(append(want.lines, want.ticks...), append(got.lines, got.ticks...)))
		}
	}
}

// testLoss: earlier records from a lost generator stay, records from others are complete, and the
// loss is named.
func testLoss(t *testing.T, all []*tape) {
	t.Helper()
	for seed := range uint64(3) {
		lost := int(seed % 3)
		after := int(2+3*seed) % (len(all[lost].events) - 1)
		got, other := newText(), newText()
		m := merged(t, got, all, seed, lost, after)
		merged(t, other, all, seed+100, lost, after)
		if !slices.Equal(got.lines, other.lines) {
			t.Errorf("generator %d lost after %d events: another order gives another record: %s", lost, after, cmp.Diff(got.lines, other.lines))
		}
		if l := m.Losses(); len(l) != 1 || l[0].Part != lost || !strings.Contains(l[0].String(), fmt.Sprintf("10.0.0.%d was lost", lost+1)) {
			t.Errorf("losses %v, want generator %d", l, lost)
		}
		if len(m.pending)+len(m.open) > 0 {
			t.Errorf("%d seconds and %d steps are left after the loss", len(m.pending), len(m.open))
		}
		compare(t, all, lost, after, got)
	}
}

// row is the key by which counts are compared.
type row struct {
	step      int
	second    int64
	phase     results.Phase
	operation string
}

// compare adds up generator records, without merger code.
func compare(t *testing.T, all []*tape, lost, after int, got *text) {
	t.Helper()
	rows, ticks := map[row]*results.Interval{}, int64(0)
	latencies := map[row]map[results.Series]*packed{}
	totals := map[results.Series]int64{}
	for g, p := range all {
		events := p.events
		if g == lost {
			events = events[:after]
		}
		for _, e := range events {
			if e.second == nil {
				continue
			}
			for _, r := range e.second.Intervals {
				at := row{r.Step, r.Second, r.Phase, r.Operation}
				if rows[at] == nil {
					rows[at], latencies[at] = &results.Interval{}, map[results.Series]*packed{}
				}
				sum := rows[at]
				sum.Due, sum.Sent, sum.OK, sum.Failed, sum.Unknown = sum.Due+r.Due, sum.Sent+r.Sent, sum.OK+r.OK, sum.Failed+r.Failed, sum.Unknown+r.Unknown
			}
			for _, l := range slices.Concat(e.second.Latencies, e.second.Failures) {
				at := row{l.Series.Step, e.second.Start.Unix(), l.Series.Phase, l.Series.Operation}
				if latencies[at][l.Series] == nil {
					latencies[at][l.Series] = histogram.Packed()
				}
				latencies[at][l.Series].MergeFrom(l.Histogram)
				totals[l.Series] += l.Histogram.TotalCount()
			}
			for _, p := range e.second.Progress {
				ticks += p.OK
			}
		}
	}
	h := histogram.New()
	for _, s := range got.seconds {
		for _, r := range s.Intervals {
			at := row{r.Step, r.Second, r.Phase, r.Operation}
			want := rows[at]
			if want == nil || want.Due != r.Due || want.Sent != r.Sent || want.OK != r.OK || want.Failed != r.Failed || want.Unknown != r.Unknown {
				t.Errorf("row %+v, want the counts of %+v", r, want)
				continue
			}
			delete(rows, at)
			for series, buckets := range latencies[at] {
				if series.Outcome == workload.Declined {
					continue
				}
				h.Reset()
				buckets.MergeInto(h)
				l := r.Latency(series.Timing, series.Outcome)
				if want := l.Quantile(h, 0.99); l.Count != h.TotalCount() || l.P99 != want {
					t.Errorf("%s in second %d: %d latencies with p99 %d, want %d with %d", series.Tag(), r.Second, l.Count, l.P99, h.TotalCount(), want)
				}
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("%d rows are missing, for example %v", len(rows), rows)
	}
	if diff := cmp.Diff(totals, got.totals); diff != "" {
		t.Errorf("totals (-want +got): %s", diff)
	}
	if got.answers != ticks {
		t.Errorf("ticks hold %d ok answers, want %d", got.answers, ticks)
	}
}
