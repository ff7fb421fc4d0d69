package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// located is a client that knows, by index, the member to which a request sent now goes.
type located interface{ Member() int }

// unknownMember is the index for an unknown member.
const unknownMember = -1

// memberOf returns the member named by a client, else the preferred one.
func memberOf(client database.Client, preferred int) int {
	if l, ok := client.(located); ok {
		return l.Member()
	}
	return preferred
}

// memberCounts count requests by member and phase. Its owner guards it.
type memberCounts struct {
	// slots are chosen by the second's parity, as in a shard. In a slot the unknown member's phases
	// come first, then those of member 0.
	slots [2][]results.MemberSecond
	// histograms cover measured ok requests in the step, in slot order.
	histograms []*hdrhistogram.Histogram
}

// add counts a request that ended in a second.
func (m *memberCounts) add(sec int64, d *done, rated bool) {
	at := (d.member+1)*numPhases + d.phase
	s := &m.slots[sec&1]
	if at >= len(*s) {
		*s = append(*s, make([]results.MemberSecond, at+1-len(*s))...)
	}
	c := &(*s)[at]
	c.Count(workload.Outcome(d.outcome))
	if d.outcome != workload.OK {
		return
	}
	took := d.end - d.sent
	c.Service.Add(c.OK, took)
	if rated {
		took = d.end - d.due
		c.Response.Add(c.OK, took)
	}
	if d.phase == measure {
		histogram.Record(m.histogram(d.member+1), time.Duration(took))
	}
}

// histogram returns histogram n, which it makes if needed.
func (m *memberCounts) histogram(n int) *hdrhistogram.Histogram {
	for n >= len(m.histograms) {
		m.histograms = append(m.histograms, nil)
	}
	if m.histograms[n] == nil {
		m.histograms[n] = results.NewMemberHistogram()
	}
	return m.histograms[n]
}

// take moves a second's counts to a list.
func (m *memberCounts) take(sec int64, into *[]results.MemberSecond) {
	s := m.slots[sec&1]
	for n := range s {
		if n >= len(*into) {
			*into = append(*into, results.MemberSecond{})
		}
		(*into)[n].Merge(&s[n])
	}
	clear(s)
}

// takeHistograms merges step histograms into those in into.
func (m *memberCounts) takeHistograms(into *memberCounts) {
	for n, h := range m.histograms {
		if h != nil && h.TotalCount() > 0 {
			into.histogram(n).Merge(h)
			h.Reset()
		}
	}
}

// memberRows turns counts by member into members.csv rows and histograms. One goroutine at a time
// calls its methods.
type memberRows struct {
	plan   *plan
	merged []results.MemberSecond // for one second, in slot order
	rows   []results.MemberSecond // from the last call
}

// second returns a second's rows, which are valid until the next call.
func (r *memberRows) second(sec int64) []results.MemberSecond {
	r.rows = r.rows[:0]
	for n := range r.merged {
		m := &r.merged[n]
		if m.OK+m.Failed+m.Unknown > 0 {
			m.Second, m.Step, m.Phase, m.Member = sec, r.plan.Index, phases[n%numPhases], n/numPhases-1
			r.rows = append(r.rows, *m)
		}
	}
	clear(r.merged)
	return r.rows
}

// totals passes step histograms to a function.
func (r *memberRows) totals(all *memberCounts, start, end time.Time, write func(MemberTotal)) {
	timing := results.TimingOf(r.plan.rated())
	for n, h := range all.histograms {
		if h != nil {
			series := results.MemberSeries{Timing: timing, Step: r.plan.Index, Member: n - 1}
			write(MemberTotal{Series: series, Histogram: h, Start: start, End: end})
		}
	}
}
