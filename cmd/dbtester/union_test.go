package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// union sums the streams of all generators in a step with one phase. Only this file computes it.
type union struct {
	seconds map[int64]*unionSecond
	ticks   []results.Progress
	members map[results.MemberSeries]*load.MemberTotal
	start   time.Time
	end     time.Time
}

// unionSecond is one second from all generators.
type unionSecond struct {
	rows       []results.Interval // ordered by operation
	gap        int64
	members    map[int]*results.MemberSecond
	histograms map[results.Series]*hdrhistogram.Histogram
}

// unionOf reads the files written by wiretaps.
func unionOf(t *testing.T, taps []string) *union {
	t.Helper()
	u := &union{seconds: map[int64]*unionSecond{}, members: map[results.MemberSeries]*load.MemberTotal{}}
	keys := make([]map[int64]int64, len(taps)) // created by each until the end of a second
	for n, path := range taps {
		var d loadwire.Decoder
		keys[n] = map[int64]int64{}
		eachTapped(t, path, func(m *pb.RunResponse) {
			var err error
			switch r := m.GetRecord().(type) {
			case *pb.RunResponse_Second:
				var s load.Second
				if s, err = d.Second(r.Second); err == nil {
					u.add(t, s, keys[n])
				}
			case *pb.RunResponse_Member:
				var total load.MemberTotal
				if total, err = d.Member(r.Member); err == nil {
					u.addMember(total)
				}
			case *pb.RunResponse_End:
				var issued issuer.End
				if issued, err = loadwire.EndOf(r.End); err != nil {
					break
				}
				end := issued.Result
				if u.start.IsZero() || end.Start.Before(u.start) {
					u.start = end.Start
				}
				if end.End.After(u.end) {
					u.end = end.End
				}
			}
			if err != nil {
				t.Fatalf("decode what generator %d streamed: %v", n+1, err)
			}
		})
	}
	created := make([]int64, len(taps))
	for _, sec := range slices.Sorted(maps.Keys(u.seconds)) {
		sum := int64(0)
		for n := range created {
			created[n] = max(created[n], keys[n][sec])
			sum += created[n]
		}
		s := u.seconds[sec]
		for i := range s.rows {
			s.rows[i].KeysCumulative = sum
		}
		s.rows[0].GapNS = s.gap
	}
	return u
}

// add adds a second from one generator, and notes its keys.
func (u *union) add(t *testing.T, s load.Second, keys map[int64]int64) {
	t.Helper()
	sec := s.Intervals[0].Second
	to := u.seconds[sec]
	if to == nil {
		to = &unionSecond{members: map[int]*results.MemberSecond{}, histograms: map[results.Series]*hdrhistogram.Histogram{}}
		u.seconds[sec] = to
	}
	for _, r := range s.Intervals {
		if r.Phase != results.PhaseMeasure || r.Step != 0 {
			t.Fatalf("a row is of step %d and phase %q, want the first step without warm-up", r.Step, r.Phase)
		}
		keys[sec] = max(keys[sec], r.KeysCumulative)
		to.gap = max(to.gap, r.GapNS)
		to.addRow(r)
	}
	for _, l := range slices.Concat(s.Latencies, s.Failures) {
		h := to.histograms[l.Series]
		if h == nil {
			h = histogram.New()
			to.histograms[l.Series] = h
		}
		h.Merge(l.Histogram)
	}
	for _, m := range s.Members {
		if to.members[m.Member] == nil {
			to.members[m.Member] = &results.MemberSecond{Second: sec, Phase: m.Phase, Member: m.Member}
		}
		to.members[m.Member].Merge(&m)
	}
	u.ticks = append(u.ticks, s.Progress...)
}

// addRow adds the counts and gauges of an operation.
func (s *unionSecond) addRow(r results.Interval) {
	r.GapNS = 0
	i := slices.IndexFunc(s.rows, func(o results.Interval) bool { return o.Operation == r.Operation })
	if i < 0 {
		s.rows = append(s.rows, r)
		return
	}
	o := &s.rows[i]
	for _, c := range []struct {
		to   *int64
		more int64
	}{
		{&o.Due, r.Due}, {&o.Sent, r.Sent}, {&o.OK, r.OK}, {&o.Failed, r.Failed}, {&o.Unknown, r.Unknown}, {&o.Shed, r.Shed},
		{&o.Unsent, r.Unsent}, {&o.Queued, r.Queued}, {&o.Late, r.Late}, {&o.Backlog, r.Backlog}, {&o.InFlight, r.InFlight},
		{&o.WaitingNS, r.WaitingNS}, {&o.WrittenBytes, r.WrittenBytes},
	} {
		*c.to += c.more
	}
	for _, timing := range results.Timings {
		for _, outcome := range workload.Outcomes {
			a, b := o.Latency(timing, outcome), r.Latency(timing, outcome)
			if b.Count == 0 {
				continue
			}
			if a.Count == 0 || b.MinNS < a.MinNS {
				a.MinNS = b.MinNS
			}
			a.MaxNS, a.Count, a.SumNS, a.SumSqMS2 = max(a.MaxNS, b.MaxNS), a.Count+b.Count, a.SumNS+b.SumNS, a.SumSqMS2+b.SumSqMS2
		}
	}
}

func (u *union) addMember(t load.MemberTotal) {
	to := u.members[t.Series]
	if to == nil {
		to = &load.MemberTotal{Series: t.Series, Histogram: results.NewMemberHistogram(), Start: t.Start, End: t.End}
		u.members[t.Series] = to
	}
	to.Histogram.Merge(t.Histogram)
	if t.Start.Before(to.Start) {
		to.Start = t.Start
	}
	if t.End.After(to.End) {
		to.End = t.End
	}
}

// write writes the files that control would.
func (u *union) write(t *testing.T, dir string) {
	t.Helper()
	files, err := load.NewFiles(dir, u.start)
	if err != nil {
		t.Fatalf("make the files: %v", err)
	}
	totals := map[results.Series]*hdrhistogram.Histogram{}
	for _, sec := range slices.Sorted(maps.Keys(u.seconds)) {
		s := u.seconds[sec]
		out := load.Second{Start: time.Unix(sec, 0).UTC()}
		for series, h := range s.histograms {
			for i := range s.rows {
				if r := &s.rows[i]; r.Operation == series.Operation && series.Outcome != workload.Declined {
					r.Latency(series.Timing, series.Outcome).SetPercentiles(h)
				}
			}
			if totals[series] == nil {
				totals[series] = histogram.New()
			}
			totals[series].Merge(h)
			if series.Outcome == workload.OK {
				out.Latencies = append(out.Latencies, load.Latency{Series: series, Histogram: h})
			}
		}
		out.Intervals = s.rows
		for _, m := range s.members {
			out.Members = append(out.Members, *m)
		}
		err = cmp.Or(err, files.Second(out))
	}
	for series, h := range totals {
		err = cmp.Or(err, files.Total(load.Total{Latency: load.Latency{Series: series, Histogram: h}, Start: u.start, End: u.end}))
	}
	for _, m := range u.members {
		err = cmp.Or(err, files.Member(*m))
	}
	err = cmp.Or(err, files.Second(load.Second{Start: u.end, Progress: u.ticks}))
	if err = cmp.Or(err, files.Close()); err != nil {
		t.Fatalf("write the files: %v", err)
	}
}

// ticksOf sums the rows in each tick, and formats them. A tick ends for all operations when it ends
// for the last generator.
func ticksOf(rows []results.Progress) (lines []string) {
	type key struct {
		from      int64
		operation string
	}
	sums, until := map[key]*results.Progress{}, map[int64]int64{}
	for _, r := range rows {
		k := key{r.FromNS, r.Operation}
		if sums[k] == nil {
			sums[k] = &results.Progress{Step: r.Step, FromNS: r.FromNS, Operation: r.Operation}
		}
		s := sums[k]
		s.Due, s.OK, s.Failed, s.Unknown, s.Shed, s.Unsent, s.InFlight = s.Due+r.Due, s.OK+r.OK, s.Failed+r.Failed, s.Unknown+r.Unknown, s.Shed+r.Shed, s.Unsent+r.Unsent, s.InFlight+r.InFlight
		until[r.FromNS] = max(until[r.FromNS], r.ToNS)
	}
	for _, s := range sums {
		s.ToNS = until[s.FromNS]
		lines = append(lines, fmt.Sprintf("%+v", *s))
	}
	slices.Sort(lines)
	return lines
}
