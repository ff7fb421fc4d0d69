package results

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Unanswered are the requests in a population that neither ended ok nor were declined. They have no
// response time and rank above every answered request.
type Unanswered struct {
	// N counts them.
	N int64
	// bounds holds the least response time for each request that may still have been answered
	// later. For an unknown request it is the time after which it was given up, for an unsent
	// request the time from due until then. Failed and shed requests have no bound.
	bounds *hdrhistogram.Histogram
	// least is exact and not above any bound.
	least int64
}

// bound adds n requests whose response times are at least ns, which is exact or
// below the truth.
func (u *Unanswered) bound(ns, n int64) {
	if n <= 0 {
		return
	}
	u.own()
	ns = min(max(ns, 0), int64(histogram.MaxLatency))
	// In range by construction.
	_ = u.bounds.RecordValues(ns, n)
	u.atLeast(ns)
}

func (u *Unanswered) own() {
	if u.bounds == nil {
		u.bounds, u.least = histogram.New(), int64(histogram.MaxLatency)
	}
}

func (u *Unanswered) atLeast(ns int64) { u.least = min(u.least, ns) }

// merge adds another population's unanswered requests.
func (u *Unanswered) merge(o *Unanswered) {
	u.N += o.N
	if o.bounds == nil {
		return
	}
	u.own()
	u.bounds.Merge(o.bounds)
	u.atLeast(o.least)
}

// stepOperation identifies an operation in one step.
type stepOperation struct {
	step      int
	operation string
}

// unanswered finds the measured requests without an answer, by step and operation.
func (r *DatabaseRun) unanswered(intervals []Interval, progress ticks, totals map[Series]*hdrhistogram.Histogram) map[stepOperation]*Unanswered {
	rows := map[stepOperation][]*Interval{}
	for i := range intervals {
		if v := &intervals[i]; v.Phase == PhaseMeasure {
			at := stepOperation{v.Step, v.Operation}
			rows[at] = append(rows[at], v)
		}
	}
	out, due := map[stepOperation]*Unanswered{}, r.dueTimes(rows, progress)
	for at, list := range rows {
		u := &Unanswered{}
		var unknown, unsent int64
		for _, v := range list {
			u.N += v.Failed + v.Unknown + v.Shed + v.Unsent
			unknown += v.Unknown
			unsent += v.Unsent
		}
		timing := r.Timing(at.step)
		if declined := totals[Series{timing, at.operation, workload.Declined, at.step, PhaseMeasure}]; declined != nil {
			u.N -= declined.TotalCount()
		}
		u.unknown(unknown, totals[Series{timing, at.operation, workload.Unknown, at.step, PhaseMeasure}], list, timing)
		if unsent > 0 {
			u.unsent(unsent, due[at], r.givenUp(at.step), int64(r.Load.Drain))
		}
		out[at] = u
	}
	return out
}

// unknown adds n requests whose times until they were given up are in h. Requests that a killed
// run did not total have no bound of their own.
func (u *Unanswered) unknown(n int64, h *hdrhistogram.Histogram, rows []*Interval, timing Timing) {
	if h != nil && h.TotalCount() > 0 {
		u.own()
		u.bounds.Merge(h)
		least := h.Max()
		for _, v := range rows {
			if l := v.Latency(timing, workload.Unknown); l.Count > 0 {
				least = min(least, l.MinNS)
			}
		}
		u.atLeast(least)
		n -= h.TotalCount()
	}
	u.bound(0, n)
}

// dueBy are requests that became due before a time, in unix nanoseconds.
type dueBy struct{ n, until int64 }

// dueTimes returns when the measured requests became due, in order, for each step and operation
// with unsent ones. They are exact to the progress tick, or in records without progress to the
// second.
func (r *DatabaseRun) dueTimes(rows map[stepOperation][]*Interval, progress ticks) map[stepOperation][]dueBy {
	due := map[stepOperation][]dueBy{}
	for at, list := range rows {
		if slices.ContainsFunc(list, func(v *Interval) bool { return v.Unsent > 0 }) {
			due[at] = nil
		}
	}
	if windows := r.recordedSpans(); len(due) > 0 && len(windows) > 0 && progress != nil {
		starts := map[int]int64{}
		for _, s := range r.Steps {
			starts[s.Index] = s.Start.UnixNano()
		}
		// The file was read before; rows before an error count.
		_ = progress(func(p *Progress) {
			at := stepOperation{p.Step, p.Operation}
			list, unsent := due[at]
			if window, recorded := windows[p.Step]; unsent && recorded && p.Due > 0 && window.holds(p) {
				due[at] = append(list, dueBy{p.Due, starts[p.Step] + p.ToNS})
			}
		})
	}
	for at, list := range due {
		slices.SortStableFunc(list, func(a, b dueBy) int { return cmp.Compare(a.until, b.until) })
		if len(list) == 0 {
			for _, v := range rows[at] {
				due[at] = append(due[at], dueBy{v.Due, (v.Second + 1) * int64(time.Second)})
			}
		}
	}
	return due
}

// unsent adds n requests that waited from due until stop, in unix nanoseconds. The records do not
// name these requests, so they count as the ones due last, each at the end of its tick or second: a
// bound is below the request's real wait by at most one tick or second. Every request was due
// before issuing ended, so it waited at least for the drain time.
func (u *Unanswered) unsent(n int64, due []dueBy, stop, drain int64) {
	for i := len(due) - 1; i >= 0 && n > 0 && stop > 0; i-- {
		of := min(n, due[i].n)
		u.bound(max(stop-due[i].until, drain), of)
		n -= of
	}
	u.bound(drain, n)
}

// givenUp returns when a step's unsent requests were given up, in unix nanoseconds; 0 if not
// recorded.
func (r *DatabaseRun) givenUp(step int) int64 {
	for _, s := range r.Steps {
		if s.Index == step && !s.IssueEnd.IsZero() {
			return s.IssueEnd.Add(r.Load.Drain).UnixNano()
		}
	}
	return 0
}
