package merge

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// rowWriter makes the records for one second from those of all generators. They are valid until the
// next second.
type rowWriter struct {
	shape shape
	// merged are the rows by number, and used the rows that some generator has.
	merged []results.Interval
	used   []bool
	gap    int64
	ticks  ticks
	until  int64 // where ticks end for generators whose step continues
	// members are the rows by member, from the unknown one on, and phase.
	members []results.MemberSecond
	// unpacked are the histograms in use, by index as in the shape.
	unpacked []*hdrhistogram.Histogram

	list        []results.Interval
	listMembers []results.MemberSecond
	answers     []load.Answers
	latencies   []load.Latency
	failures    []load.Latency
}

func newRowWriter(sh shape) rowWriter {
	return rowWriter{
		shape: sh, ticks: ticks{ops: sh.ops}, unpacked: make([]*hdrhistogram.Histogram, sh.seriesCount()),
		merged: make([]results.Interval, sh.rowCount()), used: make([]bool, sh.rowCount()),
	}
}

// begin begins a second.
func (w *rowWriter) begin() {
	clear(w.merged)
	clear(w.used)
	clear(w.members)
	w.gap, w.until = 0, 0
	w.list, w.listMembers, w.latencies, w.failures = w.list[:0], w.listMembers[:0], w.latencies[:0], w.failures[:0]
}

// add adds records from one generator, whose rows and ticks were checked. Continues reports whether
// the generator's step continues.
func (w *rowWriter) add(c *share, continues bool) {
	for i := range c.rows {
		r := &c.rows[i]
		n, _ := w.shape.row(r.Phase, r.Operation)
		addRow(&w.merged[n], r)
		w.used[n] = true
		w.gap = max(w.gap, r.GapNS)
	}
	for i := range c.ticks {
		w.ticks.add(&c.ticks[i])
		if continues {
			w.until = max(w.until, c.ticks[i].ToNS)
		}
	}
	for i := range c.members {
		m := &c.members[i]
		n := (m.Member+1)*len(phases) + slices.Index(phases[:], m.Phase)
		if n >= len(w.members) {
			w.members = append(w.members, make([]results.MemberSecond, n+1-len(w.members))...)
		}
		w.members[n].Merge(m)
	}
}

// addRow adds a row's counts and latencies. Gauges are added up by operation.
func addRow(to, from *results.Interval) {
	to.Clients = max(to.Clients, from.Clients)
	to.Due += from.Due
	to.Sent += from.Sent
	to.OK += from.OK
	to.Failed += from.Failed
	to.Unknown += from.Unknown
	to.Shed += from.Shed
	to.Unsent += from.Unsent
	to.Queued += from.Queued
	to.Late += from.Late
	to.WaitingNS += from.WaitingNS
	to.WrittenBytes += from.WrittenBytes
	for _, t := range results.Timings {
		for _, o := range workload.Outcomes {
			l := to.Latency(t, o)
			*l = l.Merge(*from.Latency(t, o))
		}
	}
}

// keysOf returns the number of keys that a generator had created when a second ended.
func (w *rowWriter) keysOf(c *share) (keys int64) {
	for i := range c.rows {
		keys = max(keys, c.rows[i].KeysCumulative)
	}
	return keys
}

// histograms adds the histograms of a second to the second, to its step's totals and, as
// percentiles, to its rows.
func (w *rowWriter) histograms(s *second, st *stepRecord, out *load.Second) {
	for i, h := range s.latency {
		if h == nil || h.TotalCount() == 0 {
			continue
		}
		st.addTotal(i, h, w.shape)
		l := load.Latency{Series: w.shape.series(i, st.step), Histogram: w.dense(i, h)}
		if o := l.Series.Outcome; o != workload.Declined {
			w.merged[i/byRow].Latency(l.Series.Timing, o).SetPercentiles(l.Histogram)
		}
		if l.Series.Outcome == workload.OK {
			w.latencies = append(w.latencies, l)
		} else {
			w.failures = append(w.failures, l)
		}
	}
	out.Latencies, out.Failures = w.latencies, w.failures
}

// dense returns a histogram with all buckets, valid until the next call for its index.
func (w *rowWriter) dense(i int, h *packed) *hdrhistogram.Histogram {
	if w.unpacked[i] == nil {
		w.unpacked[i] = histogram.New()
	}
	w.unpacked[i].Reset()
	h.MergeInto(w.unpacked[i])
	return w.unpacked[i]
}

// intervals returns the rows for a second; keys counts the keys created by its end.
func (w *rowWriter) intervals(s *second, keys int64) []results.Interval {
	for n := range w.merged {
		if w.used[n] {
			r := &w.merged[n]
			r.Second, r.Step = s.at.second, s.at.step
			r.Phase, r.Operation = phases[n/len(w.shape.ops)], string(w.shape.ops[n%len(w.shape.ops)])
			w.list = append(w.list, *r)
		}
	}
	for _, op := range w.shape.ops {
		last := lastOf(w.list, string(op))
		if last == nil {
			continue
		}
		last.KeysCumulative = keys
		for n := range s.from {
			if r := lastOf(s.from[n].rows, string(op)); r != nil {
				last.Backlog += r.Backlog
				last.InFlight += r.InFlight
			}
		}
	}
	if len(w.list) > 0 {
		w.list[0].GapNS = w.gap
	}
	return w.list
}

// lastOf returns the last row for an operation, or nil.
func lastOf(rows []results.Interval, operation string) *results.Interval {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Operation == operation {
			return &rows[i]
		}
	}
	return nil
}

// allAnswers returns when requests from any generator in a second were answered, in order.
func (w *rowWriter) allAnswers(s *second) []load.Answers {
	w.answers = w.answers[:0]
	for n := range s.from {
		w.answers = append(w.answers, s.from[n].answers...)
	}
	slices.SortFunc(w.answers, func(a, b load.Answers) int { return cmp.Compare(a.First, b.First) })
	return w.answers
}

// memberRows returns rows for members that answered.
func (w *rowWriter) memberRows(s *second) []results.MemberSecond {
	for n := range w.members {
		m := &w.members[n]
		if m.OK+m.Failed+m.Unknown > 0 {
			m.Second, m.Step, m.Phase, m.Member = s.at.second, s.at.step, phases[n%len(phases)], n/len(phases)-1
			w.listMembers = append(w.listMembers, *m)
		}
	}
	return w.listMembers
}

// errorKey groups errors in a second.
type errorKey struct {
	row            int
	class, message string
}

// errorCounts returns errors in a second. The first error in each class in a step keeps its text.
func (w *rowWriter) errorCounts(s *second, st *stepRecord) (list []results.ErrorCount) {
	type example struct {
		at   int
		text string
		time time.Time
	}
	at, first := map[errorKey]int{}, map[string]example{}
	for n := range s.from {
		for _, e := range s.from[n].errors {
			row, _ := w.shape.row(e.Phase, e.Operation)
			k := errorKey{row, e.Class, e.Message}
			i, found := at[k]
			if !found {
				i = len(list)
				at[k] = i
				list = append(list, results.ErrorCount{Second: e.Second, Step: e.Step, Phase: e.Phase, Operation: e.Operation, Class: e.Class, Message: e.Message})
			}
			list[i].Count += e.Count
			if earliest, found := first[e.Class]; !e.FirstTime.IsZero() && (!found || e.FirstTime.Before(earliest.time)) {
				first[e.Class] = example{i, e.FirstText, e.FirstTime}
			}
		}
	}
	for class, e := range first {
		if !st.exampled[class] {
			st.exampled[class] = true
			list[e.at].FirstText, list[e.at].FirstTime = e.text, e.time
		}
	}
	slices.SortFunc(list, func(a, b results.ErrorCount) int {
		m, _ := w.shape.row(a.Phase, a.Operation)
		n, _ := w.shape.row(b.Phase, b.Operation)
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Message, b.Message))
	})
	return list
}
